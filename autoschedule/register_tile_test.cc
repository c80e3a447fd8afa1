#include "autoschedule/register_tile.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

RegisterTile Choose(const Target& target, int rows, int columns) {
  return BestTile(RegisterTiles(target, rows, columns, 32, rows));
}

TEST(RegisterTile, FitsIntoTheRegisters) {
  for (const char* name : {"x86-haswell", "x86-znver4", "x86-znver5", "arm-neoverse-n1"}) {
    const Target target = *NamedTarget(name);
    for (int rows : {1, 7, 13, 49, 56, 127, 128, 1000}) {
      for (int columns : {1, 3, 16, 31, 64, 100, 512}) {
        RegisterTile tile = Choose(target, rows, columns);
        EXPECT_GE(tile.rows, 1);
        EXPECT_GE(tile.vectors, 1);
        EXPECT_LE(tile.rows, rows);
        EXPECT_LE(tile.rows * tile.vectors + tile.vectors + 1, target.vector_registers);
        EXPECT_GT(tile.efficiency, 0);
        EXPECT_LE(tile.efficiency, 1.0);
      }
    }
  }
}

TEST(RegisterTile, AvoidsPadding) {
  const Target target = *NamedTarget("x86-znver5");
  EXPECT_EQ(128 % Choose(target, 128, 128).rows, 0);
  EXPECT_EQ(Choose(target, 7, 512).rows, 7);
  EXPECT_EQ(Choose(target, 1024, 16).vectors, 1);
  EXPECT_EQ(56 % Choose(target, 56, 64).rows, 0);
}

TEST(RegisterTile, RowsThatShareACacheSet) {
  const Target target = *NamedTarget("x86-znver4");  // 32 KiB in 8 ways: a way has 4 KiB
  EXPECT_EQ(MaxRowsWithoutConflicts(target, 4096), 6);
  EXPECT_EQ(MaxRowsWithoutConflicts(target, 8192), 6);
  EXPECT_EQ(MaxRowsWithoutConflicts(target, 2048), 12);
  EXPECT_EQ(MaxRowsWithoutConflicts(target, 4100), 6 * 64);
}

}  // namespace
}  // namespace tilewright
