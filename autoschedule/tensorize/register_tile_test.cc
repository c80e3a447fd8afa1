#include "autoschedule/tensorize/register_tile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/math.h"
#include "target/amx_registers.h"

namespace tilewright {
namespace {

RegisterTile Choose(const Target& target, int rows, int columns) {
  const TileInstruction instruction{.lanes = target.lanes(32),
                                    .registers = target.cpu_part().vector_registers,
                                    .per_cycle = static_cast<double>(target.FmaPerCycle())};
  return BestTile(RegisterTiles(instruction, rows, columns, rows));
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
        EXPECT_LE(tile.rows * tile.vectors + tile.vectors + 1, target.cpu_part().vector_registers);
        EXPECT_GT(tile.efficiency, 0);
        EXPECT_LE(tile.efficiency, 1.0);
      }
    }
  }
}

TEST(RegisterTile, LeavesARegisterToConstants) {
  for (const char* name : {"x86-haswell", "x86-znver4", "arm-neoverse-n1"}) {
    const Target target = *NamedTarget(name);
    const DataType f32 = DataType::Float(32);
    const TileInstruction fma = *FindTileInstruction(target, f32, f32, f32);
    const std::vector<RegisterTile> all = RegisterTiles(fma, 128, 2048, 128);
    const std::vector<RegisterTile> beside = TilesBesideConstants(fma, all);
    EXPECT_EQ(beside.size() < all.size(), fma.registers == 16) << name;
    for (const RegisterTile& tile : beside) {
      EXPECT_LT(tile.rows * tile.vectors + fma.OtherRegisters(tile.rows, tile.vectors), fma.registers) << name;
    }
    // As good as those with all registers.
    EXPECT_GT(BestTile(beside).efficiency, 0.9 * BestTile(all).efficiency) << name;
    // The only tile stays.
    EXPECT_EQ(TilesBesideConstants(TileInstruction{.lanes = 8, .registers = 3}, {{.rows = 1, .vectors = 1}}).size(), 1);
  }
}

TEST(RegisterTile, AvoidsPadding) {
  const Target target = *NamedTarget("x86-znver5");
  EXPECT_EQ(Choose(target, 7, 512).rows, 7);
  EXPECT_EQ(Choose(target, 1024, 16).vectors, 1);
  EXPECT_EQ(Choose(target, 96, 48).vectors, 3);
}

// Rows that are padding are left out of the last tile, so that it costs little to have one.
TEST(RegisterTile, LastTileMayBeLower) {
  const Target target = *NamedTarget("x86-znver5");
  const RegisterTile tile = Choose(target, 28, 64);
  EXPECT_EQ(tile.rows, 6);
  EXPECT_EQ(tile.vectors, 4);
  // A single tile is better than one with a small rest.
  EXPECT_EQ(Choose(target, 13, 384).rows, 13);
}

// Rows that are read by the register take registers, and fewer loads.
TEST(RegisterTile, LeavesRegistersForRowsThatFillThem) {
  const DataType s8 = DataType::Int(8);
  const TileInstruction dot = *FindTileInstruction(*NamedTarget("arm-neoverse-n1"), s8, s8, DataType::Int(32));
  EXPECT_EQ(dot.LineDepth(), 16);
  for (int rows : {56, 128, 512}) {
    const RegisterTile tile = BestTile(RegisterTiles(dot, rows, 512, rows, {.whole_lines = true}));
    EXPECT_TRUE(dot.HoldsLines(tile.rows, tile.vectors)) << tile.rows << "x" << tile.vectors;
    EXPECT_LT(tile.loads, BestTile(RegisterTiles(dot, rows, 512, rows)).loads);
  }
  const TileInstruction vnni =
      *FindTileInstruction(*NamedTarget("x86-znver4"), DataType::UInt(8), s8, DataType::Int(32));
  EXPECT_EQ(vnni.LineDepth(), 1);
  EXPECT_FALSE(vnni.HoldsLines(1, 1));
}

