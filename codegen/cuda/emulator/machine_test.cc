// Launches, blocks, registers and races: what is right runs, what is wrong is named.
#include <cstdint>

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

class MachineTest : public SmallInAndOutTest {};

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

TEST_F(MachineTest, BlocksOfALaunchAreNotOrdered) {
  const LaunchResult result = Run({.grid = {2}, .block = {32}}, [&] { tw::Global<int>(out_.data())[0] = 1; });
  EXPECT_THAT(result, Faults(FaultKind::kRace, "out byte 0"));
  EXPECT_THAT(Run({.grid = {2}, .block = {1}}, [&] { tw::Global<int>(out_.data())[0] = 1; }),
              Faults(FaultKind::kRace, "of block (0, 0, 0)"));
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
