// Matrix instructions of warps against the tables of the PTX manual, written out here element by element, and products
// in double precision.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "codegen/cuda/emulator/device/kernel.h"
#include "codegen/cuda/emulator/launch.h"
#include "codegen/cuda/emulator/testing/arrays.h"
#include "gtest/gtest.h"

namespace tilewright::emulator {
namespace {

using tw::emu::Type;

struct Place {
  int row, column;
};

// Element i of a lane's A (B, C) fragment, by the manual's case distinctions.
Place ManualA(int m, int k, int bits, int lane, int i) {
  const int group = lane / 4, thread = lane % 4;
  if (bits == 16 && k == 16) {
    return {i < 2 || (i >= 4 && i < 6) ? group : group + 8, thread * 2 + (i & 1) + (i < 4 ? 0 : 8)};
  }
  if (bits == 16) return {i < 2 ? group : group + 8, thread * 2 + (i & 1)};
  if (bits == 32 && k == 4) return {i == 0 ? group : group + 8, thread};
  if (bits == 32) return {i == 0 || i == 2 ? group : group + 8, i < 2 ? thread : thread + 4};
  if (m == 8) return {group, thread * 4 + (i & 3)};
  if (k == 16) return {i < 4 ? group : group + 8, thread * 4 + (i & 3)};
  return {i < 4 || (i >= 8 && i < 12) ? group : group + 8, thread * 4 + (i & 3) + (i < 8 ? 0 : 16)};
}
Place ManualB(int k, int bits, int lane, int i) {
  const int group = lane / 4, thread = lane % 4;
  if (bits == 16) return {thread * 2 + (i & 1) + (k == 16 && i >= 2 ? 8 : 0), group};
  if (bits == 32) return {i == 0 ? thread : thread + 4, group};
  return {thread * 4 + (i & 3) + (i < 4 ? 0 : 16), group};
}
Place ManualC(int m, int lane, int i) {
  const int group = lane / 4, thread = lane % 4;
  if (m == 8) return {group, thread * 2 + i};
  return {i < 2 ? group : group + 8, thread * 2 + (i & 1)};
}

// A value of a type and its bits.
std::pair<double, uint32_t> RandomValue(Type type, std::mt19937& random) {
  const float v = std::uniform_real_distribution<float>(-1, 1)(random);
  switch (type) {
    case Type::kF16:
      return {tw::to_float(tw::to_f16(v)), tw::to_f16(v).bits};
    case Type::kBf16:
      return {tw::to_float(tw::to_bf16(v)), tw::to_bf16(v).bits};
    case Type::kE4m3:
      return {tw::to_float(tw::to_e4m3(v)), tw::to_e4m3(v).bits};
    case Type::kE5m2:
      return {tw::to_float(tw::to_e5m2(v)), tw::to_e5m2(v).bits};
    case Type::kTf32: {
      const float truncated = tw::float_of(tw::bits_of(v) & 0xffffe000u);
      return {truncated, tw::bits_of(v)};  // hardware does not look at the lower bits
    }
    case Type::kS8: {
      const auto s = static_cast<int8_t>(random());
      return {s, static_cast<uint8_t>(s)};
    }
    case Type::kU8: {
      const auto u = static_cast<uint8_t>(random());
      return {u, u};
    }
    default:
      return {0, 0};
  }
}

int BitsOf(Type type) { return type == Type::kTf32 ? 32 : type == Type::kF16 || type == Type::kBf16 ? 16 : 8; }

struct MmaCase {
  const char* name;
  int m, n, k;
  Type d, a, b;
  int d_registers, a_registers, b_registers;
  void (*run)(void* d, const uint32_t* a, const uint32_t* b);
};
constexpr MmaCase kCases[] = {
#define TW_MMA(name, ptx, m, n, k, d, a, b, register_type, d_registers, a_registers, b_registers) \
  {#name,                                                                                         \
   m,                                                                                             \
   n,                                                                                             \
   k,                                                                                             \
   Type::d,                                                                                       \
   Type::a,                                                                                       \
   Type::b,                                                                                       \
   d_registers,                                                                                   \
   a_registers,                                                                                   \
   b_registers,                                                                                   \
   [](void* rd, const uint32_t* ra, const uint32_t* rb) { tw::mma_##name(static_cast<register_type*>(rd), ra, rb); }},
#include "codegen/cuda/emulator/device/mma.inc"
#undef TW_MMA
};

class MmaTest : public ::testing::TestWithParam<MmaCase> {};

TEST_P(MmaTest, IsAProduct) {
  const MmaCase& c = GetParam();
  std::mt19937 random(11);
  for (int repeat = 0; repeat < 3; ++repeat) {
    const int m = c.m, n = c.n, k = c.k, bits = BitsOf(c.a), per = 32 / bits;
    std::vector<double> a(static_cast<size_t>(m * k)), b(static_cast<size_t>(k * n)), d(static_cast<size_t>(m * n));
    uint32_t ra[32][4] = {}, rb[32][2] = {}, rd[32][4] = {};
    for (int lane = 0; lane < 32; ++lane) {
      for (int i = 0; i < c.a_registers * per; ++i) {
        const auto [value, raw] = RandomValue(c.a, random);
        const Place at = ManualA(m, k, bits, lane, i);
        a[static_cast<size_t>(at.row * k + at.column)] = value;
        ra[lane][i / per] |= raw << (i % per * bits);
      }
      for (int i = 0; i < c.b_registers * per; ++i) {
        const auto [value, raw] = RandomValue(c.b, random);
        const Place at = ManualB(k, bits, lane, i);
        b[static_cast<size_t>(at.row * n + at.column)] = value;
        rb[lane][i / per] |= raw << (i % per * bits);
      }
      for (int i = 0; i < m * n / 32; ++i) {
        const Place at = ManualC(m, lane, i);
        double& value = d[static_cast<size_t>(at.row * n + at.column)];
        if (c.d == Type::kS32) {
          rd[lane][i] = static_cast<uint32_t>(static_cast<int>(random() % 2000) - 1000);
          value = static_cast<int32_t>(rd[lane][i]);
        } else {
          const auto [v, raw] = RandomValue(Type::kF16, random);
          value = v;
          if (c.d == Type::kF16) rd[lane][i / 2] |= raw << (i % 2 * 16);
          if (c.d == Type::kF32) rd[lane][i] = tw::bits_of(static_cast<float>(v));
        }
      }
    }
    GlobalMemory memory;
    EXPECT_THAT(Launch({.block = {32}}, memory, [&] { c.run(rd[threadIdx.x], ra[threadIdx.x], rb[threadIdx.x]); }),
                RanWell());
    for (int lane = 0; lane < 32; ++lane) {
      for (int i = 0; i < m * n / 32; ++i) {
        const Place at = ManualC(m, lane, i);
        double expected = d[static_cast<size_t>(at.row * n + at.column)];
        for (int l = 0; l < k; ++l)
          expected += a[static_cast<size_t>(at.row * k + l)] * b[static_cast<size_t>(l * n + at.column)];
        const double got = c.d == Type::kS32 ? static_cast<int32_t>(rd[lane][i])
                           : c.d == Type::kF32
                               ? static_cast<double>(tw::float_of(rd[lane][i]))
                               : tw::to_float(tw::f16{static_cast<uint16_t>(rd[lane][i / 2] >> (i % 2 * 16))});
        const double tolerance = c.d == Type::kS32 ? 0 : c.d == Type::kF32 ? 1e-5 : 5e-3;
        ASSERT_NEAR(got, expected, tolerance) << c.name << " row " << at.row << " column " << at.column;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Every, MmaTest, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

// Rows of shared memory hold (row, column) as row * 256 + column.
class MatrixMoveTest : public ::testing::TestWithParam<std::tuple<int, bool>> {};

TEST_P(MatrixMoveTest, LoadsAndStores) {
  const int count = std::get<0>(GetParam());
  const bool transpose = std::get<1>(GetParam());
  uint32_t loaded[32][4] = {};
  Array<uint16_t> stored(8 * 4 * 8);
  GlobalMemory memory;
  memory.Add("stored", stored.data(), stored.bytes(), GlobalMemory::kOutput);
  const auto kernel = [&] {
    const int lane = static_cast<int>(threadIdx.x);
    const tw::Shared<uint16_t> in = tw::SharedAt<uint16_t>(0), out = tw::SharedAt<uint16_t>(4096);
    for (int i = lane; i < 32 * 24; i += 32) in[i] = static_cast<uint16_t>(i / 24 * 256 + i % 24);
    __syncwarp();
    // Matrix i is rows 8 i to 8 i + 7, columns 8 to 15; rows are 24 elements apart.
    const tw::Shared<uint16_t> row = in + lane * 24 + 8;
    uint32_t* r = loaded[lane];
    if (count == 1) transpose ? tw::ldmatrix_x1_trans(r, row) : tw::ldmatrix_x1(r, row);
    if (count == 2) transpose ? tw::ldmatrix_x2_trans(r, row) : tw::ldmatrix_x2(r, row);
    if (count == 4) transpose ? tw::ldmatrix_x4_trans(r, row) : tw::ldmatrix_x4(r, row);
    const tw::Shared<uint16_t> to = out + lane * 8;
    if (count == 1) transpose ? tw::stmatrix_x1_trans(to, r) : tw::stmatrix_x1(to, r);
    if (count == 2) transpose ? tw::stmatrix_x2_trans(to, r) : tw::stmatrix_x2(to, r);
    if (count == 4) transpose ? tw::stmatrix_x4_trans(to, r) : tw::stmatrix_x4(to, r);
    __syncwarp();
    for (int i = lane; i < count * 64; i += 32) tw::Global<uint16_t>(stored.data())[i] = out[i];
  };
  EXPECT_THAT(Launch({.block = {32}, .shared_bytes = 8192}, memory, kernel), RanWell());
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < count; ++i) {
      for (int h = 0; h < 2; ++h) {
        const int row = transpose ? lane % 4 * 2 + h : lane / 4, column = transpose ? lane / 4 : lane % 4 * 2 + h;
        EXPECT_EQ(loaded[lane][i] >> (16 * h) & 0xffff, static_cast<uint32_t>((i * 8 + row) * 256 + 8 + column));
      }
    }
  }
  for (int i = 0; i < count * 64; ++i) EXPECT_EQ(stored[static_cast<size_t>(i)], i / 8 * 256 + 8 + i % 8);
}

INSTANTIATE_TEST_SUITE_P(Every, MatrixMoveTest, ::testing::Combine(::testing::Values(1, 2, 4), ::testing::Bool()));

TEST(MatrixMove, Transposes) {
  uint32_t r[32];
  GlobalMemory memory;
  EXPECT_THAT(Launch({.block = {32}}, memory,
                     [&] {
                       const uint32_t lane = threadIdx.x, element = lane / 4 * 8 + lane % 4 * 2;
                       r[lane] = tw::movmatrix_trans(element | (element + 1) << 16);
                     }),
              RanWell());
  for (uint32_t lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(r[lane] & 0xffff, lane % 4 * 2 * 8 + lane / 4);
    EXPECT_EQ(r[lane] >> 16, (lane % 4 * 2 + 1) * 8 + lane / 4);
  }
}

TEST(MatrixMove, FaultsAreNamed) {
  const auto load = [](uint32_t block, int row_bytes, bool write) {
    GlobalMemory memory;
    return Launch({.block = {block}, .shared_bytes = 1024}, memory, [=] {
      const int lane = static_cast<int>(threadIdx.x) % 32;
      const tw::Shared<uint8_t> all = tw::SharedAt<uint8_t>(0);
      if (write) {
        for (int i = lane * 4; i < 1024; i += 128) tw::Store(all + i, 0u);
        __syncwarp();
      }
      uint32_t r[4];
      tw::ldmatrix_x4(r, all + lane * row_bytes);
    });
  };
  EXPECT_THAT(load(32, 16, true), RanWell());
  EXPECT_THAT(load(32, 8, true), Faults(FaultKind::kMisaligned, "an access of 16 bytes"));
  EXPECT_THAT(load(32, 48, true), Faults(FaultKind::kOutOfBounds, "ldmatrix"));
  EXPECT_THAT(load(32, 16, false), Faults(FaultKind::kUnwritten, "ldmatrix"));
  EXPECT_THAT(load(16, 16, true), Faults(FaultKind::kDivergence, "fewer than 32 lanes"));
  EXPECT_EQ(load(32, 16, true).counters.bank_conflicts, 0u);
}

TEST(MatrixMove, CountsConflictsOfRows) {
  const auto conflicts = [](int row_bytes) {
    GlobalMemory memory;
    return Launch({.block = {32}, .shared_bytes = 8192, .check = false}, memory,
                  [=] {
                    uint32_t r[4];
                    tw::ldmatrix_x4(r, tw::SharedAt<uint8_t>(0) + static_cast<int>(threadIdx.x) * row_bytes);
                  })
        .counters.bank_conflicts;
  };
  EXPECT_EQ(conflicts(16), 0u);
  EXPECT_EQ(conflicts(64), 4 * 3u);
  EXPECT_EQ(conflicts(80), 0u);
  EXPECT_EQ(conflicts(128), 4 * 7u);
}

// A wmma tile product through shared memory, by every shape and type.
template <int kM, int kN, int kK, class T, class S, tw::WmmaOrder kA, tw::WmmaOrder kB>
void TestWmma(uint64_t seed) {
  std::mt19937 random(static_cast<uint32_t>(seed));
  using Stored = std::conditional_t<std::is_same_v<T, tw::tf32>, float, T>;
  constexpr int kStrideA = (kA == tw::kRowMajor ? kK : kM) + 16, kStrideB = (kB == tw::kRowMajor ? kN : kK) + 16;
  constexpr int kLinesA = kA == tw::kRowMajor ? kM : kK, kLinesB = kB == tw::kRowMajor ? kK : kN;
  Array<Stored> a(kLinesA * kStrideA), b(kLinesB * kStrideB);
  Array<S> c(kM * kN);
  Fill(a, random);
  Fill(b, random);
  GlobalMemory memory;
  memory.Add("a", a.data(), a.bytes());
  memory.Add("b", b.data(), b.bytes());
  memory.Add("c", c.data(), c.bytes(), GlobalMemory::kOutput);
  const LaunchResult result = Launch({.block = {32}, .shared_bytes = 16384, .seed = seed}, memory, [&] {
    tw::WmmaA<kM, kN, kK, T> fa;
    tw::WmmaB<kM, kN, kK, T> fb;
    tw::WmmaSum<kM, kN, kK, S> fc;
    const tw::Shared<Stored> shared = tw::SharedAt<Stored>(0);
    const tw::Global<const Stored> ga = a.data(), gb = b.data();
    const int lane = static_cast<int>(threadIdx.x);
    for (int i = lane; i < kLinesA * kStrideA; i += 32) shared[i] = ga[i];
    __syncwarp();
    tw::wmma_fill(fc, S{});
    tw::wmma_load<kA>(fa, shared, kStrideA);
    tw::wmma_load<kB>(fb, gb, kStrideB);
    tw::wmma_multiply(fc, fa, fb, fc);
    tw::wmma_multiply(fc, fa, fb, fc);
    tw::wmma_store<tw::kRowMajor>(tw::Global<S>(c.data()), fc, kN);
  });
  EXPECT_THAT(result, RanWell());
  constexpr double kTolerance = std::is_same_v<S, tw::f16> ? 2e-2 : 1e-4;
  const auto truncated = [](float v) {
    return std::is_same_v<T, tw::tf32> ? tw::float_of(tw::bits_of(v) & 0xffffe000u) : v;
  };
  for (int m = 0; m < kM; ++m) {
    for (int n = 0; n < kN; ++n) {
      double expected = 0;
      for (int k = 0; k < kK; ++k) {
        const auto at_a = static_cast<size_t>(kA == tw::kRowMajor ? m * kStrideA + k : k * kStrideA + m);
        const auto at_b = static_cast<size_t>(kB == tw::kRowMajor ? k * kStrideB + n : n * kStrideB + k);
        expected += 2.0 * truncated(ToFloat(a[at_a])) * truncated(ToFloat(b[at_b]));
      }
      ASSERT_NEAR(ToFloat(c[static_cast<size_t>(m * kN + n)]), expected, kTolerance);
    }
  }
}

TEST(Wmma, IsAProduct) {
  for (const uint64_t seed : {0, 1, 2}) {
    TestWmma<16, 16, 16, tw::f16, float, tw::kRowMajor, tw::kRowMajor>(seed);
    TestWmma<16, 16, 16, tw::f16, tw::f16, tw::kColumnMajor, tw::kColumnMajor>(seed);
    TestWmma<8, 32, 16, tw::bf16, float, tw::kRowMajor, tw::kColumnMajor>(seed);
    TestWmma<32, 8, 16, tw::f16, float, tw::kColumnMajor, tw::kRowMajor>(seed);
    TestWmma<16, 16, 16, int8_t, int32_t, tw::kRowMajor, tw::kColumnMajor>(seed);
    TestWmma<8, 32, 16, uint8_t, int32_t, tw::kRowMajor, tw::kRowMajor>(seed);
    TestWmma<16, 16, 8, tw::tf32, float, tw::kRowMajor, tw::kRowMajor>(seed);
  }
}

TEST(Wmma, FaultsAreNamed) {
  GlobalMemory memory;
  const auto load = [&](uint32_t stride, int offset) {
    return Launch({.block = {32}, .shared_bytes = 1024}, memory, [=] {
      tw::WmmaA<16, 16, 16, tw::f16> a;
      tw::wmma_load<tw::kRowMajor>(a, tw::SharedAt<tw::f16>(0) + offset, stride);
    });
  };
  EXPECT_THAT(load(20, 0), Faults(FaultKind::kMisaligned, "not 20 elements"));
  EXPECT_THAT(load(16, 8), Faults(FaultKind::kMisaligned, "multiple of 32 bytes"));
  EXPECT_THAT(load(64, 0), Faults(FaultKind::kOutOfBounds, "wmma load"));
  EXPECT_THAT(load(16, 0), Faults(FaultKind::kUnwritten, "wmma load"));
}

TEST(Dp4a, HasTheSignsOfItsTypes) {
  const uint32_t a = 0x80ff7f01, b = 0xfe02ff03;
  const auto product = [&](auto ta, auto tb) {
    int sum = 5;
    for (int i = 0; i < 4; ++i) {
      sum += static_cast<decltype(ta)>(a >> (8 * i)) * static_cast<decltype(tb)>(b >> (8 * i));
    }
    return sum;
  };
  EXPECT_EQ((tw::dp4a<tw::s8, tw::s8>(a, b, 5)), product(int8_t{}, int8_t{}));
  EXPECT_EQ((tw::dp4a<tw::u8, tw::s8>(a, b, 5)), product(uint8_t{}, int8_t{}));
  EXPECT_EQ((tw::dp4a<tw::u8, tw::u8>(a, b, 5)), product(uint8_t{}, uint8_t{}));
}

}  // namespace
}  // namespace tilewright::emulator
