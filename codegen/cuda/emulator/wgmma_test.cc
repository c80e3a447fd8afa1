// wgmma: operands of random descriptors, placed by the definition of core matrices, and products in double precision.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "codegen/cuda/emulator/device/kernel.h"
#include "codegen/cuda/emulator/launch.h"
#include "codegen/cuda/emulator/testing/arrays.h"
#include "gtest/gtest.h"

namespace tilewright::emulator {
namespace {

// The offset of element (mn, k) of an operand, by tiles: an operand is a grid of core matrices of 8 rows of 16 bytes; a
// swizzled tile joins 2, 4 or 8 of them in rows of 32, 64 or 128 bytes whose chunks are exchanged by row.
struct Layout {
  int span;  // 0, 32, 64, 128
  bool along_mn;
  uint32_t start, leading, stride;  // bytes

  uint32_t ByteOf(int mn, int k, int size) const {
    const int per = 16 / size;  // elements of a row of a core matrix
    const int fast = along_mn ? mn : k, slow = along_mn ? k : mn;
    const int row = slow % 8, group = slow / 8, element = fast % per;
    if (span == 0) {
      // Rows of a core matrix lie 16 bytes apart. Neighbours along the contiguous direction and along the other one are
      // `leading` and `stride` apart, exchanged for operands along M or N.
      const uint32_t along = along_mn ? stride : leading, across = along_mn ? leading : stride;
      return start + static_cast<uint32_t>(fast / per) * along + static_cast<uint32_t>(group) * across +
             static_cast<uint32_t>(row * 16 + element * size);
    }
    const int chunks = span / 16, chunk = fast / per % chunks, tile = fast / per / chunks;
    // Eight rows of a tile are 8 * span bytes. 128 bytes of shared memory hold 128 / span rows; chunks of a row are
    // exchanged by the number of those 128 bytes within the pattern.
    const int line = row * span / 128;
    const uint32_t within = static_cast<uint32_t>(row * span + (chunk ^ (line % chunks)) * 16 + element * size);
    const uint32_t tiles = along_mn ? static_cast<uint32_t>(tile) * leading : 0;
    return start + tiles + static_cast<uint32_t>(group) * stride + within;
  }
  uint64_t Descriptor(uint32_t advance = 0) const {
    const int mode = span == 0 ? 0 : span == 128 ? 1 : span == 64 ? 2 : 3;
    return tw::wgmma_descriptor(tw::Shared<uint8_t>(1024 + start + advance), leading, stride,
                                static_cast<tw::Swizzle>(mode));
  }
};

// A layout of `mn` x `k` elements of a random kind, with room between its tiles.
Layout RandomLayout(std::mt19937& random, int size, bool along_mn, int mn, int k, uint32_t start) {
  Layout layout = {};
  layout.span = (int[]){0, 32, 64, 128}[random() % 4];
  layout.along_mn = along_mn;
  layout.start = start;
  const auto per = static_cast<uint32_t>(16 / size);
  const auto gap = static_cast<uint32_t>(random() % 2);
  if (layout.span == 0) {
    const uint32_t fast = static_cast<uint32_t>(along_mn ? mn : k) / per,
                   slow = static_cast<uint32_t>(along_mn ? k : mn) / 8;
    const uint32_t near = 128 * (1 + gap), far = near * (random() % 2 == 0 ? fast : slow) + 128 * gap;
    const bool fast_near = far >= near * fast;
    (along_mn ? layout.stride : layout.leading) = fast_near ? near : far;
    (along_mn ? layout.leading : layout.stride) = fast_near ? far : near;
    if (!fast_near && far < near * slow) (along_mn ? layout.stride : layout.leading) = near * slow;
    return layout;
  }
  const auto repeat = static_cast<uint32_t>(layout.span * 8);
  layout.stride = repeat * (1 + gap);
  layout.leading = along_mn ? layout.stride * static_cast<uint32_t>((k + 7) / 8) : 16;
  return layout;
}

template <class T>
struct ElementOf {
  using Type = T;
};
template <>
struct ElementOf<tw::tf32> {
  using Type = float;
};

template <class T>
double Value(typename ElementOf<T>::Type v) {
  if constexpr (std::is_same_v<T, tw::tf32>) return tw::float_of(tw::bits_of(v) & 0xffffe000u);
  return ToFloat(v);
}

// The element of the sums that register r (and half h) of a thread holds, as the manual's figure has it.
std::pair<int, int> SumPlace(int thread, int r, int h, bool halves) {
  const int warp = thread / 32, lane = thread % 32;
  const int pair = halves ? r : r / 2, within = halves ? h : r % 2;
  return {warp * 16 + lane / 4 + pair % 2 * 8, pair / 2 * 8 + lane % 4 * 2 + within};
}

struct Case {
  int n;
  bool along_a, along_b, a_registers;
};

template <int kN, class D, class A, class B, tw::Major kA, tw::Major kB>
void TestProduct(std::mt19937& random, bool a_registers) {
  using ElementA = typename ElementOf<A>::Type;
  using ElementB = typename ElementOf<B>::Type;
  constexpr int kSize = sizeof(A), kK = 32 / kSize;
  const Layout la = RandomLayout(random, kSize, kA == tw::kMajorMN, 64, kK, 0);
  const Layout lb = RandomLayout(random, kSize, kB == tw::kMajorMN, kN, kK, 65536);
  std::vector<ElementA> a(64 * kK);
  std::vector<ElementB> b(kN * kK);
  for (auto& v : a) v = RandomElement<ElementA>(random);
  for (auto& v : b) v = RandomElement<ElementB>(random);
  Array<uint8_t> image(216 * 1024);
  for (size_t i = 0; i < image.size(); ++i) image[i] = 0;
  for (int i = 0; i < 64; ++i) {
    for (int k = 0; k < kK; ++k)
      std::memcpy(&image[la.ByteOf(i, k, kSize)], &a[static_cast<size_t>(i * kK + k)], kSize);
  }
  for (int i = 0; i < kN; ++i) {
    for (int k = 0; k < kK; ++k)
      std::memcpy(&image[lb.ByteOf(i, k, kSize)], &b[static_cast<size_t>(i * kK + k)], kSize);
  }
  constexpr bool kHalves = std::is_same_v<D, tw::f16>;
  constexpr int kRegisters = kHalves ? kN / 4 : kN / 2;
  using Register = typename tw::emu::SumRegister<D>::Type;
  std::vector<Register> sums(128 * kRegisters);
  GlobalMemory memory;
  memory.Add("image", image.data(), image.bytes());
  const LaunchResult result =
      Launch({.block = {128}, .shared_bytes = 216 * 1024, .count_bank_conflicts = false}, memory, [&] {
        const tw::Shared<tw::u32x4> s = tw::SharedAt<tw::u32x4>(0);
        const tw::Global<const tw::u32x4> from = reinterpret_cast<const tw::u32x4*>(image.data());
        const int tid = static_cast<int>(threadIdx.x);
        for (int i = tid; i < 216 * 64; i += 128) tw::Store(s + i, tw::Load<tw::u32x4>(from + i));
        tw::fence_proxy_async_shared();
        __syncthreads();
        uint32_t ra[4] = {};
        if (a_registers) {
          constexpr int kPer = 4 / kSize;
          for (int r = 0; r < 4; ++r) {
            const int row = tid / 32 * 16 + tid % 32 / 4 + r % 2 * 8, column = (r / 2 * 4 + tid % 4) * kPer;
            std::memcpy(&ra[r], &a[static_cast<size_t>(row * kK + column)], 4);
          }
        }
        tw::Sums<kN, D> acc;
        tw::wgmma_fence();
        for (int times = 0; times < 2; ++times) {  // the second adds
          if (a_registers) {
            tw::wgmma_rs<kN, D, A, B, kB>(acc, ra, lb.Descriptor(), times);
          } else {
            tw::wgmma<kN, D, A, B, kA, kB>(acc, la.Descriptor(), lb.Descriptor(), times);
          }
        }
        tw::wgmma_commit();
        tw::wgmma_wait<0>();
        for (int r = 0; r < kRegisters; ++r) sums[static_cast<size_t>(tid * kRegisters + r)] = acc[r];
      });
  ASSERT_THAT(result, RanWell());
  for (int thread = 0; thread < 128; ++thread) {
    for (int r = 0; r < kRegisters; ++r) {
      for (int h = 0; h < (kHalves ? 2 : 1); ++h) {
        const auto [row, column] = SumPlace(thread, r, h, kHalves);
        double expected = 0;
        for (int k = 0; k < kK; ++k) {
          expected +=
              2 * Value<A>(a[static_cast<size_t>(row * kK + k)]) * Value<B>(b[static_cast<size_t>(column * kK + k)]);
        }
        const Register raw = sums[static_cast<size_t>(thread * kRegisters + r)];
        double got = static_cast<double>(raw);
        if constexpr (kHalves) got = tw::to_float(tw::f16{static_cast<uint16_t>(raw >> (16 * h))});
        constexpr double kTolerance = std::is_same_v<D, int32_t> ? 0 : kHalves ? 2e-2 : 1e-4;
        ASSERT_NEAR(got, expected, kTolerance)
            << "row " << row << " column " << column << " spans " << la.span << " " << lb.span;
      }
    }
  }
}

TEST(Wgmma, IsAProductOfOperandsOfEveryLayout) {
  using enum tw::Major;
  std::mt19937 random(3);
  for (int i = 0; i < 6; ++i) {
    TestProduct<64, float, tw::f16, tw::f16, kMajorK, kMajorK>(random, i % 2 == 0);
    TestProduct<128, float, tw::f16, tw::f16, kMajorK, kMajorMN>(random, i % 2 == 0);
    TestProduct<32, float, tw::bf16, tw::bf16, kMajorMN, kMajorK>(random, false);
    TestProduct<256, float, tw::bf16, tw::bf16, kMajorMN, kMajorMN>(random, false);
    TestProduct<48, tw::f16, tw::f16, tw::f16, kMajorK, kMajorMN>(random, i % 2 == 0);
    TestProduct<8, float, tw::tf32, tw::tf32, kMajorK, kMajorK>(random, i % 2 == 0);
    TestProduct<96, float, tw::e4m3, tw::e5m2, kMajorK, kMajorK>(random, i % 2 == 0);
    TestProduct<40, tw::f16, tw::e5m2, tw::e5m2, kMajorK, kMajorK>(random, false);
    TestProduct<64, int32_t, int8_t, int8_t, kMajorK, kMajorK>(random, i % 2 == 0);
    TestProduct<24, int32_t, uint8_t, int8_t, kMajorK, kMajorK>(random, false);
  }
}

struct Planted {
  bool fence = true, commit = true, wait = true, touch_early = false, proxy_fence = true, split = false,
       overwrite = false;
  uint32_t start = 0, stride = 1024;
  int leading_thread_offset = 0;
  bool release_early = false;
};

LaunchResult RunPlanted(const Planted& p) {
  GlobalMemory memory;
  return Launch({.block = {128}, .shared_bytes = 32768}, memory, [&] {
    const tw::Shared<tw::u32x4> s = tw::SharedAt<tw::u32x4>(0);
    const int tid = static_cast<int>(threadIdx.x);
    for (int i = tid; i < 1024; i += 128) tw::Store(s + i, tw::u32x4{0, 0, 0, 0});
    if (p.proxy_fence) tw::fence_proxy_async_shared();
    __syncthreads();
    const tw::Shared<tw::f16> a =
        tw::SharedAt<tw::f16>(p.start + static_cast<uint32_t>(p.leading_thread_offset * (tid / 64) * 16));
    const uint64_t da = tw::wgmma_descriptor(a, 16, p.stride, tw::kSwizzle128);
    const uint64_t db = tw::wgmma_descriptor(tw::SharedAt<tw::f16>(8192), 16, 1024, tw::kSwizzle128);
    tw::Acc<float, 32> acc;
    for (int i = 0; i < 32; ++i) acc[i] = 0;
    if (p.fence) tw::wgmma_fence();
    if (!p.split || tid < 96) tw::wgmma<64, float, tw::f16, tw::f16>(acc, da, db, 1);
    if (p.commit) tw::wgmma_commit();
    if (p.touch_early) acc[3] = acc[3] * 2;
    if (p.overwrite) tw::Store(s + tid, tw::u32x4{1, 2, 3, 4});
    if (p.wait) tw::wgmma_wait<0>();
    acc[0] = acc[0] + 1;
  });
}

TEST(Wgmma, FaultsAreNamed) {
  EXPECT_THAT(RunPlanted({}), RanWell());
  EXPECT_THAT(RunPlanted({.fence = false}), Faults(FaultKind::kRegisters, "no wgmma.fence stands between"));
  EXPECT_THAT(RunPlanted({.commit = false}), Faults(FaultKind::kRegisters, "touched before it is waited for"));
  EXPECT_THAT(RunPlanted({.commit = false}), Faults(FaultKind::kUnfinished, "wgmma that it has not waited for"));
  EXPECT_THAT(RunPlanted({.wait = false}), Faults(FaultKind::kRegisters, "touched before it is waited for"));
  EXPECT_THAT(RunPlanted({.touch_early = true}), Faults(FaultKind::kRegisters, "touched before it is waited for"));
  EXPECT_THAT(RunPlanted({.proxy_fence = false}), Faults(FaultKind::kUnfenced, "wgmma by"));
  EXPECT_THAT(RunPlanted({.split = true}), Faults(FaultKind::kDivergence, "wgmma"));
  EXPECT_THAT(RunPlanted({.overwrite = true}), Faults(FaultKind::kRace, "wgmma by wgmma of warpgroup 0"));
  EXPECT_THAT(RunPlanted({.start = 128}), Faults(FaultKind::kDescriptor, "repeats every 1024 bytes"));
  EXPECT_THAT(RunPlanted({.stride = 4096}), Faults(FaultKind::kUnwritten, "wgmma"));
  EXPECT_THAT(RunPlanted({.start = 30720}), Faults(FaultKind::kOutOfBounds, "wgmma"));
  EXPECT_THAT(RunPlanted({.leading_thread_offset = 2}), Faults(FaultKind::kDescriptor, "different descriptors"));
}

TEST(Wgmma, TypesAndShapesThatDoNotExist) {
  GlobalMemory memory;
  const auto run = [&](auto call) { return Launch({.block = {128}, .shared_bytes = 16384}, memory, call); };
  EXPECT_THAT(run([] {
                tw::Sums<12, float> acc;
                tw::wgmma<12, float, tw::f16, tw::f16>(acc, 0, 0, 0);
              }),
              Faults(FaultKind::kArguments, "does not have N = 12"));
  EXPECT_THAT(run([] {
                tw::Sums<40, int32_t> acc;
                tw::wgmma<40, int32_t, int8_t, int8_t>(acc, 0, 0, 0);
              }),
              Faults(FaultKind::kArguments, "does not have N = 40"));
  EXPECT_THAT(run([] {
                tw::Sums<64, float> acc;
                tw::wgmma<64, float, tw::e4m3, tw::e4m3, tw::kMajorK, tw::kMajorMN>(acc, 0, 0, 0);
              }),
              Faults(FaultKind::kArguments, "only operands of 16 bits"));
  EXPECT_THAT(run([] {
                tw::Sums<64, float> acc;
                tw::wgmma<64, float, tw::f16, tw::bf16>(acc, 0, 0, 0);
              }),
              Faults(FaultKind::kArguments, "does not have these types"));
}

}  // namespace
}  // namespace tilewright::emulator
