// What the worker that runs candidates on a GPU says of them, here by the emulator.
#include "autoschedule/measure/gpu_measuring_worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "autoschedule/measure/executor/gpu_candidate.h"
#include "autoschedule/measure/protocol/run_folder.h"
#include "autoschedule/measure/protocol/worker_pool.h"
#include "base/worker_path.h"
#include "ir/script/parse_or_die.h"
#include "ir/structural.h"

namespace tilewright {
namespace {

using ::testing::HasSubstr;

constexpr char kAddOne[] = R"(
@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in T.thread_binding(64, thread="threadIdx.x"):
        with T.block("B"):
            v = T.axis.spatial(64, i)
            B[v] = A[v] + T.float32(1)
)";

const TensorSpec kA = {.name = "A", .dtype = DataType::Float(32), .shape = {64}};
const TensorSpec kB = {.name = "B", .dtype = DataType::Float(32), .shape = {64}, .written = true};

class GpuMeasuringWorkerTest : public ::testing::Test {
 protected:
  GpuMeasuringWorkerTest()
      : compiler_(*WorkerPath("autoschedule/measure/compile_worker"), {}, 1),
        worker_(*WorkerPath("autoschedule/measure/gpu_measuring_worker"), {"--emulate"}, 1) {
    CompileRequest request{.reference = true, .program = kAddOne, .target = HostTarget(), .folder = folder_.path()};
    request.hash = StructuralHash(ParseOrDie(kAddOne));
    request.tensors = {kA, kB};
    const std::string line = ToLine(request);
    EXPECT_EQ(ReadWorkerAnswer(compiler_.Run({&line, 1}, 60)[0].text)->error, "");
  }

  WorkerReply Measure(const std::string& statement) {
    const std::string path = absl::StrCat(folder_.path(), "/", StructuralHash(ParseOrDie(Candidate(statement))));
    EXPECT_TRUE(WriteGpuCandidate({.target = *NamedTarget("cuda-sm80"), .program = Candidate(statement)}, path).ok());
    return Ask(path);
  }
  WorkerReply Ask(const std::string& path) {
    const MeasureRequest request{.library = path,
                                 .function = "main",
                                 .tensors = {kA, kB},
                                 .num_params = 2,
                                 .main = {0, 1},
                                 .folder = folder_.path(),
                                 .most_nanoseconds = 1'000'000'000,
                                 .most_samples = 3};
    const std::string line = ToLine(request);
    return worker_.Run({&line, 1}, 60)[0];
  }

 private:
  static std::string Candidate(const std::string& statement) {
    return absl::StrReplaceAll(kAddOne, {{"B[v] = A[v] + T.float32(1)", statement}});
  }

  const RunFolder folder_ = *RunFolder::Make();
  WorkerPool compiler_, worker_;
};

TEST_F(GpuMeasuringWorkerTest, ComparesResults) {
  const auto right = ReadWorkerAnswer(Measure("B[v] = A[v] + T.float32(1)").text);
  ASSERT_TRUE(right.ok() && right->ok) << right->error;
  ASSERT_EQ(right->nanoseconds.size(), 1u);
  EXPECT_GT(right->nanoseconds[0], 0);
  const auto wrong = ReadWorkerAnswer(Measure("B[v] = A[v] + T.float32(1.001)").text);
  ASSERT_TRUE(wrong.ok());
  EXPECT_EQ(wrong->reason, kReasonWrong);
  EXPECT_THAT(wrong->error, HasSubstr("of B is"));
}

// What a device does after a fault is not known: the process ends, and the next request has another one.
TEST_F(GpuMeasuringWorkerTest, AFaultEndsTheProcess) {
  const WorkerReply fault = Measure("B[v] = A[v * 100] + T.float32(1)");
  EXPECT_EQ(fault.outcome, WorkerReply::Outcome::kEnded);
  EXPECT_THAT(fault.text, HasSubstr("emulation of main_kernel found"));
  const auto right = ReadWorkerAnswer(Measure("B[v] = A[v] + T.float32(1)").text);
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
  MeasureRequest request{.library = absl::StrCat(folder.path(), "/candidate"),
                         .function = "other",
                         .tensors = {kA, kB},
                         .num_params = 2,
                         .main = {0, 1},
                         .folder = folder.path(),
                         .most_nanoseconds = 1'000'000,
                         .most_samples = 1};
  ASSERT_TRUE(WriteGpuCandidate({.target = *NamedTarget("cuda-sm80"), .program = kAddOne}, request.library).ok());
  EXPECT_EQ(worker(ToLine(request)).error, "there is no function other");
  request.function = "main";
  const WorkerAnswer right = worker(ToLine(request));
  EXPECT_TRUE(right.ok) << right.error;
}

}  // namespace
}  // namespace tilewright
