#include "autoschedule/program/block_loops.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

TEST(BusyPart, CountsTheLastRound) {
  EXPECT_EQ(BusyPart(8, 2), 1);
  EXPECT_EQ(BusyPart(7, 2), 0.875);
  EXPECT_EQ(BusyPart(1, 4), 0.25);
  EXPECT_EQ(BusyPart(5, 1), 1);
}

TEST(KeepsCoresBusy, AsksForMostOfTheTime) {
  EXPECT_TRUE(KeepsCoresBusy(3, 2));
  EXPECT_FALSE(KeepsCoresBusy(1, 2));
  EXPECT_FALSE(KeepsCoresBusyThroughout(9, 2));
  EXPECT_TRUE(KeepsCoresBusyThroughout(10, 2));
}

TEST(ParallelLoops, AreTheFewestThatKeepCoresBusy) {
  EXPECT_EQ(ParallelLoops({}, 2), 0u);
  EXPECT_EQ(ParallelLoops({4, 3}, 2), 1u);
  EXPECT_EQ(ParallelLoops({1, 7, 4}, 2), 3u);
  EXPECT_EQ(ParallelLoops({101, 2}, 2), 1u);  // a hundredth is not worth a loop
}

}  // namespace
}  // namespace tilewright
