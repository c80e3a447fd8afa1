// What the worker that runs candidates on a GPU says of them, here by the emulator.
#include "autoschedule/measure/gpu_measuring_worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "autoschedule/measure/executor/gpu_candidate.h"
#include "autoschedule/measure/protocol/add_one_testing.h"
#include "autoschedule/measure/protocol/run_folder.h"
#include "autoschedule/measure/protocol/worker_pool.h"
#include "base/worker_path.h"
#include "ir/script/parse_or_die.h"
#include "ir/structural.h"

namespace tilewright {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kElements = 64;

class GpuMeasuringWorkerTest : public ::testing::Test {
 protected:
  GpuMeasuringWorkerTest()
      : compiler_(*WorkerPath("autoschedule/measure/compile_worker"), {}, 1),
        worker_(*WorkerPath("autoschedule/measure/gpu_measuring_worker"), {"--emulate"}, 1) {
    CompileRequest request = add_one::CompileRequestFor(add_one::TextByThreads(kElements), folder_.path(), true);
    request.tensors = {add_one::TensorA(kElements), add_one::TensorB(kElements)};
    const std::string line = ToLine(request);
    EXPECT_EQ(ReadWorkerAnswer(compiler_.Run({&line, 1}, 60)[0].text)->error, "");
  }

  WorkerReply Measure(const std::string& statement) {
    const std::string candidate = add_one::TextByThreads(kElements, statement);
    const std::string path = absl::StrCat(folder_.path(), "/", StructuralHash(ParseOrDie(candidate)));
    EXPECT_TRUE(WriteGpuCandidate({.target = *NamedTarget("cuda-sm80"), .program = candidate}, path).ok());
    return Ask(path);
  }
  WorkerReply Ask(const std::string& path) {
    const MeasureRequest request = add_one::MeasureRequestFor(path, kElements, folder_.path());
    const std::string line = ToLine(request);
    return worker_.Run({&line, 1}, 60)[0];
  }

 private:
  const RunFolder folder_ = *RunFolder::Make();
  WorkerPool compiler_, worker_;
};

TEST_F(GpuMeasuringWorkerTest, ComparesResults) {
  const auto right = ReadWorkerAnswer(Measure("B[vi] = A[vi] + T.float32(1)").text);
  ASSERT_TRUE(right.ok() && right->ok) << right->error;
  ASSERT_EQ(right->nanoseconds.size(), 1u);
  EXPECT_GT(right->nanoseconds[0], 0);
  const auto wrong = ReadWorkerAnswer(Measure("B[vi] = A[vi] + T.float32(1.001)").text);
  ASSERT_TRUE(wrong.ok());
  EXPECT_EQ(wrong->reason, kReasonWrong);
  EXPECT_THAT(wrong->error, HasSubstr("of B is"));
}

// What a device does after a fault is not known: the process ends, and the next request has another one.
TEST_F(GpuMeasuringWorkerTest, AFaultEndsTheProcess) {
  const WorkerReply fault = Measure("B[vi] = A[vi * 100] + T.float32(1)");
  EXPECT_EQ(fault.outcome, WorkerReply::Outcome::kEnded);
  EXPECT_THAT(fault.text, HasSubstr("emulation of main_kernel found"));
  const auto right = ReadWorkerAnswer(Measure("B[vi] = A[vi] + T.float32(1)").text);
  ASSERT_TRUE(right.ok());
  EXPECT_TRUE(right->ok) << right->error;
}

TEST_F(GpuMeasuringWorkerTest, SaysWhatItCannotLoad) {
  const auto answer = ReadWorkerAnswer(Ask("/no/such/file").text);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->reason, kReasonRun);
  EXPECT_EQ(answer->error, "/no/such/file is not a candidate for a GPU");
}

TEST(GpuMeasuringWorker, AnswersWhatItCannotMeasure) {
  const auto worker = GpuMeasuringWorker(/*emulate=*/true);
  EXPECT_EQ(worker("{").reason, kReasonRun);
  const RunFolder folder = *RunFolder::Make();
  MeasureRequest request = add_one::MeasureRequestFor(folder.path() + "/candidate", kElements, folder.path());
  request.function = "other";
  const GpuCandidate candidate = {.target = *NamedTarget("cuda-sm80"), .program = add_one::TextByThreads(kElements)};
  ASSERT_TRUE(WriteGpuCandidate(candidate, request.library).ok());
  EXPECT_EQ(worker(ToLine(request)).error, "there is no function other");
  request.function = "main";
  const WorkerAnswer right = worker(ToLine(request));
  EXPECT_TRUE(right.ok) << right.error;
}

}  // namespace
}  // namespace tilewright
