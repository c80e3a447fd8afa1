#include "codegen/cuda/emulator/numbers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

#include "codegen/cuda/emulator/multiply.h"

namespace tilewright::emulator {
namespace {

using tw::emu::Type;

// `count` elements of `bits`.
template <class T>
std::vector<float> Floats(Type type, const std::vector<T>& bits) {
  std::vector<float> floats(bits.size());
  ToFloats(type, bits.data(), floats.data(), bits.size());
  return floats;
}

TEST(Numbers, ElementsHaveTheBytesOfTheirTypes) {
  EXPECT_EQ(BytesOf(Type::kF16), 2);
  EXPECT_EQ(BytesOf(Type::kBf16), 2);
  for (const Type type : {Type::kE4m3, Type::kE5m2, Type::kS8, Type::kU8}) EXPECT_EQ(BytesOf(type), 1);
  for (const Type type : {Type::kF32, Type::kTf32, Type::kS32}) EXPECT_EQ(BytesOf(type), 4);
}

TEST(Numbers, OperandsAreExactAsFloats) {
  const std::vector<uint16_t> halves = {0x3c00, 0xc000, 0x0001, 0x7bff, 0x8000, 0x7c00};
  EXPECT_EQ(Floats(Type::kF16, halves),
            (std::vector<float>{1, -2, std::ldexp(1.0f, -24), 65504, -0.0f, std::numeric_limits<float>::infinity()}));
  EXPECT_EQ(Floats(Type::kBf16, std::vector<uint16_t>{0x3f80, 0xc040}), (std::vector<float>{1, -3}));
  EXPECT_EQ(Floats(Type::kE4m3, std::vector<uint8_t>{0x38, 0x7e, 0x01}),
            (std::vector<float>{1, 448, std::ldexp(1.0f, -9)}));
  EXPECT_EQ(Floats(Type::kE5m2, std::vector<uint8_t>{0x3c, 0x7b, 0xbc}), (std::vector<float>{1, 57344, -1}));
  EXPECT_EQ(Floats(Type::kS8, std::vector<uint8_t>{0x80, 0xff}), (std::vector<float>{-128, -1}));
  EXPECT_EQ(Floats(Type::kU8, std::vector<uint8_t>{0x80, 0xff}), (std::vector<float>{128, 255}));
  EXPECT_EQ(Floats(Type::kS32, std::vector<int32_t>{-7}), (std::vector<float>{-7}));
  EXPECT_EQ(Floats(Type::kF32, std::vector<float>{0.1f}), (std::vector<float>{0.1f}));
}

// Hardware reads the upper 19 bits of a tf32 operand; it does not round.
TEST(Numbers, Tf32IsCutOff) {
  EXPECT_EQ(Floats(Type::kTf32, std::vector<uint32_t>{0x3f801fff, 0x3f802000}),
            (std::vector<float>{1, 1 + std::ldexp(1.0f, -10)}));
  EXPECT_EQ(tw::emu::RoundToTf32(std::nextafter(1 + std::ldexp(1.0f, -11), 2.0f)), 1 + std::ldexp(1.0f, -10));
}

// Both versions of the code, and what is left of a vector.
TEST(Numbers, AnyCountOfHalves) {
  for (size_t count = 0; count < 40; ++count) {
    std::vector<float> expected;
    std::vector<uint16_t> halves;
    for (size_t i = 0; i < count; ++i) {
      expected.push_back(static_cast<float>(i) * 0.25f - 3);
      halves.push_back(tw::emu::ToF16(expected.back()));
    }
    EXPECT_EQ(Floats(Type::kF16, halves), expected) << count;
  }
}

TEST(Numbers, NarrowFloatsRoundToEvenAndSaturate) {
  EXPECT_EQ(tw::emu::FromBf16(tw::emu::ToBf16(1 + std::ldexp(1.0f, -8))), 1);
  EXPECT_EQ(tw::emu::FromBf16(tw::emu::ToBf16(1 + 3 * std::ldexp(1.0f, -8))), 1 + std::ldexp(1.0f, -6));
  EXPECT_TRUE(std::isnan(tw::emu::FromBf16(tw::emu::ToBf16(std::numeric_limits<float>::signaling_NaN()))));
  EXPECT_EQ(tw::emu::FromE4m3(tw::emu::ToE4m3(1e9f)), 448);
  EXPECT_EQ(tw::emu::FromE5m2(tw::emu::ToE5m2(-1e9f)), -57344);
  EXPECT_TRUE(std::isnan(tw::emu::FromE4m3(tw::emu::ToE4m3(std::nanf("")))));
}

TEST(Multiply, AddsToTheSums) {
  for (const auto& [m, n, k] : {std::tuple(4, 8, 1), std::tuple(8, 16, 3), std::tuple(16, 8, 16)}) {
    std::vector<float> a, b, c(static_cast<size_t>(m * n), 5), expected = c;
    for (int i = 0; i < m * k; ++i) a.push_back(static_cast<float>(i % 7 - 3));
    for (int i = 0; i < k * n; ++i) b.push_back(static_cast<float>(i % 5 - 2));
    for (int i = 0; i < m * n * k; ++i) {
      const int row = i / (n * k), column = i / k % n, term = i % k;
      expected[static_cast<size_t>(row * n + column)] +=
          a[static_cast<size_t>(row * k + term)] * b[static_cast<size_t>(term * n + column)];
    }
    Multiply(a.data(), b.data(), c.data(), m, n, k);
    EXPECT_EQ(c, expected) << m << " " << n << " " << k;
  }
}

}  // namespace
}  // namespace tilewright::emulator
