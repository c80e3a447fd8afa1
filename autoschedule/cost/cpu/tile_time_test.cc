#include "autoschedule/cost/cpu/tile_time.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

constexpr VectorInstruction kFma = {.lanes = 16, .registers = 28, .per_cycle = 2};
constexpr TileOperands kNear = {.panel_bytes = 16 << 10, .near_bytes = {32 << 10, 1 << 20}};

double Efficiency(const TiledOutput& output, const TileSize& tile, const TileOperands& operands = kNear) {
  return RateVectorTile(kFma, output, tile, operands).efficiency;
}

TEST(TileTime, TallTilesHideTheLatencyOfSums) {
  EXPECT_LT(Efficiency({1, 512, 512}, {0, 2, 1}), 0.5);
  EXPECT_GT(Efficiency({1, 512, 512}, {0, 12, 2}), 0.9);
}

TEST(TileTime, CountsColumnsThatArePadding) {
  EXPECT_NEAR(Efficiency({1, 512, 48}, {0, 12, 2}), 0.75 * Efficiency({1, 512, 64}, {0, 12, 2}), 1e-9);
}

TEST(TileTime, PanelsFromAfarTakeLoads) {
  TileOperands far = kNear;
  far.panel_bytes = 4 << 20;
  EXPECT_LT(Efficiency({1, 512, 512}, {0, 6, 2}, far), Efficiency({1, 512, 512}, {0, 6, 2}));
  EXPECT_GT(RateVectorTile(kFma, {1, 512, 512}, {0, 6, 2}, far).loads,
            RateVectorTile(kFma, {1, 512, 512}, {0, 6, 2}, kNear).loads);
}

// Nothing reads columns again where there is one row: a narrow tile brings them no nearer.
TEST(TileTime, ColumnsOfOneRowComeFromWhereAllAre) {
  TileOperands operands = kNear;
  operands.panel_bytes = operands.near_bytes[0] / 2;
  EXPECT_GT(Efficiency({1, 1, 512}, {0, 1, 4}, operands), Efficiency({1, 1, 512}, {0, 1, 2}, operands));
}

// Groups that rows of windows share wait in registers.
TEST(TileTime, TilesOfTooManyRegistersSpill) {
  TileOperands shared = kNear;
  shared.shared = {.rows_apart = 2, .groups_apart = 3};
  EXPECT_LT(Efficiency({1, 512, 512}, {0, 12, 2}, shared), 0.7 * Efficiency({1, 512, 512}, {0, 12, 2}));
}

TEST(TileTime, TilesOfAmxAreRatedByRowsAndCores) {
  const auto efficiency = [](int rows, int cores) {
    const TileOperands operands = {.cores = cores, .shared_rows = 0.5, .near_bytes = {32 << 10, 1 << 20}};
    return RateAmxTile({1, 48, 64}, {0, rows, 2}, operands).efficiency;
  };
  EXPECT_GT(efficiency(16, 1), efficiency(4, 1));
  // Three blocks of rows among two cores.
  EXPECT_LT(efficiency(16, 2), efficiency(16, 1));
  EXPECT_DOUBLE_EQ(efficiency(24, 2), efficiency(24, 1));
}

TEST(TileTime, ShallowSumsTakeTheTimeOfTheirStores) {
  const Target target = *NamedTarget("x86-sapphirerapids");
  const auto rate = [&](int64_t steps, bool staged) {
    return RateShallowTile({0, 32, 2}, {.rows = 512, .columns = 512, .steps = steps, .far_columns = false}, staged,
                           target);
  };
  EXPECT_GT(rate(2, false), rate(1, false));
  EXPECT_LT(rate(1, true), rate(1, false) + 1e-12);
}

}  // namespace
}  // namespace tilewright
