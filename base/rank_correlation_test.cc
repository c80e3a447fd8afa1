#include "base/rank_correlation.h"

#include <gtest/gtest.h>

#include <vector>

namespace tilewright {
namespace {

double Of(const std::vector<double>& a, const std::vector<double>& b) { return RankCorrelation(a, b); }

TEST(RankCorrelation, OnlyTheOrderCounts) {
  EXPECT_DOUBLE_EQ(Of({1, 2, 3, 4}, {10, 100, 1000, 1e9}), 1);
  EXPECT_DOUBLE_EQ(Of({1, 2, 3, 4}, {4, 3, 2, -7}), -1);
}

TEST(RankCorrelation, PartialOrder) {
  // Differences of ranks 0, 1, 1, 0: 1 - 6 * 2 / (4 * 15).
  EXPECT_DOUBLE_EQ(Of({1, 2, 3, 4}, {1, 3, 2, 4}), 0.8);
}

TEST(RankCorrelation, EqualNumbersShareARank) {
  EXPECT_DOUBLE_EQ(Of({1, 1, 2, 2}, {5, 5, 9, 9}), 1);
  EXPECT_NEAR(Of({1, 1, 2, 2}, {1, 2, 3, 4}), 0.894427, 1e-6);
  EXPECT_DOUBLE_EQ(Of({1, 1, 1}, {1, 2, 3}), 0);
  EXPECT_DOUBLE_EQ(Of({}, {}), 0);
}

}  // namespace
}  // namespace tilewright
