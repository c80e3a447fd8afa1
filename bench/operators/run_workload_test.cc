#include "bench/operators/run_workload.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "bench/operators/tensor_sets.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tilewright::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// A matrix multiplication that goes wrong in a chosen way.
enum class Fault { kNone, kOneElement, kWritesNothing, kOnlyFirstRunIsRight, kNotSupported };

class FaultyRunner : public Runner {
 public:
  FaultyRunner(const MatmulProblem& problem, TensorSets sets, runtime::Tensor weight, Fault fault)
      : p_(problem), sets_(std::move(sets)), weight_(std::move(weight)), fault_(fault) {}

  std::string variant() const override { return "loops"; }
  void Run(int set) override {
    const bool first = runs_++ == 0;
    if (fault_ == Fault::kWritesNothing) return;
    float* out = sets_.output(set).data<float>();
    for (int64_t m = 0; m < p_.m; ++m)
      for (int64_t n = 0; n < p_.n; ++n) {
        float sum = 0;
        for (int64_t k = 0; k < p_.k; ++k) {
          sum += sets_.input(set).data<float>()[m * p_.k + k] * weight_.data<float>()[k * p_.n + n];
        }
        out[m * p_.n + n] = sum;
      }
    if (fault_ == Fault::kOneElement || (fault_ == Fault::kOnlyFirstRunIsRight && !first)) out[5] += 1;
  }
  void SpoilOutput(int set) override { sets_.SpoilOutput(set); }
  absl::Status CopyOutput(int set, runtime::Tensor& output) override { return sets_.CopyOutput(set, output); }

 private:
  const MatmulProblem p_;
  TensorSets sets_;
  const runtime::Tensor weight_;
  const Fault fault_;
  int runs_ = 0;
};

class Faulty : public Implementation {
 public:
  explicit Faulty(Fault fault, std::string name = "faulty") : fault_(fault), name_(std::move(name)) {}
  std::string name() const override { return name_; }
  std::string version() const override { return "1"; }
  absl::StatusOr<std::vector<std::unique_ptr<Runner>>> Prepare(const Workload& workload, const Operands& operands,
                                                               const RunSettings& settings) override {
    if (fault_ == Fault::kNotSupported) return absl::UnimplementedError("no such operator here");
    std::vector<std::unique_ptr<Runner>> runners;
    runners.push_back(std::make_unique<FaultyRunner>(std::get<MatmulProblem>(workload.problem),
                                                     TensorSets::Make(workload, operands, settings.num_sets).value(),
                                                     Copy(operands.weight).value(), fault_));
    return runners;
  }

 private:
  const Fault fault_;
  const std::string name_;
};

using Implementations = std::vector<std::unique_ptr<Implementation>>;

std::vector<Result> RunAll(const Implementations& implementations, const char* shape_text, DType dtype) {
  const Shape shape = ParseShapes(shape_text)->front();
  const Workload workload = {.shape = shape, .dtype = dtype, .problem = MakeProblem(shape).value()};
  return RunWorkload(workload, implementations, {.cpus = {0}},
                     {.seconds = 0, .block_nanoseconds = 100'000, .warmup_nanoseconds = 0, .pause_nanoseconds = 0});
}

std::vector<Result> RunFaults(const std::vector<Fault>& faults, const char* shape_text = "GMM:1,8,8,8",
                              DType dtype = DType::kF32, const std::string& name = "faulty") {
  Implementations implementations;
  for (Fault fault : faults) implementations.push_back(std::make_unique<Faulty>(fault, name));
  return RunAll(implementations, shape_text, dtype);
}

// A product of u8 by s8 as a CPU without VNNI computes it: sums of two products saturate in 16 bits. `halves`: weights
// are halved first, and sums are doubled.
class SaturatingRunner : public Runner {
 public:
  SaturatingRunner(const MatmulProblem& problem, TensorSets sets, runtime::Tensor weight, bool halves)
      : p_(problem), sets_(std::move(sets)), weight_(std::move(weight)), halves_(halves) {}

  void Run(int set) override {
    const auto* input = sets_.input(set).data<uint8_t>();
    const auto* weight = weight_.data<int8_t>();
    for (int64_t m = 0; m < p_.m; ++m)
      for (int64_t n = 0; n < p_.n; ++n) {
        int32_t sum = 0;
        for (int64_t k = 0; k < p_.k; k += 2) {
          int32_t pair = 0;
          for (int64_t i = k; i < k + 2; ++i) pair += input[m * p_.k + i] * (weight[i * p_.n + n] / (halves_ ? 2 : 1));
          sum += std::clamp(pair, -32768, 32767);
        }
        sets_.output(set).data<int32_t>()[m * p_.n + n] = sum * (halves_ ? 2 : 1);
      }
  }
  void SpoilOutput(int set) override { sets_.SpoilOutput(set); }
  absl::Status CopyOutput(int set, runtime::Tensor& output) override { return sets_.CopyOutput(set, output); }

 private:
  const MatmulProblem p_;
  TensorSets sets_;
  const runtime::Tensor weight_;
  const bool halves_;
};

class Saturating : public Implementation {
 public:
  explicit Saturating(bool halves) : halves_(halves) {}
  std::string name() const override { return "saturating"; }
  std::string version() const override { return "1"; }
  absl::StatusOr<std::vector<std::unique_ptr<Runner>>> Prepare(const Workload& workload, const Operands& operands,
                                                               const RunSettings& settings) override {
    std::vector<std::unique_ptr<Runner>> runners;
    runners.push_back(std::make_unique<SaturatingRunner>(
        std::get<MatmulProblem>(workload.problem), TensorSets::Make(workload, operands, settings.num_sets).value(),
        Copy(operands.weight).value(), halves_));
    return runners;
  }

 private:
  const bool halves_;
};

TEST(RunWorkload, RightResultsAreTimed) {
  const std::vector<Result> results = RunFaults({Fault::kNone});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].error, "");
  EXPECT_EQ(results[0].best().variant, "loops");
  EXPECT_GT(results[0].best().timing.samples, 0);
  EXPECT_GT(results[0].gflops(), 0);
  EXPECT_LE(results[0].best().max_relative_error, results[0].tolerance);
}

