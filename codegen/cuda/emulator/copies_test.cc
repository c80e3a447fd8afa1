// cp.async and mbarriers.
#include <cstdint>
#include <functional>
#include <numeric>

#include "codegen/cuda/emulator/device/kernel.h"
#include "codegen/cuda/emulator/launch.h"
#include "codegen/cuda/emulator/testing/arrays.h"
#include "gtest/gtest.h"

namespace tilewright::emulator {
namespace {

class CopiesTest : public ::testing::Test {
 protected:
  CopiesTest() : in_(4096), out_(4096) {
    std::iota(in_.data(), in_.data() + in_.size(), 1u);
    memory_.Add("in", in_.data(), in_.bytes());
    memory_.Add("out", out_.data(), out_.bytes(), GlobalMemory::kOutput);
  }
  LaunchResult Run(LaunchOptions options, const std::function<void()>& kernel) {
    if (options.shared_bytes == 0) options.shared_bytes = 8192;
    return Launch(options, memory_, kernel);
  }

  Array<uint32_t> in_, out_;
  GlobalMemory memory_;
};

TEST_F(CopiesTest, FillsWithZeros) {
  const auto kernel = [&](tw::Global<const uint32_t> in, tw::Global<uint32_t> out) {
    const int lane = static_cast<int>(threadIdx.x);
    const tw::Shared<uint32_t> s = tw::SharedAt<uint32_t>(0);
    tw::cp_async<16>(s + lane * 8, in + lane * 8, lane % 17);
    tw::cp_async<8>(s + lane * 8 + 4, in + lane * 8 + 4);
    tw::cp_async<4>(s + lane * 8 + 6, in + lane * 8 + 6, lane % 2 * 4);
    tw::cp_async<4>(s + lane * 8 + 7, in + lane * 8 + 7);
    tw::cp_async_commit();
    tw::cp_async_wait<0>();
    __syncthreads();
    for (int i = 0; i < 8; ++i) out[lane * 8 + i] = s[(lane ^ 1) * 8 + i];
  };
  for (const uint64_t seed : kSeeds) {
    EXPECT_THAT(Run({.block = {64}, .seed = seed}, [&] { kernel(in_.data(), out_.data()); }), RanWell());
    for (uint32_t lane = 0; lane < 64; ++lane) {
      const uint32_t from = lane ^ 1;
      for (uint32_t byte = 0; byte < 32; ++byte) {
        const bool copied = byte < 16 ? byte < from % 17 : byte < 24 || byte >= 28 || from % 2 == 1;
        const auto* got = reinterpret_cast<const uint8_t*>(&out_[lane * 8]);
        const auto* source = reinterpret_cast<const uint8_t*>(&in_[from * 8]);
        ASSERT_EQ(got[byte], copied ? source[byte] : 0) << lane << " " << byte;
      }
    }
  }
}

// A pipeline of kStages; thread i copies element i and reads that of its neighbour.
struct Pipeline {
  static constexpr int kStages = 3, kSteps = 9;
  bool commit = true, barrier = true;
  int pending = kStages - 2;

