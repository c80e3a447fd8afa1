// Candidates that run elsewhere: in an emulator of another architecture, and by a loopback launcher.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "autoschedule/measure/protocol/add_one_testing.h"
#include "autoschedule/measure/runner.h"
#include "codegen/remote/launcher.h"
#include "codegen/remote/projection.h"
#include "ir/script/parse_or_die.h"
#include "target/target.h"

namespace tilewright {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// The program with other text where it adds 1.
Module AddOne(std::string_view statement = "B[vi] = A[vi] + T.float32(1)") {
  return ParseOrDie(add_one::Text(1000, std::string(statement)));
}

// What the candidates of a program become elsewhere.
std::vector<Measurement> RunElsewhere(const char* target_name, const std::string& launcher,
                                      const std::vector<Module>& candidates) {
  Target target = *NamedTarget(target_name);
  target.cores = 2;
  auto runner = LocalRunner::Start(AddOne(), target, {.run_timeout = 3, .launcher = launcher});
  EXPECT_TRUE(runner.ok()) << runner.status();
  if (!runner.ok()) return std::vector<Measurement>(candidates.size());
  EXPECT_EQ((*runner)->caution(), "");
  return (*runner)->Run(candidates, {.seconds = 0.02, .most_samples = 50});
}

// A target and how its code runs; skipped where the machine cannot.
using Elsewhere = std::pair<const char*, const char*>;
class RemoteRunner : public testing::TestWithParam<Elsewhere> {};

TEST_P(RemoteRunner, ABadCandidateCostsOnlyItself) {
  const auto [target, launcher] = GetParam();
  if (const auto command = remote::WorkerCommand(*NamedTarget(target), launcher); !command.ok()) {
    GTEST_SKIP() << command.status().message();
  }
  const std::vector<Measurement> results = RunElsewhere(
      target, launcher,
      {AddOne(), AddOne("B[vi] = A[vi] + T.float32(1.0001)"), AddOne("T.evaluate(T.call_extern(\"int32\", \"abort\"))"),
       AddOne("T.evaluate(T.call_extern(\"int32\", \"pause\"))"), AddOne()});
  EXPECT_TRUE(results[0].ok()) << results[0].message;
  EXPECT_EQ(results[1].failure, MeasureFailure::kWrongResult);
  // The connection is lost in the middle of the call.
  EXPECT_EQ(results[2].failure, MeasureFailure::kRunError);
  EXPECT_THAT(results[2].message, HasSubstr("the worker ended with "));
  EXPECT_EQ(results[3].failure, MeasureFailure::kTimeout);
  EXPECT_TRUE(results[4].ok()) << results[4].message;
  EXPECT_GT(results[4].MedianSeconds(), 0);
  // Emulated instructions are the same each time.
  const bool emulated = IsEmulated(*NamedTarget(target), launcher);
  EXPECT_EQ(results[0].seconds.size() == 1, emulated);
  EXPECT_EQ(results[0].counters.contains(remote::kLoopCyclesCounter), emulated);
  if (emulated) {
    EXPECT_NEAR(results[0].MedianSeconds(), results[4].MedianSeconds(), 0.02 * results[0].MedianSeconds());
    // A thousand additions by vectors of four, at some GHz.
    EXPECT_GT(results[0].MedianSeconds(), 2e-8);
    EXPECT_LT(results[0].MedianSeconds(), 2e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(Machines, RemoteRunner,
                         testing::Values(Elsewhere("host", "env"), Elsewhere("arm-neoverse-n1", "")),
                         [](const auto& test) { return test.index == 0 ? "Loopback" : "Emulated"; });

TEST(RemoteRunner, WhatCannotBeReachedIsReported) {
  const std::vector<Measurement> none = RunElsewhere("host", "no-such-launcher", {AddOne()});
  EXPECT_EQ(none[0].failure, MeasureFailure::kRunError);
  EXPECT_THAT(none[0].message, AllOf(HasSubstr("no-such-launcher"), HasSubstr("cannot be started")));
  // The command answers, and then says nothing more.
  EXPECT_THAT(RunElsewhere("host", "true", {AddOne()})[0].message, HasSubstr("the worker ended with status 0"));
  // It never answers.
  const std::string path = testing::TempDir() + "/silent.sh";
  std::ofstream(path) << "exec sleep 10\n";
  EXPECT_EQ(RunElsewhere("host", "sh " + path, {AddOne()})[0].failure, MeasureFailure::kTimeout);
}

TEST(RemoteRunner, AnotherArchitectureIsReported) {
  const Target n1 = *NamedTarget("arm-neoverse-n1");
  if (!remote::IsForeign(n1) || !remote::WorkerCommand(n1, "env").ok())
    GTEST_SKIP() << "no worker of another architecture";
  const std::vector<Measurement> results = RunElsewhere("arm-neoverse-n1", "env", {AddOne()});
  EXPECT_EQ(results[0].failure, MeasureFailure::kRunError);
  EXPECT_THAT(results[0].message, HasSubstr("the worker "));
}

// A link that takes half a second in each direction.
TEST(RemoteRunner, ASlowConnectionOnlyTakesLonger) {
  const std::string path = testing::TempDir() + "/slow.sh";
  std::ofstream(path) << "sleep 0.5\nexec \"$@\"\n";
  const std::vector<Measurement> results = RunElsewhere("host", "sh " + path, {AddOne(), AddOne()});
  for (const Measurement& result : results) {
    EXPECT_TRUE(result.ok()) << result.message;
    EXPECT_LT(result.MedianSeconds(), 0.1);
  }
}

}  // namespace
}  // namespace tilewright
