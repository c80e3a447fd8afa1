#include "autoschedule/normalize/fuse_depth.h"

#include <gtest/gtest.h>

#include "autoschedule/program/block_loops.h"
#include "ir/ops/conv.h"

namespace tilewright {
namespace {

// The last extent of the sums of a 7x7 convolution after FuseDepth; 0 where nothing was fused.
int64_t Fused(int64_t channels, int group) {
  Schedule sch{Module(ops::Conv(
      {.spatial = {16, 16}, .in_channels = channels, .out_channels = 16, .windows = ops::Same({7, 2, 3}, 2)}))};
  const BlockRv block = *sch.GetBlock("conv2d_nhwc");
  const size_t before = RealizeOf(sch, block).block->iter_vars.size();
  const bool fused = FuseDepth(sch, block, group);
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

}  // namespace
}  // namespace tilewright
