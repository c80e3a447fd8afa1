#include "autoschedule/cost/cpu/window_tile_time.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

// B[h, w, c] += A[h + r, w + s, c] over windows of 3 x 3: iterators h, w, c, r, s.
WindowReduction Pooling(int64_t size, int64_t channels) {
  const auto buffer = [&](int64_t side) {
    return Buffer({.name = "X",
                   .dtype = DataType::Float(32),
                   .shape = {Const(DataType::Int(64), side), Const(DataType::Int(64), side),
                             Const(DataType::Int(64), channels)}});
  };
  const int64_t in = (size + 2) * channels;
  return {.accesses = {{.buffer = buffer(size),
                        .store = true,
                        .strides = {size * channels, channels, 1, 0, 0},
                        .steps = {{1, 0, 0, 0, 0}, {0, 1, 0, 0, 0}, {0, 0, 1, 0, 0}}},
                       {.buffer = buffer(size + 2),
                        .strides = {in, channels, 1, in, channels},
                        .steps = {{1, 0, 0, 1, 0}, {0, 1, 0, 0, 1}, {0, 0, 1, 0, 0}}}},
          .extents = {size, size, channels, 3, 3},
          .reduce = {3, 4},
          .row = 0,
          .column = 1,
          .vector = 2,
          .lanes = 16};
}

double Cycles(const WindowTile& tile, int64_t size, int64_t channels, const char* target) {
  const WindowReduction reduction = Pooling(size, channels);
  return WindowTileTime(reduction, *NamedTarget(target)).Cycles(tile);
}

TEST(WindowTileTime, TilesUseWhatWindowsShare) {
  EXPECT_LT(Cycles({2, 4, 1}, 16, 32, "x86-znver4"), Cycles({1, 1, 1}, 16, 32, "x86-znver4") / 2);
}

TEST(WindowTileTime, TilesThatAreCutAtEdgesTakeLonger) {
  EXPECT_GT(Cycles({1, 5, 1}, 16, 32, "x86-znver4"), Cycles({1, 4, 1}, 16, 32, "x86-znver4"));
}

// Runs begin more often in narrow tiles, and each beginning takes longer where the data is far.
TEST(WindowTileTime, NarrowTilesOfFarDataTakeLonger) {
  const auto narrow = [](int64_t size) {
    return Cycles({2, 2, 1}, size, 64, "x86-sapphirerapids") / Cycles({2, 2, 4}, size, 64, "x86-sapphirerapids");
  };
  EXPECT_GT(narrow(112), narrow(8));
}

TEST(WindowTileTime, PickedLanesTakeRegisters) {
  WindowReduction picked = Pooling(16, 32);
  const Target target = *NamedTarget("x86-znver4");
  const auto registers = [&](int64_t columns) {
    return WindowTileTime(picked, target).PickedRegisters({1, columns, 1});
  };
  EXPECT_EQ(registers(4), 0);
  picked.picked = {1};
  EXPECT_GT(registers(8), registers(4));
}

}  // namespace
}  // namespace tilewright
