#include "codegen/cuda/emulator/generic.h"

#include <cstdint>
#include <cstring>
#include <functional>
#include <utility>

#include "codegen/cuda/emulator/device/kernel.h"
#include "codegen/cuda/emulator/launch.h"
#include "codegen/cuda/emulator/testing/arrays.h"
#include "gtest/gtest.h"

namespace tilewright::emulator {
namespace {

class GenericTest : public ::testing::Test {
 protected:
  GenericTest() : in_(64), out_(64) {
    for (size_t i = 0; i < in_.size(); ++i) in_[i] = static_cast<uint32_t>(i + 1);
    memory_.Add("in", in_.data(), in_.bytes());
    memory_.Add("out", out_.data(), out_.bytes(), GlobalMemory::kOutput);
  }
  LaunchResult Run(LaunchOptions options, const std::function<void()>& kernel) {
    options.shared_bytes = 256;
    return Launch(options, memory_, kernel);
  }
  static uint32_t Load(const void* pointer) { return *static_cast<uint32_t*>(Access(pointer, 4, false)); }
  static void Store(void* pointer, uint32_t value) { *static_cast<uint32_t*>(Access(pointer, 4, true)) = value; }
  static void* Shared(uint32_t byte) { return reinterpret_cast<void*>(GenericOfShared(byte)); }

