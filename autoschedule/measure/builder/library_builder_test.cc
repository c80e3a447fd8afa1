#include "autoschedule/measure/builder/library_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "autoschedule/measure/reference/reference.h"
#include "base/temporary_folder.h"
#include "base/worker_path.h"
#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

using ::testing::HasSubstr;

constexpr char kAdd[] = R"(
@T.prim_func
def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            B[vi] = A[vi] + T.float32(NUMBER)
)";
Module Adding(int number) { return ParseOrDie(absl::StrReplaceAll(kAdd, {{"NUMBER", absl::StrCat(number)}})); }

// A CPU has no threads to bind loops to.
Module OfThreads() {
  return ParseOrDie(
      absl::StrReplaceAll(kAdd, {{"NUMBER", "1"}, {"range(4)", "T.thread_binding(4, thread=\"threadIdx.x\")"}}));
}

class LibraryBuilderTest : public ::testing::Test {
 protected:
  LibraryBuilder Builder(const std::string& worker, const std::string& function = "main") {
    return LibraryBuilder(worker, HostTarget(), {.compile_workers = 1}, folder_.path().string(), function, params_,
                          lock_, /*project=*/false);
  }
  LibraryBuilder Builder() { return Builder(*WorkerPath("autoschedule/measure/compile_worker")); }

  const TemporaryFolder folder_;
  MachineLock lock_ = *MachineLock::Open();
  const std::vector<TensorSpec> params_ = {{.name = "A", .dtype = DataType::Float(32), .shape = {4}},
                                           {.name = "B", .dtype = DataType::Float(32), .shape = {4}, .written = true}};
};

TEST_F(LibraryBuilderTest, EachCandidateIsALibrary) {
  LibraryBuilder builder = Builder();
  const std::vector<Module> candidates = {Adding(1), Adding(2)};
  const std::vector<BuiltCandidate> built = builder.Build(candidates, {});
  ASSERT_EQ(built.size(), 2u);
  for (const BuiltCandidate& candidate : built) {
    EXPECT_TRUE(candidate.measurement.ok()) << candidate.measurement.message;
    EXPECT_EQ(candidate.main->name, "main");
    EXPECT_FALSE(candidate.prepack);
    EXPECT_EQ(candidate.measurement.code_bytes, static_cast<int64_t>(std::filesystem::file_size(candidate.library)));
  }
  EXPECT_NE(built[0].library, built[1].library);
}

TEST_F(LibraryBuilderTest, ACandidateThatComesAgainIsNotCompiledAgain) {
  LibraryBuilder builder = Builder();
  const std::vector<Module> once = {Adding(1)}, twice = {Adding(1), Adding(1)};
  const BuiltCandidate first = builder.Build(once, {})[0];
  ASSERT_TRUE(first.measurement.ok()) << first.measurement.message;
  // Without its file it would have to be.
  std::filesystem::remove(first.library);
  for (const BuiltCandidate& candidate : builder.Build(twice, {})) {
    EXPECT_EQ(candidate.library, first.library);
    EXPECT_EQ(candidate.measurement.compile_seconds, first.measurement.compile_seconds);
  }
  EXPECT_FALSE(std::filesystem::exists(first.library));
}

// Failures say what failed, and cost nothing else.
TEST_F(LibraryBuilderTest, WhatIsRefusedFailsAlone) {
  LibraryBuilder builder = Builder();
  const std::vector<Module> candidates = {OfThreads(), Adding(1)};
  const std::vector<BuiltCandidate> built = builder.Build(candidates, {});
  EXPECT_EQ(built[0].measurement.failure, MeasureFailure::kCompileError);
  EXPECT_THAT(built[0].measurement.message, HasSubstr("threadIdx.x"));
  EXPECT_TRUE(built[1].measurement.ok()) << built[1].measurement.message;
}

TEST_F(LibraryBuilderTest, ACandidateNeedsTheMeasuredFunction) {
  LibraryBuilder builder = Builder(*WorkerPath("autoschedule/measure/compile_worker"), "other");
  const std::vector<Module> candidates = {Adding(1)};
  const Measurement measurement = builder.Build(candidates, {})[0].measurement;
  EXPECT_EQ(measurement.failure, MeasureFailure::kRunError);
  EXPECT_EQ(measurement.message, "the candidate has no function other");
}

TEST_F(LibraryBuilderTest, CountersAboveTheirLimitsFail) {
  LibraryBuilder builder = Builder();
  const std::vector<Module> candidates = {Adding(1)};
  const Measurement measurement = builder.Build(candidates, {{kSpillsCounter, -1}})[0].measurement;
  EXPECT_EQ(measurement.failure, MeasureFailure::kOverLimit);
  EXPECT_THAT(measurement.message, HasSubstr("spills"));
  EXPECT_TRUE(builder.Build(candidates, {{kSpillsCounter, 0}})[0].measurement.ok());
}

TEST_F(LibraryBuilderTest, AWorkerThatIsNotThereFailsEachCandidate) {
  LibraryBuilder builder = Builder("/no/such/worker");
  const std::vector<Module> candidates = {Adding(1), Adding(2)};
  for (const BuiltCandidate& candidate : builder.Build(candidates, {})) {
    EXPECT_EQ(candidate.measurement.failure, MeasureFailure::kCompileCrash);
    EXPECT_NE(candidate.measurement.message, "");
  }
  std::string caution;
  EXPECT_TRUE(builder.ComputeReference(Adding(1), &caution).ok());
  EXPECT_THAT(caution, HasSubstr("results are not compared"));
}

TEST_F(LibraryBuilderTest, WritesTheReferenceOfTheProgram) {
  LibraryBuilder builder = Builder();
  std::string caution;
  ASSERT_TRUE(builder.ComputeReference(Adding(3), &caution).ok());
  EXPECT_EQ(caution, "");
  const auto reference = ReadReference(params_[1], folder_.path().string(), 1);
  ASSERT_TRUE(reference.ok()) << reference.status();
  const NDArray a = SeededTensor(params_[0], RunnerOptions().seed, 0);
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(reference->value.Get(i), a.Get(i) + 3, 1e-6);
}

}  // namespace
}  // namespace tilewright
