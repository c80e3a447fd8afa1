// The position of loops over N, by what a cache holds.
#include "autoschedule/movement/cpu/near_operands.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

// 8 images of 16 tiles with 1 kB each, 10 tiles of columns.
constexpr int64_t kTile = 1024, kColumnTiles = 10;
size_t Place(int64_t column_bytes, int64_t near_bytes) {
  return PlaceOfColumns({8, 16}, kTile, column_bytes, kColumnTiles, near_bytes);
}

TEST(NearOperands, ColumnsThatStayNearAreReadForEachTileOfRows) { EXPECT_EQ(Place(64 << 10, 96 << 10), 2u); }

TEST(NearOperands, AnImageStaysNearWhereColumnsDoNot) {
  // Once for each image rather than rows once for each tile of columns: 8 * 100 kB against 10 * 128 kB.
  EXPECT_EQ(Place(100 << 10, 32 << 10), 1u);
  // 8 * 1000 kB are more.
  EXPECT_EQ(Place(1000 << 10, 32 << 10), 0u);
}

TEST(NearOperands, LoopsOfOneIterationChangeNothing) {
  EXPECT_EQ(PlaceOfColumns({1, 16, 1}, kTile, 64 << 10, kColumnTiles, 96 << 10), 2u);
}

}  // namespace
}  // namespace tilewright