  void operator()(tw::Global<const uint32_t> in, tw::Global<uint32_t> out) const {
    const int i = static_cast<int>(threadIdx.x), n = static_cast<int>(blockDim.x);
    const tw::Shared<uint32_t> s = tw::SharedAt<uint32_t>(0);
    const auto load = [&](int step) {
      if (step < kSteps) tw::cp_async<4>(s + step % kStages * n + i, in + step * n + i);
      if (commit) tw::cp_async_commit();
    };
    for (int step = 0; step < kStages - 1; ++step) load(step);
    for (int step = 0; step < kSteps; ++step) {
      if (pending == 0) tw::cp_async_wait<0>();
      if (pending == 1) tw::cp_async_wait<1>();
      if (pending == 2) tw::cp_async_wait<2>();
      if (barrier) __syncthreads();
      load(step + kStages - 1);
      out[step * n + i] = s[step % kStages * n + (i + 1) % n];
    }
  }
};

TEST_F(CopiesTest, GroupsArePipelined) {
  for (const uint64_t seed : kSeeds) {
    for (const int pending : {0, 1}) {
      EXPECT_THAT(Run({.block = {64}, .seed = seed}, [&] { Pipeline{.pending = pending}(in_.data(), out_.data()); }),
                  RanWell());
      for (uint32_t i = 0; i < 64 * 9; ++i) ASSERT_EQ(out_[i], in_[i / 64 * 64 + (i + 1) % 64]);
    }
  }
}

TEST_F(CopiesTest, FaultyPipelinesAreFound) {
  EXPECT_THAT(Run({.block = {64}}, [&] { Pipeline{.pending = 2}(in_.data(), out_.data()); }),
              Faults(FaultKind::kRace, "cp.async by cp.async of thread"));
  EXPECT_THAT(Run({.block = {64}}, [&] { Pipeline{.barrier = false}(in_.data(), out_.data()); }),
              Faults(FaultKind::kRace, "load"));
  const LaunchResult result = Run({.block = {64}}, [&] { Pipeline{.commit = false}(in_.data(), out_.data()); });
  EXPECT_THAT(result, Faults(FaultKind::kRace, "cp.async"));
  EXPECT_THAT(result, Faults(FaultKind::kUnfinished, "has not committed"));
}

TEST_F(CopiesTest, WrongCopies) {
  EXPECT_THAT(Run({}, [&] { tw::cp_async<16>(tw::SharedAt<uint32_t>(4), tw::Global<const uint32_t>(in_.data())); }),
              Faults(FaultKind::kMisaligned, "shared byte 4"));
  EXPECT_THAT(Run({}, [&] { tw::cp_async<16>(tw::SharedAt<uint32_t>(0), tw::Global<const uint32_t>(in_.data()) + 1); }),
              Faults(FaultKind::kMisaligned, "the source"));
  EXPECT_THAT(
      Run({}, [&] { tw::cp_async<16>(tw::SharedAt<uint32_t>(0), tw::Global<const uint32_t>(in_.data()) + 4096); }),
      Faults(FaultKind::kOutOfBounds, "in byte 16384"));
  EXPECT_THAT(Run({}, [&] { tw::cp_async<16>(tw::SharedAt<uint32_t>(8192), tw::Global<const uint32_t>(in_.data())); }),
              Faults(FaultKind::kOutOfBounds, "shared byte 8192"));
  EXPECT_THAT(Run({}, [&] { tw::cp_async<4>(tw::SharedAt<uint32_t>(0), tw::Global<const uint32_t>(in_.data()), 5); }),
              Faults(FaultKind::kArguments, "5 of 4 bytes"));
}

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

TEST_F(CopiesTest, MbarriersMakeARing) {
  for (const uint64_t seed : kSeeds) {
    EXPECT_THAT(Run({.block = {64}, .seed = seed}, [&] { Ring{}(in_.data(), out_.data()); }), RanWell());
    for (uint32_t i = 0; i < 192; ++i) ASSERT_EQ(out_[i], in_[i / 32 * 32 + 31 - i % 32]);
  }
}

TEST_F(CopiesTest, FaultyRingsAreFound) {
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

TEST_F(CopiesTest, WrongMbarriers) {
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

TEST_F(CopiesTest, RemoteArrivalsOrder) {
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

TEST_F(CopiesTest, StoresThatABarrierCounts) {
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

TEST_F(CopiesTest, ArrivesWhenCopiesAreDone) {
  const auto kernel = [&](tw::Global<const uint32_t> in, tw::Global<uint32_t> out, bool arrive) {
    const tw::Shared<uint64_t> bar = tw::SharedAt<uint64_t>(256);
    const tw::Shared<uint32_t> s = tw::SharedAt<uint32_t>(0);
    const int i = static_cast<int>(threadIdx.x);
    if (i == 0) tw::mbarrier_init(bar, 32);
    __syncthreads();
    tw::cp_async<4>(s + i, in + i);
    if (arrive) tw::cp_async_arrive_noinc(bar);
    if (!arrive) tw::mbarrier_arrive(bar), tw::cp_async_commit();
    tw::mbarrier_wait(bar, 0);
    out[i] = s[i ^ 3];
  };
  for (const uint64_t seed : kSeeds) {
    EXPECT_THAT(Run({.block = {32}, .seed = seed}, [&] { kernel(in_.data(), out_.data(), true); }), RanWell());
    for (uint32_t i = 0; i < 32; ++i) ASSERT_EQ(out_[i], in_[i ^ 3]);
  }
  EXPECT_THAT(Run({.block = {32}}, [&] { kernel(in_.data(), out_.data(), false); }),
              Faults(FaultKind::kRace, "cp.async"));
}

}  // namespace
}  // namespace tilewright::emulator
