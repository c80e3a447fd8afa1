#include "codegen/cuda/emulator/reduction.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tilewright::emulator {
namespace {

using tw::emu::Reduction;

template <class T>
std::vector<T> Reduced(Reduction reduction, MapType type, const std::vector<T>& from, std::vector<T> to) {
  Reduce(reduction, type, reinterpret_cast<const std::byte*>(from.data()), reinterpret_cast<std::byte*>(to.data()),
         from.size() * sizeof(T));
  return to;
}

TEST(Reduction, NoneCopiesBytesOfAnyType) {
  EXPECT_EQ(Reduced<uint8_t>(Reduction::kNone, MapType::kU8, {1, 2, 3}, {7, 7, 7}), (std::vector<uint8_t>{1, 2, 3}));
}

TEST(Reduction, CombinesElements) {
  const std::vector<int32_t> a = {-5, 6}, b = {3, 12};
  const auto reduced = [&](Reduction reduction) { return Reduced(reduction, MapType::kS32, a, b); };
  EXPECT_EQ(reduced(Reduction::kAdd), (std::vector<int32_t>{-2, 18}));
  EXPECT_EQ(reduced(Reduction::kMin), (std::vector<int32_t>{-5, 6}));
  EXPECT_EQ(reduced(Reduction::kMax), (std::vector<int32_t>{3, 12}));
  EXPECT_EQ(reduced(Reduction::kAnd), (std::vector<int32_t>{-5 & 3, 6 & 12}));
  EXPECT_EQ(reduced(Reduction::kOr), (std::vector<int32_t>{-5 | 3, 6 | 12}));
  EXPECT_EQ(reduced(Reduction::kXor), (std::vector<int32_t>{-5 ^ 3, 6 ^ 12}));
}

// The same bits as signed and unsigned numbers have another order.
TEST(Reduction, SignsCount) {
  const std::vector<uint32_t> a = {0xffffffff}, b = {1};
  EXPECT_EQ(Reduced(Reduction::kMax, MapType::kU32, a, b), a);
  EXPECT_EQ(Reduced(Reduction::kMax, MapType::kS32, a, b), b);
  const std::vector<uint64_t> c = {~uint64_t{0}}, d = {1};
  EXPECT_EQ(Reduced(Reduction::kMin, MapType::kU64, c, d), d);
  EXPECT_EQ(Reduced(Reduction::kMin, MapType::kS64, c, d), c);
}

TEST(Reduction, SumsOfHalvesAreRounded) {
  const auto half = [](float value) { return std::vector<uint16_t>{tw::emu::ToF16(value)}; };
  const auto bfloat = [](float value) { return std::vector<uint16_t>{tw::emu::ToBf16(value)}; };
  EXPECT_EQ(Reduced(Reduction::kAdd, MapType::kF16, half(2048), half(1)), half(2048));
  EXPECT_EQ(Reduced(Reduction::kAdd, MapType::kF16, half(1.5f), half(2)), half(3.5f));
  EXPECT_EQ(Reduced(Reduction::kMax, MapType::kBf16, bfloat(-1), bfloat(-2)), bfloat(-1));
  EXPECT_EQ(Reduced<float>(Reduction::kAdd, MapType::kF32, {0.5f}, {1}), std::vector<float>{1.5f});
  EXPECT_EQ(Reduced<double>(Reduction::kMin, MapType::kF64, {0.5}, {1}), std::vector<double>{0.5});
}

TEST(Reduction, WhatHardwareDoesNotHaveChangesNothing) {
  EXPECT_EQ(Reduced<float>(Reduction::kAnd, MapType::kF32, {3}, {5}), std::vector<float>{5});
  EXPECT_EQ(Reduced<uint8_t>(Reduction::kAdd, MapType::kU8, {3}, {5}), std::vector<uint8_t>{5});
  EXPECT_EQ(Reduced<uint16_t>(Reduction::kAdd, MapType::kU16, {3}, {5}), std::vector<uint16_t>{5});
}

}  // namespace
}  // namespace tilewright::emulator
