// Threads, barriers, memory: what is right runs, what is wrong is named.
#include <cstdint>
#include <numeric>
#include <vector>

#include "codegen/cuda/emulator/device/kernel.h"
#include "codegen/cuda/emulator/launch.h"
#include "codegen/cuda/emulator/testing/arrays.h"
#include "gtest/gtest.h"

namespace tilewright::emulator {
namespace {

using ::testing::HasSubstr;

// Reverses each block's part through shared memory.
void Reverse(tw::Global<const int> in, tw::Global<int> out, bool barrier) {
  const tw::Shared<int> shared = tw::SharedAt<int>(0);
  const int n = static_cast<int>(blockDim.x), i = static_cast<int>(threadIdx.x);
  const int first = static_cast<int>(blockIdx.x) * n;
  shared[i] = in[first + i];
  if (barrier) __syncthreads();
  out[first + i] = shared[n - 1 - i];
}

class MachineTest : public ::testing::Test {
 protected:
  MachineTest() : in_(512), out_(512) {
    std::iota(in_.data(), in_.data() + in_.size(), 1);
    memory_.Add("in", in_.data(), in_.bytes());
    memory_.Add("out", out_.data(), out_.bytes(), GlobalMemory::kOutput);
  }
  LaunchResult Run(LaunchOptions options, const std::function<void()>& kernel) {
    if (options.shared_bytes == 0) options.shared_bytes = 4096;
    return Launch(options, memory_, kernel);
  }

