// What the measuring worker keeps ready, seen from outside: the libraries of such candidates may be gone. What it
// refuses, without a process of its own.
#include "autoschedule/measure/measuring_worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "autoschedule/measure/protocol/add_one_testing.h"
#include "autoschedule/measure/protocol/run_folder.h"
#include "autoschedule/measure/protocol/worker_pool.h"
#include "autoschedule/measure/reference/reference.h"
#include "base/worker_path.h"

namespace tilewright {
namespace {

constexpr int64_t kElements = 4;

// A folder with the reference for inputs of this seed.
struct Inputs {
  uint64_t seed;
  RunFolder folder = *RunFolder::Make();
};

class MeasuringWorkerTest : public ::testing::Test {
 protected:
  MeasuringWorkerTest()
      : compiler_(*WorkerPath("autoschedule/measure/compile_worker"), {}, 1),
        worker_(*WorkerPath("autoschedule/measure/measuring_worker"), {}, 1) {
    for (const Inputs* inputs : {&first_, &second_}) {
      CompileRequest request = add_one::CompileRequestFor(add_one::Text(kElements), inputs->folder.path(), true);
      request.tensors = {add_one::TensorA(kElements), add_one::TensorB(kElements)};
      request.seed = inputs->seed;
      EXPECT_EQ(Ask(compiler_, ToLine(request)).error, "");
    }
  }

  // The path of the program's library, with another statement where it adds 1.
  std::string Compile(const std::string& name, const std::string& statement = "B[vi] = A[vi] + T.float32(1)") {
    CompileRequest request = add_one::CompileRequestFor(add_one::Text(kElements, statement), first_.folder.path());
    request.library = absl::StrCat(first_.folder.path(), "/", name);
    EXPECT_EQ(Ask(compiler_, ToLine(request)).error, "");
    return request.library;
  }
  std::vector<std::string> Copies(size_t count) {
    const std::string library = Compile("one.so");
    std::vector<std::string> copies;
    for (size_t i = 0; i < count; ++i) {
      copies.push_back(absl::StrCat(library, i));
      std::filesystem::copy_file(library, copies.back());
    }
    return copies;
  }

  // Its function has an array of that many bytes to itself.
  WorkerAnswer Measure(const std::string& library, const Inputs& inputs, int64_t packed_bytes = 0) {
    MeasureRequest request = add_one::MeasureRequestFor(library, kElements, inputs.folder.path());
    request.seed = inputs.seed;
    if (packed_bytes > 0) {
      request.tensors.push_back({.name = "P", .dtype = DataType::Int(8), .shape = {packed_bytes}});
    }
    return Ask(worker_, ToLine(request));
  }

  const Inputs first_{.seed = 1}, second_{.seed = 2};

 private:
  static WorkerAnswer Ask(WorkerPool& pool, const std::string& line) {
    const WorkerReply reply = pool.Run({&line, 1}, 60)[0];
    const auto answer = ReadWorkerAnswer(reply.text);
    EXPECT_TRUE(answer.ok()) << reply.text;
    return answer.ok() ? *answer : WorkerAnswer();
  }

  WorkerPool compiler_, worker_;
};

TEST_F(MeasuringWorkerTest, RightCandidatesStayReady) {
  const std::string right = Compile("right.so"), wrong = Compile("wrong.so", "B[vi] = A[vi] + T.float32(1.0001)");
  const WorkerAnswer before = Measure(right, first_);
  EXPECT_TRUE(before.ok) << before.error;
  EXPECT_EQ(Measure(wrong, first_).reason, kReasonWrong);
  unlink(right.c_str());
  EXPECT_EQ(Measure(wrong, first_).reason, kReasonWrong);
  unlink(wrong.c_str());
  const WorkerAnswer after = Measure(right, first_);
  EXPECT_TRUE(after.ok) << after.error;
  EXPECT_EQ(after.nanoseconds.size(), 3u);
  EXPECT_EQ(after.max_error, before.max_error);
  EXPECT_EQ(Measure(wrong, first_).reason, kReasonRun);
}

TEST_F(MeasuringWorkerTest, OtherInputsAreComparedAnew) {
  const NDArray a = SeededTensor(add_one::TensorA(kElements), 1, 0);
  std::string value = "T.float32(0)";
  for (int i = 0; i < 4; ++i) {
    value = absl::StrFormat("T.Select(vi == %d, T.float32(%.9g), %s)", i, a.Get(i) + 1, value);
  }
  const std::string right = Compile("right.so"), by_heart = Compile("by_heart.so", "B[vi] = " + value);
  for (const std::string& library : {right, by_heart}) EXPECT_TRUE(Measure(library, first_).ok);
  EXPECT_TRUE(Measure(right, second_).ok);
  EXPECT_EQ(Measure(by_heart, second_).reason, kReasonWrong);
  EXPECT_TRUE(Measure(by_heart, first_).ok);
  unlink(right.c_str());
  EXPECT_EQ(Measure(right, first_).reason, kReasonRun);
}

TEST_F(MeasuringWorkerTest, KeepsTheLastSixteen) {
  const std::vector<std::string> libraries = Copies(17);
  for (size_t i = 0; i < 16; ++i) EXPECT_TRUE(Measure(libraries[i], first_).ok);
  EXPECT_TRUE(Measure(libraries[0], first_).ok);
  EXPECT_TRUE(Measure(libraries[16], first_).ok);
  for (const std::string& library : libraries) unlink(library.c_str());
  for (size_t i = 0; i < 17; ++i) EXPECT_EQ(Measure(libraries[i], first_).ok, i != 1) << i;
}

TEST_F(MeasuringWorkerTest, KeepsWhatTogetherHoldsLittle) {
  const std::vector<std::string> libraries = Copies(4);
  for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(Measure(libraries[i], first_, kMostReadyBytes / 2).ok);
  for (const std::string& library : {libraries[0], libraries[1], libraries[2]}) unlink(library.c_str());
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(Measure(libraries[i], first_, kMostReadyBytes / 2).ok, i != 0) << i;
  EXPECT_TRUE(Measure(libraries[3], first_, kMostReadyBytes + 1).ok);
  unlink(libraries[3].c_str());
  EXPECT_EQ(Measure(libraries[3], first_, kMostReadyBytes + 1).reason, kReasonRun);
}

TEST(MeasuringWorker, WhatIsNotARequestIsAnsweredByAnError) {
  const auto worker = MeasuringWorker();
  const WorkerAnswer answer = worker("{\"do\": \"measure\"");
  EXPECT_FALSE(answer.ok);
  EXPECT_EQ(answer.reason, kReasonRun);
  EXPECT_NE(answer.error, "");
}

TEST(MeasuringWorker, WhatCannotBeOpenedIsNotRun) {
  const RunFolder folder = *RunFolder::Make();
  const auto worker = MeasuringWorker();
  MeasureRequest request = add_one::MeasureRequestFor(folder.path() + "/no_such.so", kElements, folder.path());
  WorkerAnswer answer = worker(ToLine(request));
  EXPECT_EQ(answer.reason, kReasonRun);
  EXPECT_THAT(answer.error, ::testing::HasSubstr("no_such.so"));
  // The same worker answers the next request: a worker elsewhere that does not exist.
  request.command = {"/no/such/worker"};
  answer = worker(ToLine(request));
  EXPECT_EQ(answer.reason, kReasonRun);
  EXPECT_THAT(answer.error, ::testing::HasSubstr("cannot read"));
}

}  // namespace
}  // namespace tilewright
