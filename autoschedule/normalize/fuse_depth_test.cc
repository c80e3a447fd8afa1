#include "autoschedule/normalize/fuse_depth.h"

#include <gtest/gtest.h>

#include <optional>

#include "autoschedule/program/block_loops.h"
#include "ir/ops/conv.h"

namespace tilewright {
namespace {

// The last extent of the sums of a 7x7 convolution after FuseDepth; 0 where nothing is preferred to be fused.
int64_t Fused(int64_t channels, int group) {
  Schedule sch{Module(ops::Conv(
      {.spatial = {16, 16}, .in_channels = channels, .out_channels = 16, .windows = ops::Same({7, 2, 3}, 2)}))};
  const BlockRv block = *sch.GetBlock("conv2d_nhwc");
  const size_t before = RealizeOf(sch, block).block->iter_vars.size();
  const std::optional<FusibleDepth> depth = FindFusibleDepth(RealizeOf(sch, block), group, *NamedTarget("x86-znver4"));
  const bool fused = depth && depth->pays && FuseDepth(sch, block, *depth);
  const std::vector<IterVar>& iterators = RealizeOf(sch, block).block->iter_vars;
  EXPECT_EQ(iterators.size(), fused ? before - 1 : before);
  return fused ? *ExtentOf(iterators.back()) : 0;
}

TEST(FuseDepth, SavesThePaddingOfFewChannels) {
  EXPECT_EQ(Fused(3, 4), 21);
  EXPECT_EQ(Fused(1, 2), 7);
  EXPECT_EQ(Fused(24, 32), 168);
}

TEST(FuseDepth, LeavesWhatIsHardlyPadded) {
  EXPECT_EQ(Fused(4, 4), 0);
  EXPECT_EQ(Fused(31, 4), 0);
}

// Little padding is saved with 31 channels, none with 4.
TEST(FuseDepth, IsPossibleWhereItSavesAny) {
  const auto possible = [](int64_t channels) {
    const Schedule sch{Module(ops::Conv(
        {.spatial = {16, 16}, .in_channels = channels, .out_channels = 16, .windows = ops::Same({7, 2, 3}, 2)}))};
    Schedule asked = sch;
    return FindFusibleDepth(RealizeOf(asked, *asked.GetBlock("conv2d_nhwc")), 4, *NamedTarget("x86-znver4"))
        .has_value();
  };
  EXPECT_TRUE(possible(31));
  EXPECT_FALSE(possible(4));
}

}  // namespace
}  // namespace tilewright
