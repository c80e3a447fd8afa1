// mbarriers: rings of producers and consumers, arrivals of other blocks, stores that are counted.
#include <cstdint>

#include "codegen/cuda/emulator/device/kernel.h"
#include "codegen/cuda/emulator/launch.h"
#include "codegen/cuda/emulator/testing/arrays.h"
#include "gtest/gtest.h"

namespace tilewright::emulator {
namespace {

class MbarriersTest : public InAndOutTest {};

// Producers copy and arrive, consumers wait; two stages in turn.
struct Ring {
  int count = 32;          // of arrivals at full
  bool wait_empty = true;  // the producer waits until a stage is free
  bool fence = true;       // the initialization is published by a barrier
  int parity = 0;          // added to the consumers'

  void operator()(tw::Global<const uint32_t> in, tw::Global<uint32_t> out) const {
    const tw::Shared<uint64_t> full = tw::SharedAt<uint64_t>(4096), empty = full + 2;
    const tw::Shared<uint32_t> s = tw::SharedAt<uint32_t>(0);
    const int lane = static_cast<int>(threadIdx.x) % 32;
    if (threadIdx.x == 0) {
      for (int i = 0; i < 2; ++i) {
        tw::mbarrier_init(full + i, static_cast<uint32_t>(count));
        tw::mbarrier_init(empty + i, 32);
      }
      tw::fence_mbarrier_init();
    }
    if (fence) __syncthreads();
    for (int step = 0; step < 6; ++step) {
      const int stage = step % 2;
      const auto phase = static_cast<uint32_t>(step / 2 % 2);
      if (threadIdx.x < 32) {
        if (wait_empty) tw::mbarrier_wait(empty + stage, phase ^ 1);
        s[stage * 32 + lane] = in[step * 32 + lane];
        tw::mbarrier_arrive(full + stage);
      } else {
        tw::mbarrier_wait(full + stage, phase ^ static_cast<uint32_t>(parity));
        out[step * 32 + lane] = s[stage * 32 + 31 - lane];
        tw::mbarrier_arrive(empty + stage);
      }
    }
  }
};

TEST_F(MbarriersTest, MakeARing) {
  for (const uint64_t seed : kSeeds) {
    EXPECT_THAT(Run({.block = {64}, .seed = seed}, [&] { Ring{}(in_.data(), out_.data()); }), RanWell());
    for (uint32_t i = 0; i < 192; ++i) ASSERT_EQ(out_[i], in_[i / 32 * 32 + 31 - i % 32]);
  }
}

TEST_F(MbarriersTest, FaultyRingsAreFound) {
  const LaunchResult deadlock = Run({.block = {64}}, [&] { Ring{.count = 33}(in_.data(), out_.data()); });
  EXPECT_THAT(deadlock, Faults(FaultKind::kDeadlock,
                               "warp 1: mbarrier wait at shared byte 4096 for parity 0 (its phase 0 "
                               "waits for 1 of 33 arrivals and 0 bytes) (32 threads)"));
  EXPECT_THAT(deadlock, Faults(FaultKind::kDeadlock, "warp 0: mbarrier wait at shared byte 4112 for parity 0"));
  EXPECT_THAT(Run({.block = {64}}, [&] { Ring{.count = 31}(in_.data(), out_.data()); }),
              Faults(FaultKind::kRace, "load"));
  EXPECT_THAT(Run({.block = {64}}, [&] { Ring{.wait_empty = false}(in_.data(), out_.data()); }),
              Faults(FaultKind::kRace, "store"));
  EXPECT_THAT(
      Run({.block = {64}, .seed = 3}, [&] { Ring{.fence = false}(in_.data(), out_.data()); }),
      ::testing::AnyOf(Faults(FaultKind::kRace, "mbarrier"), Faults(FaultKind::kMbarrier, "no initialized mbarrier")));
  EXPECT_THAT(Run({.block = {64}}, [&] { Ring{.parity = 1}(in_.data(), out_.data()); }),
              ::testing::AnyOf(Faults(FaultKind::kRace, "load"), Faults(FaultKind::kUnwritten, "load")));
}

TEST_F(MbarriersTest, WrongUses) {
  const auto bar = [] { return tw::SharedAt<uint64_t>(64); };
  EXPECT_THAT(Run({}, [&] { tw::mbarrier_arrive(bar()); }), Faults(FaultKind::kMbarrier, "no initialized mbarrier"));
  EXPECT_THAT(Run({}, [&] { tw::mbarrier_init(bar(), 0); }), Faults(FaultKind::kArguments, "not 0"));
  EXPECT_THAT(Run({}, [&] { tw::mbarrier_init(tw::Cast<uint64_t>(tw::SharedAt<uint8_t>(60)), 1); }),
              Faults(FaultKind::kMisaligned, "shared byte 60"));
  EXPECT_THAT(Run({}, [&] { tw::mbarrier_init(bar(), 1), tw::mbarrier_init(bar(), 1); }),
              Faults(FaultKind::kMbarrier, "initialized again"));
  EXPECT_THAT(Run({}, [&] { tw::mbarrier_init(bar(), 1), tw::mbarrier_inval(bar()), tw::mbarrier_init(bar(), 2); }),
              RanWell());
  EXPECT_THAT(Run({}, [&] { tw::mbarrier_init(bar(), 2), tw::mbarrier_arrive_count(bar(), 3); }),
              Faults(FaultKind::kMbarrier, "more arrivals than the mbarrier's count of 2"));
  EXPECT_THAT(Run({}, [&] { tw::mbarrier_init(bar(), 1), *tw::SharedAt<uint32_t>(68) = 1; }),
              Faults(FaultKind::kMbarrier, "an ordinary access of the bytes of an mbarrier"));
  EXPECT_THAT(Run({}, [&] { tw::mbarrier_init(bar(), 1), tw::mbarrier_expect_tx(bar(), 1 << 20); }),
              Faults(FaultKind::kMbarrier, "expects more than 2^20 - 1 bytes"));
  EXPECT_THAT(Run({},
                  [&] {
                    tw::mbarrier_init(bar(), 2);
                    tw::mbarrier_expect_tx(bar(), 16);
                    tw::mbarrier_inval(bar());
                  }),
              Faults(FaultKind::kMbarrier, "invalidated while it is in use"));
  EXPECT_THAT(Run({.grid = {2}, .cluster = {2}},
                  [&] {
                    tw::mbarrier_init(bar(), 1);
                    tw::cluster_sync();
                    tw::mbarrier_wait(tw::map_shared(bar(), tw::cluster_rank() ^ 1), 1);
                    tw::cluster_sync();
                  }),
              Faults(FaultKind::kMbarrier, "of another block"));
}

TEST_F(MbarriersTest, RemoteArrivalsOrder) {
  const auto kernel = [&](tw::Global<uint32_t> out) {
    const tw::Shared<uint64_t> bar = tw::SharedAt<uint64_t>(256);
    const tw::Shared<uint32_t> value = tw::SharedAt<uint32_t>(0);
    const uint32_t rank = tw::cluster_rank();
    if (threadIdx.x == 0) tw::mbarrier_init(bar, 32), tw::fence_mbarrier_init();
    tw::cluster_sync();
    tw::map_shared(value, rank ^ 1)[threadIdx.x] = rank * 100 + threadIdx.x;
    tw::mbarrier_arrive_cluster(bar, rank ^ 1);
    tw::mbarrier_wait(bar, 0);
    out[static_cast<int>(blockIdx.x * 32 + threadIdx.x)] = value[31 - static_cast<int>(threadIdx.x)];
    tw::cluster_sync();
  };
  for (const uint64_t seed : kSeeds) {
    EXPECT_THAT(Run({.grid = {2}, .block = {32}, .cluster = {2}, .seed = seed}, [&] { kernel(out_.data()); }),
                RanWell());
    for (uint32_t i = 0; i < 64; ++i) ASSERT_EQ(out_[i], (1 - i / 32) * 100 + 31 - i % 32);
  }
}

TEST_F(MbarriersTest, StoresThatABarrierCounts) {
  const auto kernel = [&](tw::Global<uint32_t> out, uint32_t expected) {
    const tw::Shared<uint64_t> bar = tw::SharedAt<uint64_t>(256);
    const tw::Shared<uint32_t> value = tw::SharedAt<uint32_t>(0);
    const uint32_t rank = tw::cluster_rank();
    if (threadIdx.x == 0) {
      tw::mbarrier_init(bar, 1);
      tw::fence_mbarrier_init();
      tw::mbarrier_arrive_expect_tx(bar, expected);
    }
    tw::cluster_sync();
    tw::st_async(tw::map_shared(value + static_cast<int>(threadIdx.x), rank ^ 1), rank * 100 + threadIdx.x,
                 tw::map_shared(bar, rank ^ 1));
    tw::mbarrier_wait(bar, 0);
    out[static_cast<int>(blockIdx.x * 32 + threadIdx.x)] = value[31 - static_cast<int>(threadIdx.x)];
    tw::cluster_sync();
  };
  const LaunchOptions options = {.grid = {2}, .block = {32}, .cluster = {2}};
  EXPECT_THAT(Run(options, [&] { kernel(out_.data(), 128); }), RanWell());
  for (uint32_t i = 0; i < 64; ++i) ASSERT_EQ(out_[i], (1 - i / 32) * 100 + 31 - i % 32);
  EXPECT_THAT(Run(options, [&] { kernel(out_.data(), 132); }),
              Faults(FaultKind::kDeadlock, "0 of 1 arrivals and 4 bytes"));
}

}  // namespace
}  // namespace tilewright::emulator