// Bringing two rows together takes a cycle of a unit that multiplies: few rows of many columns lose less.
TEST(RegisterTile, MatrixProductsJoinFewRows) {
  const DataType s8 = DataType::Int(8);
  for (const TileInstruction& matrix :
       FindTileInstructions(*NamedTarget("arm-neoverse-v1"), s8, s8, DataType::Int(32))) {
    if (matrix.rows() == 1) continue;
    const RegisterTile tile = BestTile(RegisterTiles(matrix, 512, 768, 512));
    EXPECT_GT(tile.vectors * matrix.rows(), 3 * tile.rows);
    EXPECT_LE(tile.rows / matrix.rows() * tile.vectors + matrix.OtherRegisters(tile.rows, tile.vectors),
              matrix.registers);
    EXPECT_GE(tile.efficiency, 0.9);
  }
}

// What the next rows read too stays in registers meanwhile.
TEST(RegisterTile, RowsThatShareGroupsAreFew) {
  const DataType bf16 = DataType::BFloat16();
  const TileInstruction dot = *FindTileInstruction(*NamedTarget("x86-znver4"), bf16, bf16, DataType::Float(32));
  for (int columns : {16, 32, 64, 96}) {
    for (int apart : {1, 2, 4}) {
      for (int groups : {1, 3, 6}) {
        const RegisterTile tile = BestTile(RegisterTiles(dot, 112, columns, 112, {.shared = {apart, groups}}));
        EXPECT_LE(tile.rows * tile.vectors + dot.OtherRegisters(tile.rows, tile.vectors) +
                      std::max(tile.rows - apart, 0) * groups,
                  dot.registers)
            << columns << " " << apart << " " << groups;
      }
    }
  }
}

// Columns beyond L2 are loaded for each tile: tiles of more rows load them less often.
TEST(RegisterTile, FarColumnsAreReadForManyRows) {
  const TileInstruction fma{.lanes = 16, .registers = 32, .per_cycle = 2};
  const auto choose = [&](int64_t panel_bytes) {
    return BestTile(RegisterTiles(fma, 112, 64, 112, {.panel_bytes = panel_bytes, .near_bytes = {24 << 10, 1 << 20}}));
  };
  EXPECT_LE(choose(1 << 10).rows, 6);
  EXPECT_GE(choose(500 << 10).rows, 14);
}

// A panel that is larger than L1 is loaded again for each block of rows; a panel of few vectors fits.
TEST(RegisterTile, PanelsStayNear) {
  const TileInstruction fma{.lanes = 16, .registers = 32, .per_cycle = 2};
  const DataType s8 = DataType::Int(8);
  const TileInstruction amx = *FindTileInstruction(*NamedTarget("x86-sapphirerapids"), s8, s8, DataType::Int(32));
  for (const TileInstruction& instruction : {fma, amx}) {
    const auto choose = [&](int64_t panel_bytes) {
      return BestTile(
          RegisterTiles(instruction, 12, 192, 12, {.panel_bytes = panel_bytes, .near_bytes = {0, 1 << 20}}));
    };
    EXPECT_LE(choose(400 << 10).vectors, 2);
    EXPECT_GE(choose(100 << 10).vectors, !instruction.amx() ? 2 : 3);
  }
}

RegisterTile ChooseAmx(int rows, int columns) {
  const Target target = *NamedTarget("x86-sapphirerapids");
  const DataType s8 = DataType::Int(8);
  return BestTile(RegisterTiles(*FindTileInstruction(target, s8, s8, DataType::Int(32)), rows, columns, rows));
}

TEST(RegisterTile, OfAmxFitsIntoTheTileRegisters) {
  for (int rows : {1, 7, 13, 49, 56, 127, 128, 1000}) {
    for (int columns : {1, 3, 16, 31, 64, 100, 512}) {
      const RegisterTile tile = ChooseAmx(rows, columns);
      EXPECT_LT(tile.rows, rows + 6);
      EXPECT_TRUE(AmxTilesOf(tile.rows, tile.vectors * 16)) << rows << " " << columns;
    }
  }
  EXPECT_EQ(ChooseAmx(1024, 1024).rows, 32);
  EXPECT_EQ(ChooseAmx(1024, 1024).vectors, 2);
  EXPECT_EQ(56 % ChooseAmx(56, 64).rows, 0);
  EXPECT_EQ(ChooseAmx(17, 1024).rows, 18);
}

