#include "autoschedule/cost/cpu/winograd_time.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

// A convolution of an image of side x side with a kernel of 3 x 3, and tiles of 4 x 4 outputs.
WinogradSizes Sizes(double side, double channels) {
  const double image = side * side * channels, kernel = 9 * channels * channels;
  return {
      .products = side * side * kernel, .rows = image, .output = image, .kernel = kernel, .lanes = 16, .per_cycle = 2};
}
const WinogradWindow kFour = {.taps = 3, .products = 6, .products_per_output = 1.5};

TEST(WinogradTime, ProductsTakeTheTimeOfAllCores) {
  Target target = *NamedTarget("x86-znver4");
  target.cores = 1;
  const double one = DirectCycles(Sizes(56, 64), target);
  EXPECT_NEAR(one, Sizes(56, 64).products / (16 * 2), 0.2 * one);
  target.cores = 4;
  EXPECT_DOUBLE_EQ(DirectCycles(Sizes(56, 64), target), one / 4);
}

TEST(WinogradTime, PaysWithManyChannels) {
  const Target target = *NamedTarget("x86-znver4");
  const auto gain = [&](double channels) {
    const WinogradSizes sizes = Sizes(56, channels);
    return DirectCycles(sizes, target) / WinogradCycles(sizes, {kFour, kFour}, true, target);
  };
  EXPECT_LT(gain(4), 1);
  EXPECT_GT(gain(128), 1.5);
  // Four products in place of nine at best.
  EXPECT_LT(gain(128), 4);
}

TEST(WinogradTime, StagesThatRunApartTakeLonger) {
  const Target target = *NamedTarget("x86-znver4");
  const WinogradSizes sizes = Sizes(28, 64);
  EXPECT_LT(WinogradCycles(sizes, {kFour}, true, target), WinogradCycles(sizes, {kFour}, false, target));
  // The transformed kernel of many channels leaves no room for that.
  const WinogradSizes deep = Sizes(28, 1024);
  EXPECT_DOUBLE_EQ(WinogradCycles(deep, {kFour}, true, target), WinogradCycles(deep, {kFour}, false, target));
}

}  // namespace
}  // namespace tilewright
