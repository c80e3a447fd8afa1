#include "autoschedule/cost/gpu/product_time.h"

#include <gtest/gtest.h>

#include "target/clusters.h"

namespace tilewright {
namespace {

ProductShape Cube(int64_t side) { return {.m = side, .n = side, .k = side, .factor = DataType::Float(16)}; }

TEST(ProductTime, LargeTilesForLargeProductsAndSmallOnesForSmall) {
  const Target target = *NamedTarget("cuda-sm90a");
  const BlockTile large = {128, 256, 64}, small = {64, 64, 64};
  EXPECT_LT(ProductSeconds(Cube(4096), large, target), ProductSeconds(Cube(4096), small, target));
  EXPECT_LT(ProductSeconds(Cube(512), small, target), ProductSeconds(Cube(512), large, target));
}

TEST(ProductTime, PartsOfTheDepthPayForFewTilesAlone) {
  const Target target = *NamedTarget("cuda-sm90a");
  const BlockTile whole = {64, 64, 64}, divided = {64, 64, 64, 8};
  const ProductShape deep = {.m = 64, .n = 512, .k = 8192, .factor = DataType::Float(16)};
  EXPECT_LT(ProductSeconds(deep, divided, target), ProductSeconds(deep, whole, target));
  EXPECT_GT(ProductSeconds(Cube(4096), divided, target), ProductSeconds(Cube(4096), whole, target));
}

// Blocks of a cluster read half of one operand from L2; those of four leave some cores idle.
TEST(ProductTime, ClustersReadLess) {
  const Target target = *NamedTarget("cuda-sm90a"), without = *NamedTarget("cuda-sm80");
  const BlockTile alone = {64, 128, 64}, rows = {64, 128, 64, 1, 2, 1}, columns = {64, 128, 64, 1, 1, 2},
                  four = {64, 128, 64, 1, 4, 1};
  const auto seconds = [&](const BlockTile& tile) { return ProductSeconds(Cube(1024), tile, target); };
  EXPECT_LT(seconds(rows), seconds(alone));
  EXPECT_LT(seconds(rows), seconds(columns));
  EXPECT_LT(seconds(rows), seconds(four));
  EXPECT_EQ(MaxClusterBlocks(without), 1);
  EXPECT_EQ(MaxClusterBlocks(target), 8);
}

// Results of 16 bits cost as much as those of 32 where lanes store half sectors, and less through shared memory.
TEST(ProductTime, StoresOfHalfSectors) {
  const Target target = *NamedTarget("cuda-sm90a");
  const auto seconds = [&](int output_bytes, bool staged) {
    const ProductShape flat = {
        .m = 128, .n = 128, .k = 64, .factor = DataType::Float(16), .output_bytes = output_bytes, .staged = staged};
    return ProductSeconds(flat, {128, 128, 64}, target);
  };
  EXPECT_EQ(seconds(2, false), seconds(4, false));
  EXPECT_LT(seconds(2, true), seconds(2, false));
  EXPECT_GT(seconds(4, true), seconds(4, false));
}

// Blocks that stay load the next tile while they store: most where tiles are flat, nothing where there is one for each
// core.
TEST(ProductTime, TurnsHideStores) {
  const Target target = *NamedTarget("cuda-sm90a");
  const auto gain = [&](const ProductShape& shape, int64_t turns) {
    BlockTile tile = {128, 128, 64};
    const double alone = ProductSeconds(shape, tile, target);
    tile.turns = turns;
    return alone / ProductSeconds(shape, tile, target);
  };
  const ProductShape flat = {
      .m = 12544, .n = 512, .k = 128, .factor = DataType::Float(16), .output_bytes = 2, .staged = true};
  EXPECT_GT(gain(flat, 3), 1.2);
  EXPECT_GT(gain(Cube(8192), 32), 1.0);
  EXPECT_LT(gain(Cube(8192), 32), 1.2);
  EXPECT_LT(gain(Cube(1024), 2), 1.0);
}

// Nothing is faster than the peak of the unit and the memory allow.
TEST(ProductTime, IsBoundedByRates) {
  const Target target = *NamedTarget("cuda-sm90a");
  const double peak = 2048.0 * target.cores * target.clock_ghz * 1e9;
  EXPECT_GE(ProductSeconds(Cube(8192), {128, 256, 64}, target), 8192.0 * 8192 * 8192 / peak);
  const ProductShape skinny = {.m = 16, .n = 16384, .k = 4096, .factor = DataType::Float(16)};
  EXPECT_GE(ProductSeconds(skinny, {64, 64, 64}, target), 16384 * 4096 * 2 / (target.memory_gbs * 1e9));
}

}  // namespace
}  // namespace tilewright
