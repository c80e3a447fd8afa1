#include "ir/shared_memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace tilewright {
namespace {

bool Overlaps(int64_t stride, int64_t extent, int64_t inner_stride, int64_t inner_extent) {
  const auto number = [](int64_t value) { return Const(DataType::Int(64), value); };
  BufferNode::Fields fields;
  fields.name = "A";
  fields.dtype = DataType::Float(32);
  fields.shape = {number(extent), number(inner_extent)};
  fields.strides = {number(stride), number(inner_stride)};
  return MayOverlapItself(Buffer(std::move(fields)));
}

TEST(SharedMemory, BuffersOverlapThemselvesWhereAStrideIsShort) {
  EXPECT_FALSE(Overlaps(8, 4, 1, 8));
  EXPECT_FALSE(Overlaps(-8, 4, 1, 8));
  EXPECT_TRUE(Overlaps(7, 4, 1, 8));
  EXPECT_FALSE(Overlaps(0, 1, 1, 8));
}

// Distances that 64 bits do not hold.
TEST(SharedMemory, BuffersOfBoundlessStridesMayOverlap) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max(), kLeast = std::numeric_limits<int64_t>::min();
  EXPECT_TRUE(Overlaps(kLeast, 2, 1, 8));
  EXPECT_TRUE(Overlaps(kMost, 3, 1, 8));
  EXPECT_TRUE(Overlaps(kMost - 7, 2, 1, 9));
}

}  // namespace
}  // namespace tilewright
