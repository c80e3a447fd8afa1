// Grids that may begin before the one in front has ended.
#include <cstddef>
#include <functional>
#include <numeric>
#include <vector>

#include "codegen/cuda/emulator/device/kernel.h"
#include "codegen/cuda/emulator/launch.h"
#include "codegen/cuda/emulator/testing/arrays.h"
#include "gtest/gtest.h"

namespace tilewright::emulator {
namespace {

using ::testing::HasSubstr;

constexpr int kCount = 128;

enum class Wait { kFirst, kAfterRead, kAfterWrite, kOneThread, kNever };

// to[i] = from[i] + weights[i], where the weights are read before the wait.
void Add(tw::Global<const int> from, tw::Global<const int> weights, tw::Global<int> to, Wait wait) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int weight = weights[i];
  if (wait == Wait::kOneThread) {
    if (threadIdx.x == 0) tw::grid_dependency_wait();
    __syncthreads();
  }
  if (wait == Wait::kFirst) tw::grid_dependency_wait();
  const int value = from[i];
  if (wait == Wait::kAfterRead) tw::grid_dependency_wait();
  tw::grid_dependency_launch();
  to[i] = value + weight;
  if (wait == Wait::kAfterWrite) tw::grid_dependency_wait();
}

class GridOrderTest : public ::testing::Test {
 protected:
  GridOrderTest() : a_(kCount), b_(kCount), c_(kCount), weights_(kCount) {
    std::iota(a_.data(), a_.data() + kCount, 1);
    std::iota(weights_.data(), weights_.data() + kCount, 100);
  }
  // One grid of the stream: to = from + weights.
  LaunchResult Run(Array<int>& from, Array<int>& weights, Array<int>& to, Wait wait, bool dependent = true) {
    GlobalMemory memory;
    memory.Add("from", static_cast<const void*>(from.data()), from.bytes());
    memory.Add("weights", static_cast<const void*>(weights.data()), weights.bytes());
    memory.Add("to", to.data(), to.bytes(), GlobalMemory::kInOut);
    return Launch({.kernel = "add", .grid = {2}, .block = {kCount / 2}, .chain = &stream_, .dependent = dependent},
                  memory, [&] { Add(from.data(), weights.data(), to.data(), wait); });
  }

  Array<int> a_, b_, c_, weights_;
  GridChain stream_;
};

TEST_F(GridOrderTest, RunsGridsThatWait) {
  EXPECT_THAT(Run(a_, weights_, b_, Wait::kFirst), RanWell());
  EXPECT_THAT(Run(b_, weights_, c_, Wait::kFirst), RanWell());
  EXPECT_THAT(Run(c_, weights_, b_, Wait::kOneThread), RanWell());
  for (int i = 0; i < kCount; ++i) ASSERT_EQ(b_[i], a_[i] + 3 * weights_[i]);
}

TEST_F(GridOrderTest, ReportsReadsOfWhatTheGridInFrontWrites) {
  EXPECT_THAT(Run(a_, weights_, b_, Wait::kFirst), RanWell());
  const LaunchResult result = Run(b_, weights_, c_, Wait::kAfterRead);
  ASSERT_THAT(result, Faults(FaultKind::kRace, "from byte"));
  EXPECT_THAT(ToString(result.faults[0]), HasSubstr("a read that is not ordered after a write; the other access: "
                                                    "access by add, the grid in front"));
}

TEST_F(GridOrderTest, ReportsWritesOfWhatTheGridInFrontReads) {
  EXPECT_THAT(Run(a_, weights_, b_, Wait::kFirst), RanWell());
  // `a_` is read by the first grid, `weights_` by both.
  EXPECT_THAT(Run(weights_, weights_, a_, Wait::kAfterWrite), Faults(FaultKind::kRace, "to byte"));
  // What it writes itself is one, too.
  EXPECT_THAT(Run(weights_, weights_, a_, Wait::kAfterWrite), Faults(FaultKind::kRace, "to byte"));
}

TEST_F(GridOrderTest, ReportsConstantsThatTheGridInFrontWrites) {
  EXPECT_THAT(Run(a_, weights_, b_, Wait::kFirst), RanWell());
  EXPECT_THAT(Run(a_, b_, c_, Wait::kFirst), Faults(FaultKind::kRace, "weights byte"));
}

TEST_F(GridOrderTest, GridsThatAreNotDependentComeAfterAll) {
  EXPECT_THAT(Run(a_, weights_, b_, Wait::kNever), RanWell());
  EXPECT_THAT(Run(b_, weights_, c_, Wait::kNever, /*dependent=*/false), RanWell());
  EXPECT_THAT(Run(b_, b_, c_, Wait::kNever, /*dependent=*/false), RanWell());
}

// The end of a grid says that those in front of it have ended, as later ones need.
TEST_F(GridOrderTest, ReportsGridsThatDoNotWait) {
  EXPECT_THAT(Run(a_, weights_, b_, Wait::kFirst), RanWell());
  EXPECT_THAT(Run(a_, weights_, c_, Wait::kNever), Faults(FaultKind::kUnfinished, ""));
}

// A grid that lets the next one begin before it has waited leaves two of them under way.
TEST_F(GridOrderTest, EarlyLaunchesLeaveTwoGridsInFront) {
  EXPECT_THAT(Run(a_, weights_, b_, Wait::kFirst), RanWell());
  Run(a_, weights_, c_, Wait::kAfterWrite);
  EXPECT_THAT(Run(a_, b_, weights_, Wait::kFirst), Faults(FaultKind::kRace, "weights byte"));
  EXPECT_THAT(Run(a_, weights_, b_, Wait::kFirst, /*dependent=*/false), RanWell());
  EXPECT_THAT(Run(a_, weights_, c_, Wait::kFirst), RanWell());
  EXPECT_THAT(Run(c_, b_, weights_, Wait::kFirst), RanWell());
}

TEST(Footprint, KeepsBytes) {
  std::vector<std::byte> memory(10000);
  Footprint footprint, more;
  footprint.Add(memory.data() + 3, 6000, /*write=*/true);
  footprint.Add(memory.data() + 9000, 2, /*write=*/false);
  more.Add(memory.data() + 6003, 7, /*write=*/true);
  footprint.Add(more);
  const auto count = [&](bool write, size_t first, size_t bytes) {
    size_t counted = 0;
    footprint.ForEach(memory.data() + first, bytes, write, [&](const std::byte*, size_t run) { counted += run; });
    return counted;
  };
  EXPECT_EQ(count(true, 0, memory.size()), 6007);
  EXPECT_EQ(count(true, 4, 10), 10);
  EXPECT_EQ(count(true, 6009, 100), 1);
  EXPECT_EQ(count(false, 0, memory.size()), 2);
}

}  // namespace
}  // namespace tilewright::emulator
