#include "graph/executor/kernel_effort.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tilewright::graph {
namespace {

using testing::Each;
using testing::ElementsAre;

constexpr CodeEffort kFull = CodeEffort::kFull, kSmallShare = CodeEffort::kSmallShare;

TEST(KernelEffort, TheShortestKernelsTakeLittleOfTheRun) {
  EXPECT_THAT(EffortsOf({0.5, 0.001, 0.3, 0.002, 0.197}), ElementsAre(kFull, kSmallShare, kFull, kSmallShare, kFull));
}

TEST(KernelEffort, TogetherTheyTakeASmallShare) {
  std::vector<double> seconds(100, 1e-6);
  EXPECT_THAT(std::vector(EffortsOf({1.0})), Each(kFull));
  seconds.push_back(1e-4);  // of a run of 200 us
  const std::vector<CodeEffort> efforts = EffortsOf(seconds);
  const auto few = std::ranges::count(efforts, kSmallShare);
  EXPECT_GT(few, 0);
  EXPECT_LE(few, 20);
  EXPECT_EQ(efforts.back(), kFull);
  seconds.back() = 1;  // of a run of 1.0001 s
  EXPECT_EQ(std::ranges::count(EffortsOf(seconds), kSmallShare), 100);
}

TEST(KernelEffort, IsFullWhereTheTimeIsNotKnown) {
  EXPECT_THAT(EffortsOf({0, 1.0, 1e-6, 0}), ElementsAre(kFull, kFull, kSmallShare, kFull));
  EXPECT_THAT(EffortsOf({0, 0}), Each(kFull));
}

}  // namespace
}  // namespace tilewright::graph