  Array<int> in_, out_;
  GlobalMemory memory_;
};

TEST_F(MachineTest, RunsBlocks) {
  for (const uint64_t seed : kSeeds) {
    EXPECT_THAT(Run({.grid = {4}, .block = {128}, .seed = seed}, [&] { Reverse(in_.data(), out_.data(), true); }),
                RanWell());
    for (int i = 0; i < 512; ++i) ASSERT_EQ(out_[i], in_[i / 128 * 128 + 127 - i % 128]);
  }
}

TEST_F(MachineTest, NamesBothSidesOfARace) {
  const LaunchResult result = Run({.grid = {4}, .block = {128}}, [&] { Reverse(in_.data(), out_.data(), false); });
  EXPECT_TRUE(result.finished);
  ASSERT_THAT(result, Faults(FaultKind::kRace, "shared byte"));
  const Fault& fault = result.faults.back();
  EXPECT_EQ(fault.self.what, "load");
  EXPECT_EQ(fault.other.what, "store");
  EXPECT_THAT(fault.other.who, HasSubstr("thread"));
  EXPECT_THAT(ToString(fault), HasSubstr("of block (0, 0, 0)"));
}

TEST_F(MachineTest, ReadsOfUnwrittenMemory) {
  const LaunchResult result = Run({.block = {32}}, [&] { out_[threadIdx.x] = tw::SharedAt<int>(64)[threadIdx.x]; });
  EXPECT_THAT(result, Faults(FaultKind::kUnwritten, "load by thread 0 of block (0, 0, 0) at shared byte 64"));
  EXPECT_THAT(Run({}, [&] { (void)static_cast<int>(tw::Global<int>(out_.data())[7]); }),
              Faults(FaultKind::kUnwritten, "out byte 28"));
}

TEST_F(MachineTest, AccessesOutOfBounds) {
  EXPECT_THAT(Run({}, [] { tw::SharedAt<int>(0)[1024] = 1; }), Faults(FaultKind::kOutOfBounds, "shared byte 4096"));
  EXPECT_THAT(Run({}, [] { tw::SharedAt<int>(0)[-1] = 1; }), Faults(FaultKind::kOutOfBounds, "shared byte -4"));
  EXPECT_THAT(Run({}, [&] { tw::Global<int>(out_.data())[512] = 1; }),
              Faults(FaultKind::kOutOfBounds, "out byte 2048"));
  EXPECT_THAT(Run({}, [&] { tw::Global<int>(out_.data())[-1] = 1; }), Faults(FaultKind::kOutOfBounds, "out byte -4"));
  EXPECT_THAT(Run({}, [&] { tw::Global<int>(in_.data())[0] = 1; }),
              Faults(FaultKind::kOutOfBounds, "a write of an input"));
  int elsewhere = 0;
  EXPECT_THAT(Run({}, [&] { *tw::Global<int>(&elsewhere) = 1; }), Faults(FaultKind::kOutOfBounds, "no array"));
  EXPECT_EQ(elsewhere, 0);
}

TEST_F(MachineTest, MisalignedAccesses) {
  EXPECT_THAT(Run({}, [] { tw::Store(tw::SharedAt<int>(4), tw::u32x2{1, 2}); }),
              Faults(FaultKind::kMisaligned, "shared byte 4"));
  EXPECT_THAT(Run({}, [&] { (void)tw::Load<tw::u32x4>(tw::Global<const int>(in_.data()) + 1); }),
              Faults(FaultKind::kMisaligned, "in"));
}

TEST_F(MachineTest, BlocksOfALaunchAreNotOrdered) {
  const LaunchResult result = Run({.grid = {2}, .block = {32}}, [&] { tw::Global<int>(out_.data())[0] = 1; });
  EXPECT_THAT(result, Faults(FaultKind::kRace, "out byte 0"));
  EXPECT_THAT(Run({.grid = {2}, .block = {1}}, [&] { tw::Global<int>(out_.data())[0] = 1; }),
              Faults(FaultKind::kRace, "of block (0, 0, 0)"));
}

TEST_F(MachineTest, NarrowAccessesHaveHistoriesOfTheirOwn) {
  const auto kernel = [&](int distance) {
    const tw::Shared<uint8_t> bytes = tw::SharedAt<uint8_t>(0);
    const int i = static_cast<int>(threadIdx.x);
    bytes[i] = static_cast<uint8_t>(i);
    if (i + distance < 32) out_[i] = bytes[i + distance];
  };
  EXPECT_THAT(Run({.block = {32}}, [&] { kernel(0); }), RanWell());
  EXPECT_THAT(Run({.block = {32}, .seed = 5}, [&] { kernel(1); }), Faults(FaultKind::kRace, "shared byte"));
}

TEST_F(MachineTest, BarriersOfDifferentCountsDeadlock) {
  const LaunchResult result = Run({.block = {64}}, [] { tw::named_barrier(1, threadIdx.x < 32 ? 64 : 96); });
  EXPECT_FALSE(result.finished);
  EXPECT_THAT(result, Faults(FaultKind::kBarrier, "64 and 96"));
  EXPECT_THAT(result,
              Faults(FaultKind::kDeadlock, "warp 1: named barrier 1 of 96 threads (64 are there) (32 threads)"));
  EXPECT_THAT(Run({.block = {64}}, [] { tw::named_barrier(16, 64); }), Faults(FaultKind::kArguments, "an id below 16"));
}

TEST_F(MachineTest, BarrierInOneBranchDeadlocksOnlyIfOthersWait) {
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

TEST_F(MachineTest, NamedBarriersOrderProducersAndConsumers) {
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

TEST_F(MachineTest, VotesOfABlock) {
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

TEST_F(MachineTest, WarpBarriersOrderLanes) {
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

TEST_F(MachineTest, Shuffles) {
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

TEST_F(MachineTest, VotesAndReductionsOfWarps) {
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

TEST_F(MachineTest, ShuffleFromLanesThatAreNotThere) {
  EXPECT_THAT(Run({.block = {32}}, [] { (void)__shfl_sync(0xffffu | 0xffff0000u * (threadIdx.x > 15), 1, 20); }),
              Faults(FaultKind::kArguments, "reads lane 20, which does not take part"));
  EXPECT_THAT(Run({.block = {32}}, [] { (void)__shfl_sync(1u, 1, 0); }),
              Faults(FaultKind::kArguments, "not in its mask"));
}

TEST_F(MachineTest, DivergedLanes) {
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

TEST_F(MachineTest, AtomicsAddAndAreNoRaces) {
  for (const uint64_t seed : kSeeds) {
    Array<float> sum(1);
    Array<uint32_t> bits(4);
    sum[0] = 0;
    for (int i = 0; i < 4; ++i) bits[static_cast<size_t>(i)] = 0;
    GlobalMemory memory;
    memory.Add("sum", sum.data(), sum.bytes(), GlobalMemory::kInOut);
    memory.Add("bits", bits.data(), bits.bytes(), GlobalMemory::kInOut);
    const LaunchResult result = Launch({.grid = {3}, .block = {64}, .shared_bytes = 64, .seed = seed}, memory, [&] {
      const tw::Global<float> s = sum.data();
      const tw::Global<uint32_t> b = bits.data();
      const tw::Shared<int> count = tw::SharedAt<int>(0);
      if (threadIdx.x == 0) count[0] = 0;
      __syncthreads();
      atomicAdd(count, 1);
      atomicAdd(s, 0.5f);
      atomicMax(b, threadIdx.x);
      atomicOr(b + 1, 1u << (threadIdx.x % 32));
      atomicAdd(&b[2], 1u);
      atomicCAS(b + 3, 0u, 7u);
      __syncthreads();
      if (threadIdx.x == 0 && count[0] != 64) atomicAdd(s, 1000.0f);
    });
    EXPECT_THAT(result, RanWell());
    EXPECT_EQ(sum[0], 96.0f);
    EXPECT_EQ(bits[0], 63u);
    EXPECT_EQ(bits[1], 0xffffffffu);
    EXPECT_EQ(bits[2], 192u);
    EXPECT_EQ(bits[3], 7u);
  }
}

// The last block to arrive adds what all have written; right only with fences on both sides.
void LastBlockSums(tw::Global<float> part, tw::Global<uint32_t> count, tw::Global<float> sum, bool release,
                   bool acquire) {
  const tw::Shared<int> last = tw::SharedAt<int>(0);
  if (threadIdx.x == 0) {
    part[blockIdx.x] = 1.0f + static_cast<float>(blockIdx.x);
    if (release) __threadfence();
    last[0] = atomicAdd(count, 1u) == gridDim.x - 1;
    if (acquire) __threadfence();
  }
  __syncthreads();
  if (last[0] == 0) return;
  if (threadIdx.x == 1) {
    float s = 0;
    for (int i = 0; i < static_cast<int>(gridDim.x); ++i) s += part[i];
    sum[0] = s;
  }
}

TEST_F(MachineTest, FencesOrderBlocksThroughAtomics) {
  for (const uint64_t concurrent : {1, 4}) {
    for (const bool release : {false, true}) {
      for (const bool acquire : {false, true}) {
        Array<float> part(4), sum(1);
        Array<uint32_t> count(1);
        count[0] = 0;
        GlobalMemory memory;
        memory.Add("part", part.data(), part.bytes(), GlobalMemory::kOutput);
        memory.Add("sum", sum.data(), sum.bytes(), GlobalMemory::kOutput);
        memory.Add("count", count.data(), count.bytes(), GlobalMemory::kInOut);
        const LaunchResult result =
            Launch({.grid = {4}, .block = {32}, .shared_bytes = 16, .concurrent_clusters = concurrent}, memory,
                   [&] { LastBlockSums(part.data(), count.data(), sum.data(), release, acquire); });
        EXPECT_EQ(sum[0], 10.0f);
        if (release && acquire) {
          EXPECT_THAT(result, RanWell());
        } else {
          EXPECT_THAT(result, Faults(FaultKind::kRace, "part byte")) << release << acquire;
        }
      }
    }
  }
}

TEST_F(MachineTest, BlocksThatRunAtOnceMayWaitForEachOther) {
  const auto kernel = [](tw::Global<uint32_t> flag, tw::Global<int> value) {
    if (blockIdx.x == 1) {
      value[0] = 42;
      tw::store_release(flag, 1u);
    } else {
      while (tw::load_acquire(flag) == 0) {
      }
      value[1] = value[0];
    }
  };
  Array<uint32_t> flag(1);
  Array<int> value(2);
  GlobalMemory memory;
  memory.Add("flag", flag.data(), flag.bytes(), GlobalMemory::kInOut);
  memory.Add("value", value.data(), value.bytes(), GlobalMemory::kOutput);
  flag[0] = 0;
  EXPECT_THAT(Launch({.grid = {2}, .concurrent_clusters = 2}, memory, [&] { kernel(flag.data(), value.data()); }),
              RanWell());
  EXPECT_EQ(value[1], 42);
  // One after the other they wait for ever.
  flag[0] = 0;
  const LaunchResult result =
      Launch({.grid = {2}, .budget = 10000}, memory, [&] { kernel(flag.data(), value.data()); });
  EXPECT_THAT(result, Faults(FaultKind::kBudget, "has not ended after 10000 instructions"));
}

TEST_F(MachineTest, ClustersReadEachOther) {
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

TEST_F(MachineTest, Registers) {
  const auto kernel = [](bool give, int wanted) {
    if (threadIdx.x < 128) {
      if (give) tw::setmaxnreg_dec<40>();
    } else if (wanted == 232) {
      tw::setmaxnreg_inc<232>();
    } else {
      tw::setmaxnreg_inc<24>();
    }
  };
  EXPECT_THAT(Run({.block = {384}}, [&] { kernel(true, 232); }), RanWell());
  EXPECT_THAT(Run({.block = {384}}, [&] { kernel(false, 232); }),
              Faults(FaultKind::kDeadlock, "registers that nobody has given back"));
  EXPECT_THAT(Run({.block = {384}}, [&] { kernel(true, 24); }), Faults(FaultKind::kRegisters, "from 168 to 24"));
  EXPECT_THAT(Run({.block = {128}}, [] { tw::setmaxnreg_dec<33>(); }), Faults(FaultKind::kArguments, "not 33"));
}

TEST_F(MachineTest, CountsBankConflicts) {
  const auto conflicts = [&](int stride, int bytes) {
    return Run({.block = {32}, .shared_bytes = 32768},
               [&] {
                 const int i = static_cast<int>(threadIdx.x);
                 const tw::Shared<uint32_t> p = tw::SharedAt<uint32_t>(0) + i * stride;
                 for (int repeat = 0; repeat < 3; ++repeat) {
                   if (bytes == 4) tw::Store(p, 1u);
                   if (bytes == 16) tw::Store(p, tw::u32x4{1, 2, 3, 4});
                 }
               })
        .counters.bank_conflicts;
  };
  EXPECT_EQ(conflicts(1, 4), 0u);
  EXPECT_EQ(conflicts(2, 4), 3u);        // two words a bank
  EXPECT_EQ(conflicts(32, 4), 31 * 3u);  // one bank
  EXPECT_EQ(conflicts(33, 4), 0u);
  EXPECT_EQ(conflicts(4, 16), 0u);
  EXPECT_EQ(conflicts(32, 16), 4 * 7 * 3u);
}

TEST_F(MachineTest, LaunchesThatAreNotPossible) {
  EXPECT_THAT(Run({.block = {1025}}, [] {}), Faults(FaultKind::kLaunch, "more than 1024 threads"));
  EXPECT_THAT(Run({.grid = {3}, .cluster = {2}}, [] {}), Faults(FaultKind::kLaunch, "not a multiple of the cluster"));
  EXPECT_THAT(Run({.shared_bytes = 300000}, [] {}),
              Faults(FaultKind::kLaunch, "a block has 300000 bytes of shared memory, the device 232448"));
  EXPECT_THAT(Run({.shared_bytes = 167000, .device = {.shared_bytes = 166912}}, [] {}),
              Faults(FaultKind::kLaunch, "a block has 167000 bytes of shared memory, the device 166912"));
  EXPECT_THAT(Run({.grid = {32}, .cluster = {32}}, [] {}), Faults(FaultKind::kLaunch, "more than 16 blocks"));
  EXPECT_THAT(Run({.grid = {0}}, [] {}), Faults(FaultKind::kLaunch, "extent of the launch is 0"));
  EXPECT_THAT(Run({.grid = {1 << 20, 2}}, [] {}), Faults(FaultKind::kLaunch, "2^20"));
  EXPECT_THAT(Run({.concurrent_clusters = 0}, [] {}), Faults(FaultKind::kLaunch, "concurrent_clusters"));
}

TEST_F(MachineTest, OnlyDifferentFaultsAreKept) {
  const LaunchResult result = Run({.block = {256}}, [] { tw::SharedAt<int>(0)[5000] = 1; });
  ASSERT_EQ(result.faults.size(), 1u);
  EXPECT_EQ(result.faults[0].count, 256u);
  EXPECT_THAT(ToString(result.faults[0]), HasSubstr("(256 alike)"));
}

}  // namespace
}  // namespace tilewright::emulator
