// Instructions of a warp: lanes that exchange values, and lanes that are not there.
#include <cstdint>
#include <numeric>
#include <vector>

#include "codegen/cuda/emulator/device/kernel.h"
#include "codegen/cuda/emulator/launch.h"
#include "codegen/cuda/emulator/testing/arrays.h"
#include "gtest/gtest.h"

namespace tilewright::emulator {
namespace {

class WarpTest : public SmallInAndOutTest {};

TEST_F(WarpTest, WarpBarriersOrderLanes) {
  const auto kernel = [&](bool barrier) {
    const tw::Shared<int> value = tw::SharedAt<int>(0);
    const int i = static_cast<int>(threadIdx.x);
    value[i] = i;
    if (barrier) __syncwarp();
    out_[i] = value[i ^ 1];
  };
  EXPECT_THAT(Run({.block = {48}}, [&] { kernel(true); }), RanWell());
  EXPECT_THAT(Run({.block = {48}}, [&] { kernel(false); }), Faults(FaultKind::kRace, "load"));
}

TEST_F(WarpTest, Shuffles) {
  for (const uint64_t seed : kSeeds) {
    std::vector<int> sums(32), up(32), down(32), index(32), narrow(32);
    std::vector<double> wide(32);
    EXPECT_THAT(Run({.block = {32}, .seed = seed},
                    [&] {
                      const auto lane = threadIdx.x;
                      int sum = static_cast<int>(lane);
                      for (int i = 16; i > 0; i /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, i);
                      sums[lane] = sum;
                      up[lane] = __shfl_up_sync(0xffffffffu, static_cast<int>(lane), 3);
                      down[lane] = __shfl_down_sync(0xffffffffu, static_cast<int>(lane), 3, 8);
                      index[lane] = __shfl_sync(0xffffffffu, static_cast<int>(lane), 5);
                      narrow[lane] = lane < 16 ? __shfl_xor_sync(0xffffu, static_cast<int>(lane), 2) : -1;
                      wide[lane] = __shfl_xor_sync(0xffffffffu, 0.5 * lane, 1);
                    }),
                RanWell());
    for (int i = 0; i < 32; ++i) {
      EXPECT_EQ(sums[i], 496);
      EXPECT_EQ(up[i], i < 3 ? i : i - 3);
      EXPECT_EQ(down[i], i % 8 < 5 ? i + 3 : i);
      EXPECT_EQ(index[i], 5);
      EXPECT_EQ(narrow[i], i < 16 ? (i ^ 2) : -1);
      EXPECT_EQ(wide[i], 0.5 * (i ^ 1));
    }
  }
}

TEST_F(WarpTest, VotesAndReductionsOfWarps) {
  std::vector<uint32_t> ballots(32);
  std::vector<int> least(32), sum(32), any(32), elected(32);
  EXPECT_THAT(Run({.block = {32}, .seed = 9},
                  [&] {
                    const auto lane = threadIdx.x;
                    ballots[lane] = __ballot_sync(0xffffffffu, lane % 4 == 1);
                    least[lane] = __reduce_min_sync(0xffffffffu, 7 - static_cast<int>(lane));
                    sum[lane] = static_cast<int>(__reduce_add_sync(0xffffffffu, lane));
                    any[lane] = __any_sync(0xffffffffu, lane == 31) + 2 * __all_sync(0xffffffffu, lane < 31);
                    elected[lane] = tw::elect_one();
                  }),
              RanWell());
  for (int i = 0; i < 32; ++i) {
    EXPECT_EQ(ballots[i], 0x22222222u);
    EXPECT_EQ(least[i], -24);
    EXPECT_EQ(sum[i], 496);
    EXPECT_EQ(any[i], 1);
  }
  EXPECT_EQ(std::accumulate(elected.begin(), elected.end(), 0), 1);
}

TEST_F(WarpTest, ShuffleFromLanesThatAreNotThere) {
  EXPECT_THAT(Run({.block = {32}}, [] { (void)__shfl_sync(0xffffu | 0xffff0000u * (threadIdx.x > 15), 1, 20); }),
              Faults(FaultKind::kArguments, "reads lane 20, which does not take part"));
  EXPECT_THAT(Run({.block = {32}}, [] { (void)__shfl_sync(1u, 1, 0); }),
              Faults(FaultKind::kArguments, "not in its mask"));
}

TEST_F(WarpTest, DivergedLanes) {
  const LaunchResult result = Run({.block = {32}}, [] {
    if (threadIdx.x < 16) {
      (void)__shfl_xor_sync(0xffffffffu, 1, 1);
    } else {
      (void)__ballot_sync(0xffffffffu, 1);
    }
  });
  EXPECT_FALSE(result.finished);
  EXPECT_THAT(result, Faults(FaultKind::kDivergence, "others of its warp or warpgroup are at shfl.sync"));
}

}  // namespace
}  // namespace tilewright::emulator
