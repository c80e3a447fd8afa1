// Tiles of depthwise convolutions, for data that is near and far.
#include "autoschedule/tensorize/window_tile.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

// B[h, w, c] += A[h * stride + r, w * stride + s, c] * W[r, s, c]: iterators h, w, c, r, s.
WindowReduction Depthwise(int64_t size, int64_t channels, int64_t kernel, int64_t stride) {
  const int64_t in = (size - 1) * stride + kernel;
  const auto buffer = [](int64_t height, int64_t width, int64_t depth) {
    return Buffer(
        {.name = "X",
         .dtype = DataType::Float(32),
         .shape = {Expr(static_cast<int>(height)), Expr(static_cast<int>(width)), Expr(static_cast<int>(depth))}});
  };
  WindowReduction reduction{.extents = {size, size, channels, kernel, kernel},
                            .reduce = {3, 4},
                            .row = 0,
                            .column = 1,
                            .vector = 2,
                            .lanes = 16};
  reduction.accesses = {{.buffer = buffer(size, size, channels),
                         .store = true,
                         .strides = {size * channels, channels, 1, 0, 0},
                         .steps = {{1, 0, 0, 0, 0}, {0, 1, 0, 0, 0}, {0, 0, 1, 0, 0}}},
                        {.buffer = buffer(in, in, channels),
                         .strides = {stride * in * channels, stride * channels, 1, in * channels, channels},
                         .steps = {{stride, 0, 0, 1, 0}, {0, stride, 0, 0, 1}, {0, 0, 1, 0, 0}}},
                        {.buffer = buffer(kernel, kernel, channels),
                         .strides = {0, 0, 1, kernel * channels, channels},
                         .steps = {{0, 0, 0, 1, 0}, {0, 0, 0, 0, 1}, {0, 0, 1, 0, 0}}}};
  return reduction;
}

WindowTile Best(const char* target, const WindowReduction& reduction) {
  return ChooseWindowTiles(*NamedTarget(target), reduction).front();
}

TEST(WindowTile, IsLongAlongVectorsWhereDataIsFar) {
  const WindowReduction large = Depthwise(56, 64, 3, 2), small = Depthwise(7, 64, 3, 2);
  EXPECT_EQ(Best("x86-sapphirerapids", large).vectors, 4);
  EXPECT_LT(Best("x86-sapphirerapids", small).vectors, 4);
}

TEST(WindowTile, SharesWindowsWhereTheLastCacheIsFast) {
  const WindowTile tile = Best("x86-znver4", Depthwise(112, 32, 3, 1));
  EXPECT_EQ(tile.rows * tile.columns, 16);
  EXPECT_EQ(tile.vectors, 1);
}

// B[h, w, c] += A[h + r, w + s, c // 4 * 4 + k] * W[r, s, k, c]
TEST(WindowTile, LeavesRegistersToPickedLanes) {
  WindowReduction grouped = Depthwise(56, 128, 3, 1);
  grouped.extents.push_back(4);
  grouped.reduce.push_back(5);
  for (Access& access : grouped.accesses) {
    const bool rows = access.strides[0] != 0 && !access.store;
    access.strides.push_back(rows ? 1 : access.store ? 0 : 128);
    for (std::vector<int64_t>& steps : access.steps) steps.push_back(0);
    if (rows) access.steps[2] = {0, 0, 0, 0, 0, 1};
  }
  const WindowTile plain = Best("x86-sapphirerapids", grouped);
  grouped.picked = {1};
  const WindowTile picked = Best("x86-sapphirerapids", grouped);
  EXPECT_GT(plain.rows * plain.columns * plain.vectors, 8);
  EXPECT_LE(picked.rows * picked.columns * picked.vectors, 4);
}

TEST(WindowTile, DividesTheImageWhereThatCostsLittle) {
  WindowReduction padded = Depthwise(56, 144, 3, 1);
  padded.most_statements = 160;
  const WindowTile tile = Best("x86-sapphirerapids", padded);
  EXPECT_EQ(56 % tile.rows, 0);
  EXPECT_EQ(56 % tile.columns, 0);
}

}  // namespace
}  // namespace tilewright