constexpr Fault kFaults[] = {Fault::kOneElement, Fault::kWritesNothing, Fault::kOnlyFirstRunIsRight};

TEST(RunWorkload, OwnWrongResultsAreFoundBeforeAndAfterTiming) {
  std::vector<Fault> faults(std::begin(kFaults), std::end(kFaults));
  faults.push_back(Fault::kNone);
  const std::vector<Result> results = RunFaults(faults, "GMM:1,8,8,8", DType::kF32, kOwnName);
  ASSERT_EQ(results.size(), 4u);
  for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(results[i].wrong) << i;
  EXPECT_THAT(results[0].error, StartsWith("wrong result (loops): element 5 of the output is "));
  EXPECT_THAT(results[1].error, HasSubstr("element 0 of the output is -nan"));
  EXPECT_THAT(results[2].error, StartsWith("wrong result (loops): element 5 of the output is "));
  EXPECT_TRUE(results[3].ok());
}

TEST(RunWorkload, PeersAreInexactBesideTheirTimes) {
  const std::vector<Result> results = RunFaults({std::begin(kFaults), std::end(kFaults)});
  for (const Result& result : results) {
    EXPECT_EQ(result.error, "");
    EXPECT_FALSE(result.wrong);
    EXPECT_TRUE(result.inexact());
    EXPECT_FALSE(result.comparable());
    EXPECT_GT(result.best().timing.samples, 0);
    EXPECT_GT(result.best().max_relative_error, result.tolerance);
  }
}

TEST(RunWorkload, PeersThatSaturateGetWeightsOfSevenBits) {
  Implementations implementations;
  implementations.push_back(std::make_unique<Saturating>(/*halves=*/false));
  implementations.push_back(std::make_unique<Saturating>(/*halves=*/true));
  const std::vector<Result> results = RunAll(implementations, "GMM:1,16,16,64", DType::kInt8);
  EXPECT_TRUE(results[0].comparable()) << results[0].error;
  EXPECT_EQ(results[0].operands, "weights of 7 bits, -64 to 63");
  EXPECT_TRUE(results[1].comparable()) << results[1].error;
  EXPECT_EQ(results[1].operands, "weights of 7 bits, even");
}

TEST(RunWorkload, WhatCannotRunSaysWhyAndIsNotWrong) {
  const std::vector<Result> results = RunFaults({Fault::kNotSupported, Fault::kNone});
  EXPECT_EQ(results[0].error, "no such operator here");
  EXPECT_FALSE(results[0].wrong);
  EXPECT_TRUE(results[1].ok());
}

TEST(Result, RatioIsAgainstTheFastestOtherImplementation) {
  const Shape shape = ParseShapes("GMM:1,100,100,100")->front();
  const Workload workload = {.shape = shape, .dtype = DType::kF32, .problem = MakeProblem(shape).value()};
  const auto result = [&](const char* name, double ms) {
    return Result{.workload = workload,
                  .implementation = name,
                  .variants = {{.timing = {.median_ms = ms, .p10_ms = ms, .p90_ms = ms, .samples = 1}}}};
  };
  const std::vector<Result> results = {result("tilewright", 0.5), result("a", 2), result("b", 1),
                                       Result{.workload = workload, .implementation = "c", .error = "not installed"}};
  EXPECT_EQ(RatioToBestPeer(results, results[0]), 2);
  EXPECT_EQ(RatioToBestPeer(results, results[1]), 0.5);
  EXPECT_EQ(RatioToBestPeer(results, results[2]), 2) << "a peer is compared with the others";
  EXPECT_EQ(RatioToBestPeer(results, results[3]), 0);
  std::vector<Result> others = results;
  others[2].variants[0].inexact = true;
  EXPECT_EQ(RatioToBestPeer(others, others[0]), 4) << "nothing is compared with an inexact peer";
  EXPECT_EQ(RatioToBestPeer(others, others[2]), 0);
  others[1].not_compared = "it is not capped";
  EXPECT_EQ(RatioToBestPeer(others, others[0]), 0);
  EXPECT_EQ(results[0].gflops(), 4);
  EXPECT_EQ(PercentOfPeak(results[0], {.f32_gflops = 16}), 25);
  EXPECT_EQ(PercentOfPeak(results[0], {}), 0);
}

