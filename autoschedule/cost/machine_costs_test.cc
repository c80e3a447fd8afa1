#include "autoschedule/cost/machine_costs.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

Target Machine() {
  Target target = *NamedTarget("x86-znver4");
  target.cores = 2;
  return target;
}

TEST(MachineCosts, ForksFollowTheTarget) {
  Target target = Machine();
  target.clock_ghz = 2;
  target.mutable_cpu_part().fork_join_seconds = 1e-6;
  EXPECT_DOUBLE_EQ(ForkJoinCycles(target), 2000);
  int64_t least = 0;
  while (!IsWorthThreads(least, target)) ++least;
  EXPECT_GT(least, 0);
  EXPECT_FALSE(IsWorthThreads(least, target, true));
  const double stage = StageCycles(target);
  target.mutable_cpu_part().fork_join_seconds *= 3;
  EXPECT_FALSE(IsWorthThreads(2 * least, target));
  EXPECT_DOUBLE_EQ(StageCycles(target), 3 * stage);
}

TEST(MachineCosts, CopiesTakeTheirStageAndAreSharedByCores) {
  Target target = Machine();
  const double two = CyclesToCopy(1 << 20, false, target) - StageCycles(target);
  EXPECT_GT(CyclesToCopy(1 << 20, true, target) - StageCycles(target), two);
  target.cores = 4;
  EXPECT_DOUBLE_EQ(CyclesToCopy(1 << 20, false, target) - StageCycles(target), two / 2);
}

TEST(MachineCosts, BytesMoveFromTheLevelThatHoldsThem) {
  const Target target = Machine();
  const auto& levels = target.levels;
  const auto of_level = [&](size_t level) { return 1024 / levels[level].bytes_per_cycle / target.cores; };
  EXPECT_DOUBLE_EQ(CyclesToMove(1024, 1024, 0, target), of_level(0));
  EXPECT_DOUBLE_EQ(CyclesToMove(1024, 1024, 1, target), of_level(1));
  EXPECT_DOUBLE_EQ(CyclesToMove(1024, static_cast<double>(target.Near().bytes * target.cores + 1), 0, target),
                   of_level(2));
  EXPECT_EQ(CyclesFromMemory(1024, target), 0);
  const double much = 1e10;
  EXPECT_NEAR(CyclesFromMemory(much, target) / target.clock_ghz, much / target.memory_gbs, 1);
}

}  // namespace
}  // namespace tilewright