TEST(RegisterTile, OfAmxTakesSeveralShortRows) {
  for (const RegisterTile& tile : DividingAmxTiles(14, 14, 256)) {
    EXPECT_EQ(14 % tile.rows, 0);
    EXPECT_EQ(14 % std::max(tile.row_tiles, 1), 0);
  }
  const RegisterTile best = BestTile(DividingAmxTiles(14, 14, 256));
  EXPECT_EQ(best.row_tiles, 2);
  EXPECT_EQ(best.rows, 14);
}

// An instruction takes about as long for few rows as for eight.
TEST(RegisterTile, OfAmxLosesByFewRows) {
  const auto efficiency = [](int rows) {
    // Four tiles of so many rows each, which take no time to load.
    const std::vector<RegisterTile> tiles = DividingAmxTiles(4, rows, 16, {.row_load = 0, .column_load = 0});
    const auto is_it = [&](const RegisterTile& tile) { return tile.row_tiles == 4 && tile.rows == rows; };
    return std::ranges::find_if(tiles, is_it)->efficiency;
  };
  EXPECT_LT(efficiency(4), 0.65 * efficiency(8));
  EXPECT_GT(efficiency(16), 1.2 * efficiency(8));
}

// What is lost where cores share rows does not count where these are too few for all: then cores share columns.
TEST(RegisterTile, OfAmxMayTakeAllRowsAtOnce) {
  const TileOperands shared = {.cores = 2, .shared_rows = 0.5};
  const auto efficiency = [&](int64_t outer_rows, const TileOperands& operands) {
    const std::vector<RegisterTile> tiles = DividingAmxTiles(outer_rows, 16, 64, operands);
    const auto is_it = [](const RegisterTile& tile) { return tile.row_tiles == 2 && tile.rows == 16; };
    return std::ranges::find_if(tiles, is_it)->efficiency;
  };
  EXPECT_EQ(efficiency(2, shared), efficiency(2, {}));
  EXPECT_LT(efficiency(6, shared), efficiency(6, {}));
  EXPECT_EQ(efficiency(4, shared), efficiency(4, {}));
}

// Lines of rows that windows share are near: tiles take more of them, and read columns once.
TEST(RegisterTile, OfAmxIsHigherWhereRowsAreNear) {
  const TileInstruction amx = *FindTileInstruction(*NamedTarget("x86-sapphirerapids"), DataType::BFloat16(),
                                                   DataType::BFloat16(), DataType::Float(32));
  const RegisterTile far = BestTile(RegisterTiles(amx, 49, 512, 49));
  EXPECT_EQ(far.rows, 26);
  EXPECT_EQ(far.vectors, 2);
  const RegisterTile near = BestTile(RegisterTiles(amx, 49, 512, 49, {.row_load = 1.0 / 3}));
  EXPECT_EQ(near.rows, 52);
  EXPECT_EQ(near.vectors, 1);
}

// If cores divide M among them, a block of rows that two of them share is read from the other's caches.
TEST(RegisterTile, OfAmxDividesRowsEvenlyAmongCores) {
  const TileInstruction amx =
      *FindTileInstruction(*NamedTarget("x86-sapphirerapids"), DataType::UInt(8), DataType::Int(8), DataType::Int(32));
  const auto blocks = [&](int64_t rows, int cores) {
    const RegisterTile tile =
        BestTile(RegisterTiles(amx, rows, 96, rows, {.row_load = 2.0 / 3, .cores = cores, .shared_rows = 0.6}));
    return CeilDiv(rows, tile.rows);
  };
  EXPECT_EQ(blocks(221, 1), 7);
  EXPECT_EQ(blocks(221, 2) % 2, 0);
  EXPECT_EQ(blocks(289, 4) % 4, 0);
}