  Array<uint32_t> in_, out_;
  GlobalMemory memory_;
};

TEST_F(GenericTest, PointersSayWhichMemoryTheyAreOf) {
  EXPECT_THAT(Run({},
                  [&] {
                    int local = 0;
                    EXPECT_EQ(SpaceOf(&local), Space::kLocal);
                    EXPECT_EQ(SpaceOf(Shared(8)), Space::kShared);
                    EXPECT_EQ(SpaceOf(&in_[3]), Space::kGlobal);
                    EXPECT_EQ(SpaceOf(nullptr), Space::kNone);
                    EXPECT_EQ(Resolve(&local, 4).space, Space::kLocal);
                    EXPECT_EQ(Resolve(&in_[3], 4).array, NearestArray(&in_[0]));
                    EXPECT_EQ(Access(&local, 4, true), &local);
                    EXPECT_EQ(Access(&in_[3], 4, false), &in_[3]);
                  }),
              RanWell());
}

// The pointer is the same constant in every block, and each has its own bytes behind it.
TEST_F(GenericTest, SharedMemoryIsTheBlocksOwn) {
  EXPECT_THAT(Run({.grid = {2}, .block = {2}, .concurrent_clusters = 2},
                  [&] {
                    Store(Shared(threadIdx.x * 4), blockIdx.x * 10 + threadIdx.x);
                    __syncthreads();
                    Store(&out_[blockIdx.x * 2 + threadIdx.x], Load(Shared((1 - threadIdx.x) * 4)));
                  }),
              RanWell());
  for (const auto& [at, value] : {std::pair(0, 1), {1, 0}, {2, 11}, {3, 10}}) EXPECT_EQ(out_[at], value);
}

TEST_F(GenericTest, ClustersReachEachOther) {
  EXPECT_THAT(Run({.grid = {2}, .cluster = {2}},
                  [&] {
                    Store(Shared(0), 5 + blockIdx.x);
                    tw::cluster_sync();
                    const uint32_t other = tw::map_shared(tw::SharedAt<uint32_t>(0), 1 - blockIdx.x).address();
                    Store(&out_[blockIdx.x], Load(reinterpret_cast<void*>(GenericOfAddress(other))));
                    tw::cluster_sync();
                  }),
              RanWell());
  EXPECT_EQ(out_[0], 6u);
  EXPECT_EQ(out_[1], 5u);
}

TEST_F(GenericTest, AccessesOutsideOfEverythingAreFaultsAndReadZeros) {
  const auto reads = [&](const void* pointer) { return Run({}, [pointer] { EXPECT_EQ(Load(pointer), 0u); }); };
  EXPECT_THAT(reads(nullptr), Faults(FaultKind::kOutOfBounds, "4 bytes through a null pointer"));
  EXPECT_THAT(reads(reinterpret_cast<void*>(8)), Faults(FaultKind::kOutOfBounds, "4 bytes through null plus 8"));
  EXPECT_THAT(reads(reinterpret_cast<void*>(0x4000)),
              Faults(FaultKind::kOutOfBounds, "0x4000, which is in no array of the kernel"));
  EXPECT_THAT(reads(Shared(256)), Faults(FaultKind::kOutOfBounds, "shared byte"));
  EXPECT_THAT(reads(in_.data() + in_.size()), Faults(FaultKind::kOutOfBounds, "in"));
  EXPECT_THAT(reads(reinterpret_cast<std::byte*>(in_.data()) + 2), Faults(FaultKind::kMisaligned, "in"));
}

TEST_F(GenericTest, FaultyWritesWriteNothing) {
  const uint32_t before = in_[0];
  EXPECT_THAT(Run({}, [&] { Store(in_.data(), 77); }), Faults(FaultKind::kOutOfBounds, "in"));
  EXPECT_EQ(in_[0], before);
}

TEST_F(GenericTest, LocalMemoryOfAnotherThreadIsAFault) {
  void* theirs = nullptr;
  EXPECT_THAT(Run({.block = {2}},
                  [&] {
                    int local = 0;
                    if (threadIdx.x == 0) theirs = &local;
                    __syncthreads();
                    if (threadIdx.x == 1) (void)Load(theirs);
                    __syncthreads();
                  }),
              Faults(FaultKind::kOutOfBounds, "it points to the local memory of another thread"));
}

TEST_F(GenericTest, VolatileAccessesRaceWithOrdinaryOnesOnly) {
  const auto both_write = [&](bool first_volatile, bool second_volatile) {
    return Run({.block = {2}}, [&, first_volatile, second_volatile] {
      const bool is_volatile = threadIdx.x == 0 ? first_volatile : second_volatile;
      std::memset(Access(Shared(0), 4, true, is_volatile), 0, 4);
    });
  };
  EXPECT_THAT(both_write(true, true), RanWell());
  EXPECT_THAT(both_write(true, false), Faults(FaultKind::kRace, "volatile store"));
  EXPECT_THAT(both_write(false, false), Faults(FaultKind::kRace, "store"));
}

TEST_F(GenericTest, RunsAreAccessesOfTheirAlignment) {
  const LaunchResult result = Run({}, [&] {
    EXPECT_EQ(AccessRun(in_.data(), 0, 4, false), in_.data());
    EXPECT_EQ(AccessRun(in_.data() + 1, 23, 4, false), in_.data() + 1);  // five of 4 bytes, one of 2, one of 1
  });
  EXPECT_THAT(result, RanWell());
  EXPECT_EQ(result.counters.global_accesses, 7u);
  EXPECT_THAT(Run({}, [&] { EXPECT_NE(AccessRun(&in_[60], 32, 4, false), &in_[60]); }),
              Faults(FaultKind::kOutOfBounds, "in"));
}

TEST_F(GenericTest, SumsOfProductsNeedFences) {
  EXPECT_THAT(Run({.block = {128}},
                  [] {
                    tw::emu::AccumulatorState state;
                    TouchSum(state);
                    UseSum(state);
                  }),
              Faults(FaultKind::kRegisters, "no wgmma.fence stands between an access of the accumulator and it"));
}

TEST_F(GenericTest, LoopsWithoutAccessesEnd) {
  EXPECT_THAT(Run({.budget = 100000},
                  [] {
                    for (;;) TurnOfLoop();
                  }),
              Faults(FaultKind::kBudget, "has not ended after 100000 instructions"));
}

TEST_F(GenericTest, KernelsEndWhereTheySaySo) {
  const LaunchResult result = Run({.block = {2}}, [&] {
    if (threadIdx.x == 0) {
      ReportHere(FaultKind::kTrap, "assert", "n > 0 does not hold");
      EndKernel();
    }
    __syncthreads();
  });
  EXPECT_THAT(result, Faults(FaultKind::kTrap, "n > 0 does not hold"));
  EXPECT_EQ(result.faults.size(), 1u);  // no deadlock of the other thread
  EXPECT_FALSE(result.finished);
}

}  // namespace
}  // namespace tilewright::emulator