TEST(Result, NothingIsFasterThanThePeakUnlessItComputesLess) {
  const auto result = [](const char* text, double ms) {
    const Shape shape = ParseShapes(text)->front();
    return Result{.workload = {.shape = shape, .dtype = DType::kF32, .problem = MakeProblem(shape).value()},
                  .implementation = "a",
                  .variants = {{.timing = {.median_ms = ms, .samples = 1}}}};
  };
  const std::vector<Result> matmul = {result("GMM:1,100,100,100", 0.5)};  // 4 GFLOP/s
  EXPECT_EQ(OverPeak(matmul, {.f32_gflops = 4}), "");
  EXPECT_EQ(OverPeak(matmul, {.f32_gflops = 2}), "GMM:1,100,100,100 f32 by a is at 200% of the peak");
  EXPECT_EQ(OverPeak(matmul, {}), "") << "the peak is not known";
  EXPECT_NE(OverPeak({result("C2D:1,8,8,64,64,1,1,0", 0.01)}, {.f32_gflops = 2}), "");
  EXPECT_EQ(OverPeak({result("C2D:1,8,8,64,64,3,1,1", 0.01)}, {.f32_gflops = 2}), "") << "Winograd's algorithm";
  EXPECT_EQ(OverPeak({result("SFM:64,64", 1e-6)}, {.f32_gflops = 2, .read_gbs = 1}), "") << "caches";
}

TEST(Result, EmulatedRunsAreComparedByInstructions) {
  const Shape shape = ParseShapes("GMM:1,100,100,100")->front();
  const Workload workload = {.shape = shape, .dtype = DType::kF32, .problem = MakeProblem(shape).value()};
  const auto result = [&](const char* name, EmulatedRun run) {
    return Result{.workload = workload, .implementation = name, .variants = {{.emulated = std::move(run)}}};
  };
  const std::vector<Result> results = {result("tilewright", {.instructions = 100, .projected_ms = 7}),
                                       result("a", {.instructions = 150}), result("b", {.instructions = 80})};
  EXPECT_EQ(RatioToBestPeer(results, results[0]), 0.8);
  EXPECT_EQ(RatioToBestPeer(results, results[1]), 80.0 / 150);
}

TEST(Result, OwnProgramsWithOtherExtentsAreNoPeers) {
  const Shape shape = ParseShapes("GMM:1,100,100,100")->front();
  const Workload workload = {.shape = shape, .dtype = DType::kF32, .problem = MakeProblem(shape).value()};
  const auto result = [&](const char* name, double ms) {
    return Result{.workload = workload, .implementation = name, .variants = {{.timing = {.median_ms = ms}}}};
  };
  const std::vector<Result> results = {result("tilewright", 2), result("tilewright-symbolic", 3), result("a", 4)};
  EXPECT_EQ(RatioToBestPeer(results, results[0]), 2);
  EXPECT_EQ(RatioToBestPeer(results, results[2]), 0) << "no other peer";
  EXPECT_EQ(RatioToConstant(results, results[1]), 1.5);
  EXPECT_EQ(RatioToConstant(results, results[0]), 0);
  EXPECT_EQ(RatioToConstant(results, results[2]), 0);
}

TEST(ChooseNumSets, SmallTensorsNeedMoreCopies) {
  constexpr int64_t kCache = 4 << 20;
  const auto workload = [](const char* text) {
    const Shape shape = ParseShapes(text)->front();
    return Workload{.shape = shape, .dtype = DType::kF32, .problem = MakeProblem(shape).value()};
  };
  EXPECT_EQ(ChooseNumSets(workload("GMM:1,8,8,8"), kCache, 32), 32);
  EXPECT_EQ(ChooseNumSets(workload("GMM:1,4096,4096,64"), kCache, 32), 2);
  const int middle = ChooseNumSets(workload("GMM:1,256,256,256"), kCache, 32);
  EXPECT_GT(middle, 2);
  EXPECT_LT(middle, 32);
}

}  // namespace
}  // namespace tilewright::bench
