#include "ir/strided_array.h"

#include <gtest/gtest.h>

#include <cstddef>

namespace tilewright {
namespace {

using Strides = std::vector<int64_t>;

Buffer Declared(std::vector<Expr> strides) {
  BufferNode::Fields fields = Buffer("A", {Var("m"), Var("n")}, DataType::Float(32))->fields();
  fields.shape.resize(strides.size(), Var("k"));
  fields.strides = std::move(strides);
  return Buffer(std::move(fields));
}

TEST(StridesWithGaps, AreOnlyThoseThatNeedMemoryWithGaps) {
  EXPECT_EQ(StridesWithGaps(Declared({8, 1}), {5, 6}), (Strides{8, 1}));
  EXPECT_EQ(StridesWithGaps(Declared({1, 5}), {5, 6}), (Strides{1, 5}));   // columns first
  EXPECT_EQ(StridesWithGaps(Declared({6, 1}), {5, 6}), Strides());         // row-major
  EXPECT_EQ(StridesWithGaps(Declared({100, 1}), {1, 6}), Strides());       // of one row
  EXPECT_EQ(StridesWithGaps(Declared({0, 1}), {5, 6}), Strides());         // each row is the first one
  EXPECT_EQ(StridesWithGaps(Declared({5, 1}), {5, 6}), Strides());         // rows share an element
  EXPECT_EQ(StridesWithGaps(Declared({-8, 1}), {5, 6}), Strides());        // backwards
  EXPECT_EQ(StridesWithGaps(Declared({Var("s"), 1}), {5, 6}), Strides());  // of any value
  EXPECT_EQ(StridesWithGaps(Declared({2, 12, 40}), {3, 3, 2}), (Strides{2, 12, 40}));
  EXPECT_EQ(StridesWithGaps(Declared({int64_t{1} << 62, 1}), {9, 6}), Strides());  // beyond 64 bits
}

TEST(Spread, PutsEachElementWhereItsStridesSay) {
  const NDArray array(DataType::Float(32), {2, 3});
  for (int64_t i = 0; i < 6; ++i) array.Set(i, static_cast<double>(i + 1));
  const NDArray memory = Spread(array, {8, 2});
  ASSERT_EQ(memory.shape(), (Strides{13}));
  for (const auto& [place, value] : {std::pair<int64_t, double>{0, 1}, {2, 2}, {4, 3}, {8, 4}, {10, 5}, {12, 6}}) {
    EXPECT_EQ(memory.Get(place), value) << place;
  }
  EXPECT_EQ(static_cast<const std::byte*>(memory.data())[4], std::byte{0xa5});

  memory.Set(10, 50);
  memory.Set(1, 7);  // in a gap
  Collect(memory.data(), {8, 2}, array);
  for (const auto& [position, value] : {std::pair<int64_t, double>{0, 1}, {1, 2}, {3, 4}, {4, 50}, {5, 6}}) {
    EXPECT_EQ(array.Get(position), value) << position;
  }
}

TEST(Spread, WithoutElementsIsNoMemory) {
  const NDArray array(DataType::Int(8), {0, 3});
  EXPECT_EQ(Spread(array, {8, 1}).size(), 0);
}

}  // namespace
}  // namespace tilewright
