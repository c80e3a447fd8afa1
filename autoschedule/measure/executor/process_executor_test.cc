#include "autoschedule/measure/executor/process_executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "autoschedule/measure/protocol/add_one_testing.h"
#include "base/temporary_folder.h"
#include "base/worker_path.h"
#include "codegen/backend.h"
#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

using ::testing::Each;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::string kAdd = add_one::Text(4);

// Samples little.
const RunOptions kBrief = {.seconds = 0.01, .most_samples = 5, .least_seconds = 0};

class ProcessExecutorTest : public ::testing::Test {
 protected:
  ProcessExecutor Executor(const std::string& worker) {
    return ProcessExecutor(worker, {}, folder_.path().string(), params_, lock_, HostTarget(), {});
  }
  ProcessExecutor Executor() { return Executor(*WorkerPath("autoschedule/measure/measuring_worker")); }

  // The program as a built candidate.
  BuiltCandidate Built(const std::string& text, const std::string& name) {
    const Module module = ParseOrDie(text);
    const auto library = Compile(module, HostTarget(), {.format = "so"});
    EXPECT_TRUE(library.ok()) << library.status();
    EXPECT_TRUE(folder_.Write(name, library->bytes));
    return {.measurement = {.code_bytes = 17, .compile_seconds = 0.5},
            .main = module.Main(),
            .prepack = {},
            .library = (folder_.path() / name).string(),
            .prepack_library = ""};
  }
  static Measurement One(ProcessExecutor& executor, const BuiltCandidate& candidate) {
    return executor.Measure({&candidate, 1}, kBrief)[0];
  }

  const TemporaryFolder folder_;
  MachineLock lock_ = *MachineLock::Open();
  const std::vector<TensorSpec> params_ = {add_one::TensorA(4), add_one::TensorB(4)};
};

TEST_F(ProcessExecutorTest, TimesWhatRuns) {
  ProcessExecutor executor = Executor();
  const Measurement measurement = One(executor, Built(kAdd, "right.so"));
  ASSERT_TRUE(measurement.ok()) << measurement.message;
  EXPECT_THAT(measurement.seconds, Not(IsEmpty()));
  EXPECT_THAT(measurement.seconds, Each(Gt(0)));
  // What the builder said stays.
  EXPECT_EQ(measurement.code_bytes, 17);
  EXPECT_EQ(measurement.compile_seconds, 0.5);
}

TEST_F(ProcessExecutorTest, SamplesOfAllRoundsCount) {
  ProcessExecutor executor = Executor();
  const BuiltCandidate candidates[] = {Built(kAdd, "first.so"), Built(kAdd, "second.so")};
  RunOptions options = kBrief;
  options.rounds = 3;
  options.most_samples = 2;
  for (const Measurement& measurement : executor.Measure(candidates, options)) {
    ASSERT_TRUE(measurement.ok()) << measurement.message;
    EXPECT_EQ(measurement.seconds.size(), 6u);
  }
}

TEST_F(ProcessExecutorTest, WhatWasNotBuiltKeepsItsFailure) {
  ProcessExecutor executor = Executor();
  BuiltCandidate refused;
  refused.measurement = FailedMeasurement(MeasureFailure::kCompileError, "refused");
  const BuiltCandidate candidates[] = {refused, Built(kAdd, "right.so")};
  const std::vector<Measurement> results = executor.Measure(candidates, kBrief);
  EXPECT_EQ(results[0].failure, MeasureFailure::kCompileError);
  EXPECT_EQ(results[0].message, "refused");
  EXPECT_TRUE(results[1].ok()) << results[1].message;
}

TEST_F(ProcessExecutorTest, ParametersAreThoseOfTheProgram) {
  ProcessExecutor executor = Executor();
  const Measurement measurement = One(executor, Built(absl::StrReplaceAll(kAdd, {{"A", "X"}}), "other.so"));
  EXPECT_EQ(measurement.failure, MeasureFailure::kRunError);
  EXPECT_EQ(measurement.message, "parameter X is neither one of the program nor packed");
}

TEST_F(ProcessExecutorTest, ALibraryThatIsNotThereFailsAlone) {
  ProcessExecutor executor = Executor();
  BuiltCandidate missing = Built(kAdd, "right.so");
  missing.library = (folder_.path() / "no_such.so").string();
  const BuiltCandidate candidates[] = {missing, Built(kAdd, "right.so")};
  const std::vector<Measurement> results = executor.Measure(candidates, kBrief);
  EXPECT_EQ(results[0].failure, MeasureFailure::kRunError);
  EXPECT_THAT(results[0].message, HasSubstr("no_such.so"));
  EXPECT_THAT(results[0].seconds, IsEmpty());
  EXPECT_TRUE(results[1].ok()) << results[1].message;
}

TEST_F(ProcessExecutorTest, AWorkerThatIsNotThereCrashes) {
  ProcessExecutor executor = Executor("/no/such/worker");
  const Measurement measurement = One(executor, Built(kAdd, "right.so"));
  EXPECT_EQ(measurement.failure, MeasureFailure::kCrash);
  EXPECT_EQ(measurement.code_bytes, 17);
}

TEST_F(ProcessExecutorTest, WaitsForOthersNoLongerThanItMay) {
  ProcessExecutor executor = Executor();
  MachineLock others = *MachineLock::Open();
  const MachineLock::Guard measuring = others.Exclusive();
  ASSERT_TRUE(measuring.held());
  lock_.LimitWaiting(0.05);
  const Measurement measurement = One(executor, Built(kAdd, "right.so"));
  EXPECT_EQ(measurement.failure, MeasureFailure::kBusy);
  EXPECT_EQ(measurement.message, "other processes measured all the time");
}

}  // namespace
}  // namespace tilewright
