// Accesses to memory: what is out of bounds, misaligned, unwritten or not ordered is named.
#include <cstdint>

#include "codegen/cuda/emulator/device/kernel.h"
#include "codegen/cuda/emulator/launch.h"
#include "codegen/cuda/emulator/testing/arrays.h"
#include "gtest/gtest.h"

namespace tilewright::emulator {
namespace {

class AccessesTest : public SmallInAndOutTest {};

TEST_F(AccessesTest, ReadsOfUnwrittenMemory) {
  const LaunchResult result = Run({.block = {32}}, [&] { out_[threadIdx.x] = tw::SharedAt<int>(64)[threadIdx.x]; });
  EXPECT_THAT(result, Faults(FaultKind::kUnwritten, "load by thread 0 of block (0, 0, 0) at shared byte 64"));
  EXPECT_THAT(Run({}, [&] { (void)static_cast<int>(tw::Global<int>(out_.data())[7]); }),
              Faults(FaultKind::kUnwritten, "out byte 28"));
}

TEST_F(AccessesTest, AccessesOutOfBounds) {
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

TEST_F(AccessesTest, MisalignedAccesses) {
  EXPECT_THAT(Run({}, [] { tw::Store(tw::SharedAt<int>(4), tw::u32x2{1, 2}); }),
              Faults(FaultKind::kMisaligned, "shared byte 4"));
  EXPECT_THAT(Run({}, [&] { (void)tw::Load<tw::u32x4>(tw::Global<const int>(in_.data()) + 1); }),
              Faults(FaultKind::kMisaligned, "in"));
}

TEST_F(AccessesTest, NarrowAccessesHaveHistoriesOfTheirOwn) {
  const auto kernel = [&](int distance) {
    const tw::Shared<uint8_t> bytes = tw::SharedAt<uint8_t>(0);
    const int i = static_cast<int>(threadIdx.x);
    bytes[i] = static_cast<uint8_t>(i);
    if (i + distance < 32) out_[i] = bytes[i + distance];
  };
  EXPECT_THAT(Run({.block = {32}}, [&] { kernel(0); }), RanWell());
  EXPECT_THAT(Run({.block = {32}, .seed = 5}, [&] { kernel(1); }), Faults(FaultKind::kRace, "shared byte"));
}

TEST_F(AccessesTest, AtomicsAddAndAreNoRaces) {
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

TEST_F(AccessesTest, FencesOrderBlocksThroughAtomics) {
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

}  // namespace
}  // namespace tilewright::emulator
