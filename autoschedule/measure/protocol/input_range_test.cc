#include "autoschedule/measure/protocol/input_range.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace tilewright {
namespace {

std::vector<int64_t> Filled(DataType type, const InputRange& range, uint64_t seed, int64_t elements = 1000) {
  const NDArray array(type, {elements});
  FillRange(array, range, seed);
  std::vector<int64_t> values;
  for (int64_t i = 0; i < elements; ++i) values.push_back(array.GetInt(i));
  return values;
}

TEST(FillRange, ReachesBothEnds) {
  const std::vector<int64_t> values = Filled(DataType::Int(32), {.low = -2, .high = 3}, 1);
  EXPECT_EQ(std::set<int64_t>(values.begin(), values.end()), (std::set<int64_t>{-2, -1, 0, 1, 2, 3}));
  EXPECT_EQ(Filled(DataType::UInt(8), {.low = 255, .high = 255}, 1), std::vector<int64_t>(1000, 255));
}

TEST(FillRange, DependsOnTheSeedAlone) {
  const InputRange range{.low = 0, .high = 1'000'000};
  EXPECT_EQ(Filled(DataType::Int(64), range, 7), Filled(DataType::Int(64), range, 7));
  EXPECT_NE(Filled(DataType::Int(64), range, 7), Filled(DataType::Int(64), range, 8));
}

// Row pointers: the first row begins at the least value, the last one ends at the greatest.
TEST(FillRange, SortedFromEndToEnd) {
  const std::vector<int64_t> rows = Filled(DataType::Int(32), {.low = 0, .high = 64, .sorted = true}, 3, 9);
  EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end()));
  EXPECT_EQ(rows.front(), 0);
  EXPECT_EQ(rows.back(), 64);
  EXPECT_TRUE(Filled(DataType::Int(32), {.low = 0, .high = 64, .sorted = true}, 3, 0).empty());
}

}  // namespace
}  // namespace tilewright
