// Which grouped products are joined, and that no lane is loaded by itself.
#include "autoschedule/normalize/join_groups.h"

#include <gtest/gtest.h>

#include "autoschedule/normalize/split_iterators.h"
#include "autoschedule/program/block_loops.h"
#include "autoschedule/sketch/auto_schedule.h"
#include "codegen/lower/pipeline.h"
#include "ir/functor.h"
#include "ir/ops/conv.h"

namespace tilewright {
namespace {

Function Grouped(int64_t in_channels, int64_t out_channels, int64_t groups) {
  return ops::Conv({.spatial = {9, 8},
                    .in_channels = in_channels,
                    .out_channels = out_channels,
                    .windows = ops::Same({3, 1, 1}, 2),
                    .groups = groups});
}

bool Joins(const Function& op, const char* target) {
  Schedule sch{Module(op)};
  SplitIterators(sch, "main");
  const BlockRv product = *sch.GetBlock("conv2d_nhwc");
  const size_t split = RealizeOf(sch, product).block->iter_vars.size();
  const Outcome<std::monostate> joined = JoinGroups(sch, product, *NamedTarget(target));
  EXPECT_EQ(RealizeOf(sch, product).block->iter_vars.size(), joined.ok() ? split - 1 : split);
  if (!joined.ok()) EXPECT_EQ(joined.refusal().primitive, "join_groups");
  return joined.ok();
}

TEST(JoinGroups, FillsVectors) {
  EXPECT_TRUE(Joins(Grouped(32, 32, 8), "x86-znver4"));
  EXPECT_TRUE(Joins(Grouped(32, 32, 4), "x86-znver4"));
  EXPECT_TRUE(Joins(Grouped(16, 32, 8), "x86-znver4"));  // 2 to 4 channels
  EXPECT_TRUE(Joins(Grouped(32, 32, 8), "x86-haswell"));
  EXPECT_FALSE(Joins(Grouped(32, 32, 4), "x86-haswell"));  // one group fills a vector
  EXPECT_FALSE(Joins(Grouped(64, 64, 4), "x86-znver4"));
}

TEST(JoinGroups, LeavesWhatIsNoWholeVectors) {
  EXPECT_FALSE(Joins(Grouped(24, 24, 6), "x86-znver4"));   // vectors end within an image's row
  EXPECT_FALSE(Joins(Grouped(48, 48, 16), "x86-znver4"));  // 3 channels
  EXPECT_FALSE(Joins(Grouped(64, 32, 8), "x86-znver4"));   // rows of a group are longer than its columns
  EXPECT_FALSE(Joins(Grouped(32, 32, 1), "x86-znver4"));
}

// Loads of a lowered program whose lanes have addresses of their own.
int Gathers(const Function& function) {
  int gathers = 0;
  PreOrderExprs(function->body, [&](const Expr& e) {
    const auto* load = dyn_cast<LoadNode>(e);
    gathers += load != nullptr && load->indices[0].dtype().lanes() > 1 && !isa<RampNode>(load->indices[0]) &&
                       !isa<BroadcastNode>(load->indices[0])
                   ? 1
                   : 0;
    return true;
  });
  return gathers;
}

TEST(JoinGroups, PicksLanesFromVectors) {
  for (const int64_t groups : {8, 4}) {
    const Target target = *NamedTarget("x86-znver4");
    IntrinRegistry intrins = IntrinRegistry::Builtin();
    const AutoScheduled scheduled = AutoSchedule(Module(Grouped(32, 32, groups)), target, &intrins);
    const absl::StatusOr<Module> lowered = Lower(scheduled.schedule.module(), target);
    ASSERT_TRUE(lowered.ok()) << lowered.status();
    EXPECT_EQ(Gathers(lowered->Find("main")), 0) << groups;
  }
}

}  // namespace
}  // namespace tilewright
