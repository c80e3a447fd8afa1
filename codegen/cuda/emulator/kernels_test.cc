// Whole kernels: right on edges and in every order of threads and copies; with planted errors, reported.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "codegen/cuda/emulator/testing/kernel_runs.h"
#include "gtest/gtest.h"

namespace tilewright::emulator {
namespace {

// Runs a kernel by every seed: no fault, the right values, and the same bytes each time.
void ExpectRight(const std::function<Outcome(uint64_t seed)>& run, double tolerance) {
  const Outcome first = run(0);
  EXPECT_THAT(first.result, RanWell());
  EXPECT_LT(first.error, tolerance);
  for (const uint64_t seed : {1, 2}) {
    const Outcome other = run(seed);
    EXPECT_THAT(other.result, RanWell()) << "seed " << seed;
    EXPECT_EQ(other.output, first.output) << "seed " << seed;
  }
}

TEST(Kernels, ProductByMma) {
  ExpectRight([](uint64_t seed) { return RunProductMma(128, 128, 192, seed); }, 1e-2);
  ExpectRight([](uint64_t seed) { return RunProductMma(100, 136, 72, seed); }, 1e-2);
  ExpectRight([](uint64_t seed) { return RunProductMma(1, 8, 8, seed); }, 1e-2);
}

TEST(Kernels, ProductByWgmma) {
  ExpectRight([](uint64_t seed) { return RunProductWgmma<1, false>(384, 128, 320, seed); }, 2e-2);
  ExpectRight([](uint64_t seed) { return RunProductWgmma<1, true>(200, 328, 136, seed); }, 2e-2);
  ExpectRight([](uint64_t seed) { return RunProductWgmma<2, false>(200, 328, 264, seed); }, 2e-2);
  ExpectRight([](uint64_t seed) { return RunProductWgmma<2, true>(512, 256, 256, seed); }, 2e-2);
}

TEST(Kernels, Convolution) {
  const auto right = [](const convolution::Shape& shape) {
    ExpectRight([&](uint64_t seed) { return RunConvolution(shape, seed); }, 3e-2);
  };
  right({.images = 1,
         .height = 14,
         .width = 14,
         .in_channels = 64,
         .out_channels = 64,
         .window = 3,
         .stride = 1,
         .padding = 1,
         .dilation = 1});
  right({.images = 2,
         .height = 9,
         .width = 11,
         .in_channels = 72,
         .out_channels = 40,
         .window = 3,
         .stride = 2,
         .padding = 1,
         .dilation = 1});
  right({.images = 3,
         .height = 8,
         .width = 7,
         .in_channels = 8,
         .out_channels = 96,
         .window = 5,
         .stride = 1,
         .padding = 3,
         .dilation = 2});
  right({.images = 2,
         .height = 5,
         .width = 5,
         .in_channels = 16,
         .out_channels = 24,
         .window = 1,
         .stride = 1,
         .padding = 0,
         .dilation = 1});
}

TEST(Kernels, Attention) {
  ExpectRight([](uint64_t seed) { return RunAttention(2, 200, seed); }, 4e-3);
  ExpectRight([](uint64_t seed) { return RunAttention(1, 256, seed); }, 4e-3);
}

TEST(Kernels, Rows) {
  ExpectRight([](uint64_t seed) { return RunSoftmax(3, 300, seed); }, 1e-5);
  ExpectRight([](uint64_t seed) { return RunSoftmax(2, 17, seed); }, 1e-5);
  ExpectRight([](uint64_t seed) { return RunMatrixVector(11, 388, seed); }, 1e-4);
  ExpectRight([](uint64_t seed) { return RunProductWmma(64, 96, 64, seed); }, 1e-4);
  ExpectRight([](uint64_t seed) { return RunProductBytes(5, 150, 36, seed); }, 1e-9);
}

// No bank conflicts where rows are swizzled or padded as they should be, many where they are not.
TEST(Kernels, BankConflicts) {
  EXPECT_EQ(RunProductMma(128, 128, 128).result.counters.bank_conflicts, 0u);
  EXPECT_GT(RunProductMma<kWrongSwizzle>(128, 128, 128).result.counters.bank_conflicts, 100u);
  const Outcome wgmma = RunProductWgmma<1, false>(128, 128, 128);
  EXPECT_EQ(wgmma.result.counters.bank_conflicts, 0u);
}

struct PlantedCase {
  const char* name;
  Outcome (*run)();
  FaultKind kind;    // that is reported
  const char* text;  // part of the report
  double tolerance;  // of the result; only a wrong result gives away errors that no rule of hardware forbids
  bool by_result = false;
};

void PrintTo(const PlantedCase& c, std::ostream* to) { *to << c.name; }

class PlantedTest : public ::testing::TestWithParam<PlantedCase> {};

TEST_P(PlantedTest, IsReported) {
  const PlantedCase& c = GetParam();
  const Outcome outcome = c.run();
  if (c.by_result) {
    EXPECT_GT(outcome.error, c.tolerance);
  } else {
    EXPECT_THAT(outcome.result, Faults(c.kind, c.text));
  }
}

template <Planted kPlanted>
Outcome Mma() {
  return RunProductMma<kPlanted>(128, 64, 256);
}
template <Planted kPlanted>
Outcome Wgmma() {
  return RunProductWgmma<1, false, kPlanted>(384, 256, 512);
}
template <Planted kPlanted>
Outcome WgmmaTransposed() {
  return RunProductWgmma<1, true, kPlanted>(256, 128, 512);
}
template <Planted kPlanted>
Outcome WgmmaCluster() {
  return RunProductWgmma<2, false, kPlanted>(512, 256, 512);
}
template <Planted kPlanted>
Outcome Convolution() {
  return RunConvolution<kPlanted>({.images = 1,
                                   .height = 14,
                                   .width = 14,
                                   .in_channels = 64,
                                   .out_channels = 64,
                                   .window = 3,
                                   .stride = 1,
                                   .padding = 1,
                                   .dilation = 1});
}
template <Planted kPlanted>
Outcome Attention() {
  return RunAttention<kPlanted>(1, 256);
}
template <Planted kPlanted>
Outcome Softmax() {
  return RunSoftmax<kPlanted>(2, 300);
}

const PlantedCase kPlantedCases[] = {
    {"MmaNoBarrier", &Mma<kNoBarrier>, FaultKind::kRace, "cp.async", 1e-2},
    {"MmaWaitOffByOne", &Mma<kWaitOffByOne>, FaultKind::kRace, "cp.async", 1e-2},
    {"MmaNoCommit", &Mma<kNoCommit>, FaultKind::kRace, "cp.async", 1e-2},
    {"MmaNoCommitAtTheEnd", &Mma<kNoCommit>, FaultKind::kUnfinished, "has not committed", 1e-2},
    {"MmaOverlap", &Mma<kOverlap>, FaultKind::kRace, "cp.async", 1e-2},
    {"MmaWrongSwizzle", &Mma<kWrongSwizzle>, FaultKind::kRace, "", 1e-2, true},
    {"WgmmaNoBarrier", &Wgmma<kNoBarrier>, FaultKind::kRace, "mbarrier", 2e-2},
    {"WgmmaNoEmptyWait", &Wgmma<kNoEmptyWait>, FaultKind::kMbarrier, "more arrivals than the mbarrier's count of 1",
     2e-2},
    {"WgmmaShortExpect", &Wgmma<kShortExpect>, FaultKind::kDeadlock, "-16 bytes", 2e-2},
    {"WgmmaWrongDescriptor", &Wgmma<kWrongDescriptor>, FaultKind::kRace, "", 2e-2, true},
    {"WgmmaWrongDescriptorTransposed", &WgmmaTransposed<kWrongDescriptor>, FaultKind::kRace, "", 2e-2, true},
    {"WgmmaEarlyRelease", &Wgmma<kEarlyRelease>, FaultKind::kRace, "wgmma by wgmma of warpgroup", 2e-2},
    {"WgmmaNoProxyFence", &Wgmma<kNoProxyFence>, FaultKind::kUnfenced, "stmatrix", 2e-2},
    {"WgmmaOverlap", &Wgmma<kOverlap>, FaultKind::kRace, "stmatrix", 2e-2},
    {"WgmmaNoCommit", &Wgmma<kNoCommit>, FaultKind::kRegisters, "touched before it is waited for", 2e-2},
    {"WgmmaNoFence", &Wgmma<kNoWgmmaFence>, FaultKind::kRegisters, "no wgmma.fence", 2e-2},
    {"WgmmaTouchedEarly", &Wgmma<kTouchedEarly>, FaultKind::kRegisters, "touched before it is waited for", 2e-2},
    {"WgmmaNoStoreWait", &Wgmma<kNoStoreWait>, FaultKind::kUnfinished, "has not waited for", 2e-2},
    {"WgmmaWrongParity", &Wgmma<kWrongParity>, FaultKind::kUnwritten, "wgmma", 2e-2},
    {"ClusterNoLastSync", &WgmmaCluster<kNoLastSync>, FaultKind::kUnfinished, "the block ends", 2e-2},
    {"ClusterEarlyRelease", &WgmmaCluster<kEarlyRelease>, FaultKind::kRace, "wgmma by wgmma of warpgroup", 2e-2},
    {"ClusterShortExpect", &WgmmaCluster<kShortExpect>, FaultKind::kDeadlock, "-16 bytes", 2e-2},
    {"ConvolutionEarlyRelease", &Convolution<kEarlyRelease>, FaultKind::kRace, "wgmma by wgmma of warpgroup", 3e-2},
    {"ConvolutionShortExpect", &Convolution<kShortExpect>, FaultKind::kDeadlock, "-128 bytes", 3e-2},
    {"AttentionTouchedEarly", &Attention<kTouchedEarly>, FaultKind::kRegisters, "touched before it is waited for",
     4e-3},
    {"AttentionEarlyRelease", &Attention<kEarlyRelease>, FaultKind::kRace, "wgmma by wgmma of warpgroup", 4e-3},
    {"AttentionNoFence", &Attention<kNoWgmmaFence>, FaultKind::kRegisters, "no wgmma.fence", 4e-3},
    {"SoftmaxNoBarrier", &Softmax<kNoBarrier>, FaultKind::kRace, "load", 1e-5},
    {"SoftmaxEarlyRelease", &Softmax<kEarlyRelease>, FaultKind::kRace, "store", 1e-5},
    {"MatrixVectorNoBarrier", [] { return RunMatrixVector<kNoBarrier>(11, 388); }, FaultKind::kRace, "load", 1e-4},
    {"WmmaNoBarrier", [] { return RunProductWmma<kNoBarrier>(64, 64, 64); }, FaultKind::kRace, "wmma load", 1e-4},
    {"WmmaEarlyRelease", [] { return RunProductWmma<kEarlyRelease>(64, 64, 64); }, FaultKind::kRace, "wmma load", 1e-4},
    {"WmmaOverlap", [] { return RunProductWmma<kOverlap>(64, 64, 64); }, FaultKind::kRace, "store", 1e-4},
};

INSTANTIATE_TEST_SUITE_P(Every, PlantedTest, ::testing::ValuesIn(kPlantedCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tilewright::emulator