TEST(TileInstruction, DependsOnTheTypes) {
  const DataType bf16 = DataType::BFloat16(), u8 = DataType::UInt(8), s8 = DataType::Int(8);
  const DataType f32 = DataType::Float(32), s32 = DataType::Int(32);
  const Target zen4 = *NamedTarget("x86-znver4"), haswell = *NamedTarget("x86-haswell");
  EXPECT_EQ(FindTileInstruction(zen4, f32, f32, f32)->TileName(0, 12, 32, 1), "fma_f32_12x32x1_avx512");
  EXPECT_EQ(FindTileInstruction(haswell, f32, f32, f32)->TileName(0, 6, 16, 1), "fma_f32_6x16x1_avx2");
  EXPECT_EQ(FindTileInstruction(zen4, bf16, bf16, f32)->TileName(0, 12, 32, 2), "dot_bf16_12x32x2_avx512bf16");
  EXPECT_EQ(FindTileInstruction(zen4, u8, s8, s32)->TileName(0, 12, 32, 8), "dot_u8s8_12x32x8_avx512vnni");
  EXPECT_EQ(FindTileInstruction(zen4, u8, s8, s32)->per_cycle, 1);
  EXPECT_EQ(FindTileInstruction(zen4, s8, s8, s32)->TileName(0, 12, 32, 16), "dot_s8s8_12x32x16_avx512vnni");
  EXPECT_EQ(FindTileInstruction(zen4, s8, u8, s32)->TileName(0, 12, 32, 8), "dot_s8u8_12x32x8_avx512vnni");
  const Target amx = *NamedTarget("x86-sapphirerapids");
  EXPECT_EQ(FindTileInstruction(amx, bf16, bf16, f32)->TileName(0, 28, 32, 32), "amx_bf16_28x32x32");
  EXPECT_EQ(FindTileInstruction(amx, s8, u8, s32)->TileName(2, 14, 32, 64), "amx_s8u8_2x14x32x64");
  EXPECT_EQ(FindTileInstruction(amx, f32, f32, f32)->TileName(0, 14, 32, 1), "fma_f32_14x32x1_avx512");
  EXPECT_FALSE(FindTileInstruction(haswell, bf16, bf16, f32));
  const Target n1 = *NamedTarget("arm-neoverse-n1");
  EXPECT_EQ(FindTileInstruction(n1, f32, f32, f32)->TileName(0, 8, 12, 1), "fma_f32_8x12x1_neon");
  EXPECT_EQ(FindTileInstruction(n1, s8, s8, s32)->TileName(0, 8, 8, 16), "dot_s8s8_8x8x16_dotprod");
  EXPECT_FALSE(FindTileInstruction(n1, bf16, bf16, f32));
}

TEST(RegisterTile, RowsThatShareACacheSet) {
  const Target target = *NamedTarget("x86-znver4");  // 32 KiB in 8 ways: a way has 4 KiB
  EXPECT_EQ(MaxRowsWithoutConflicts(target, 4096), 6);
  EXPECT_EQ(MaxRowsWithoutConflicts(target, 8192), 6);
  EXPECT_EQ(MaxRowsWithoutConflicts(target, 2048), 12);
  EXPECT_EQ(MaxRowsWithoutConflicts(target, 4100), 6 * 64);
}

// Which of two tiles of AMX is better for a sum of two steps.
TEST(RegisterTile, ShallowSumsAreRatedByTheirStores) {
  const Target target = *NamedTarget("x86-sapphirerapids");
  const auto rate = [&](int rows, int vectors, const ShallowSum& sum, bool staged) {
    return RateShallow({.rows = rows, .vectors = vectors}, sum, staged, target);
  };
  const ShallowSum near = {384, 384, 2, false}, far = {384, 384, 2, true}, odd = {197, 197, 2, false};
  // Longer runs of stores, unless columns have to be read from the second cache level for them.
  EXPECT_GT(rate(16, 4, near, false), rate(32, 2, near, false));
  EXPECT_LT(rate(16, 4, far, false), rate(32, 2, far, false));
  // As many stores as wait at once: a tile that is copied besides is half as large.
  EXPECT_GT(rate(16, 2, odd, true), rate(30, 2, odd, true));
  EXPECT_GT(rate(16, 2, odd, true), rate(16, 4, odd, true));
  // Padding counts.
  EXPECT_GT(rate(16, 2, {32, 32, 2, false}, false), rate(16, 4, {32, 32, 2, false}, false));
}

}  // namespace
}  // namespace tilewright
