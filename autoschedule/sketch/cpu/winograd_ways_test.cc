#include "autoschedule/sketch/cpu/winograd_ways.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "autoschedule/program/block_loops.h"
#include "ir/ops/conv.h"

namespace tilewright {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;

WinogradWays WaysOf(const ops::ConvShape& shape) {
  const Target target = *NamedTarget("x86-znver4");
  Schedule sch{Module(ops::Conv(shape))};
  const BlockRv block = *sch.GetBlock("conv2d_nhwc");
  const Contraction contraction = *MatchContraction(RealizeOf(sch, block));
  const DataType f32 = DataType::Float(32);
  return FindWinogradWays(sch, block, contraction, *FindTileInstruction(target, f32, f32, f32), target);
}

std::vector<int64_t> OutputsOf(const ops::ConvShape& shape) {
  std::vector<int64_t> outputs;
  for (const WinogradWay& way : WaysOf(shape).ways) outputs.push_back(way.Outputs());
  EXPECT_TRUE(std::ranges::is_sorted(outputs));
  return outputs;
}

ops::ConvShape Shape(int64_t extent, int64_t channels, const ops::Window& window) {
  return {.spatial = {static_cast<int>(extent), static_cast<int>(extent)},
          .in_channels = channels,
          .out_channels = 64,
          .windows = ops::Same(window, 2)};
}

TEST(WinogradWays, AreTilesAlongOneWindowOrTwo) {
  EXPECT_THAT(OutputsOf(Shape(56, 64, {3, 1, 1})), AllOf(Contains(2), Contains(4), Contains(6), Contains(44)));
  // Eight products at most: four outputs of windows of five.
  EXPECT_THAT(OutputsOf(Shape(28, 64, {5, 1, 2})), AllOf(Contains(4), Contains(44), Not(Contains(6))));
  for (const int64_t outputs : OutputsOf(Shape(28, 64, {.kernel = 3, .padding = 2, .dilation = 2}))) {
    EXPECT_LT(outputs, 10);
  }
}

TEST(WinogradWays, CountProductsOfWholeTiles) {
  const TiledWindow window = {.extent = 14, .taps = 3, .dilation = 1, .outputs = 4};
  EXPECT_EQ(window.Products(), 6);
  EXPECT_DOUBLE_EQ(window.ProductsPerOutput(), 4 * 6 / 14.0);
  const TiledWindow dilated = {.extent = 14, .taps = 3, .dilation = 2, .outputs = 4};
  EXPECT_DOUBLE_EQ(dilated.ProductsPerOutput(), 2 * 2 * 6 / 14.0);
}

TEST(WinogradWays, TakeLargerTilesWhereTheyPay) {
  const WinogradWays found = WaysOf(Shape(56, 64, {3, 1, 1}));
  const auto cycles = [&](int64_t outputs) {
    return std::ranges::find(found.ways, outputs, &WinogradWay::Outputs)->cycles;
  };
  EXPECT_LT(cycles(4), cycles(2));
  EXPECT_LT(cycles(44), cycles(4));
  EXPECT_LT(cycles(44), 0.5 * found.direct_cycles);
}

// The kernel of 4x4 outputs takes 38 MB, of which L3 holds 32; memory is waited for where there is little to compute.
TEST(WinogradWays, TakeTilesWhoseKernelsCachesHold) {
  const auto fastest = [](int64_t extent) {
    ops::ConvShape shape = Shape(extent, 512, {3, 1, 1});
    shape.out_channels = 512;
    return std::ranges::min(WaysOf(shape).ways, {}, &WinogradWay::cycles).Outputs();
  };
  EXPECT_THAT(fastest(7), AnyOf(4, 24, 42));
  EXPECT_EQ(fastest(28), 44);
}

TEST(WinogradWays, AreNoneWhereErrorsWouldShow) {
  // Sums of 27 products; of 144, for which tiles of two and four are small enough.
  EXPECT_THAT(OutputsOf(Shape(56, 3, {3, 1, 1})), IsEmpty());
  EXPECT_THAT(OutputsOf(Shape(56, 16, {3, 1, 1})), AllOf(Contains(4), Not(Contains(6)), Not(Contains(44))));
  // One row of three is inside of the image.
  EXPECT_THAT(OutputsOf(Shape(56, 64, {3, 1, 2})), IsEmpty());
  EXPECT_THAT(OutputsOf(Shape(56, 64, {1, 1, 0})), IsEmpty());
  EXPECT_THAT(OutputsOf(Shape(56, 64, {3, 2, 1})), IsEmpty());
}

}  // namespace
}  // namespace tilewright
