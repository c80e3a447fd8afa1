// Barriers of blocks and clusters: what they order, and who waits for ever.
#include <cstdint>

#include "codegen/cuda/emulator/device/kernel.h"
#include "codegen/cuda/emulator/launch.h"
#include "codegen/cuda/emulator/testing/arrays.h"
#include "gtest/gtest.h"

namespace tilewright::emulator {
namespace {

class BarriersTest : public SmallInAndOutTest {};

TEST_F(BarriersTest, BarriersOfDifferentCountsDeadlock) {
  const LaunchResult result = Run({.block = {64}}, [] { tw::named_barrier(1, threadIdx.x < 32 ? 64 : 96); });
  EXPECT_FALSE(result.finished);
  EXPECT_THAT(result, Faults(FaultKind::kBarrier, "64 and 96"));
  EXPECT_THAT(result,
              Faults(FaultKind::kDeadlock, "warp 1: named barrier 1 of 96 threads (64 are there) (32 threads)"));
  EXPECT_THAT(Run({.block = {64}}, [] { tw::named_barrier(16, 64); }), Faults(FaultKind::kArguments, "an id below 16"));
}

TEST_F(BarriersTest, BarrierInOneBranchDeadlocksOnlyIfOthersWait) {
  // Threads that have ended are not waited for.
  EXPECT_THAT(Run({.block = {64}},
                  [] {
                    if (threadIdx.x < 32) return;
                    __syncthreads();
                  }),
              RanWell());
  EXPECT_THAT(Run({.block = {64}},
                  [] {
                    if (threadIdx.x < 32) __syncthreads();
                    tw::named_barrier(2, 64);
                  }),
              Faults(FaultKind::kDeadlock, "warp 0: __syncthreads (32 threads)"));
}

TEST_F(BarriersTest, NamedBarriersOrderProducersAndConsumers) {
  const auto kernel = [&](bool wait) {
    const tw::Shared<int> value = tw::SharedAt<int>(0);
    const int i = static_cast<int>(threadIdx.x);
    if (i < 32) {
      value[i] = i;
      tw::named_barrier_arrive(3, 64);
    } else {
      if (wait) tw::named_barrier(3, 64);
      out_[i] = value[i - 32];
      if (!wait) tw::named_barrier(3, 64);
    }
  };
  for (const uint64_t seed : kSeeds) EXPECT_THAT(Run({.block = {64}, .seed = seed}, [&] { kernel(true); }), RanWell());
  EXPECT_THAT(Run({.block = {64}}, [&] { kernel(false); }), Faults(FaultKind::kRace, "load"));
}

TEST_F(BarriersTest, VotesOfABlock) {
  EXPECT_THAT(Run({.block = {96}},
                  [&] {
                    const int i = static_cast<int>(threadIdx.x);
                    const int count = __syncthreads_count(i % 3 == 0), all = __syncthreads_and(i < 95),
                              any = __syncthreads_or(i == 95);
                    out_[i] = count * 100 + all * 10 + any;
                  }),
              RanWell());
  for (int i = 0; i < 96; ++i) ASSERT_EQ(out_[i], 3201);
}

TEST_F(BarriersTest, ClustersReadEachOther) {
  const auto kernel = [&](bool first_barrier, bool last_barrier) {
    const tw::Shared<int> own = tw::SharedAt<int>(0);
    const int i = static_cast<int>(threadIdx.x);
    const uint32_t rank = tw::cluster_rank();
    own[i] = static_cast<int>(blockIdx.x) * 32 + i;
    if (first_barrier) tw::cluster_sync();
    const int other = tw::map_shared(own, rank ^ 1)[31 - i];
    tw::Global<int>(out_.data())[static_cast<int>(blockIdx.x) * 32 + i] = other;
    if (last_barrier) {
      tw::cluster_arrive_relaxed();
      tw::cluster_wait();
    }
  };
  for (const uint64_t seed : kSeeds) {
    const LaunchOptions options = {.grid = {4}, .block = {32}, .cluster = {2}, .seed = seed};
    EXPECT_THAT(Run(options, [&] { kernel(true, true); }), RanWell());
    for (int i = 0; i < 128; ++i) ASSERT_EQ(out_[i], (i / 32 ^ 1) * 32 + 31 - i % 32);
  }
  const LaunchOptions options = {.grid = {4}, .block = {32}, .cluster = {2}};
  EXPECT_THAT(Run(options, [&] { kernel(false, true); }), Faults(FaultKind::kRace, "of block (0, 0, 0)"));
  EXPECT_THAT(Run(options,
                  [&] {
                    if (tw::cluster_rank() == 0) return;
                    (void)static_cast<int>(tw::map_shared(tw::SharedAt<int>(0), 0)[0]);
                  }),
              Faults(FaultKind::kOutOfBounds, "has ended"));
  EXPECT_THAT(Run(options, [&] { (void)tw::map_shared(tw::SharedAt<int>(0), 2); }),
              Faults(FaultKind::kArguments, "a block 2"));
  EXPECT_THAT(Run(options, [] { tw::cluster_wait(); }), Faults(FaultKind::kBarrier, "has not arrived"));
  EXPECT_THAT(Run(options,
                  [] {
                    tw::cluster_arrive();
                    if (threadIdx.x == 0) tw::cluster_arrive();
                    tw::cluster_wait();
                  }),
              Faults(FaultKind::kBarrier, "arrives again"));
}

}  // namespace
}  // namespace tilewright::emulator
