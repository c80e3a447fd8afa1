#include "base/statistics.h"

#include "gtest/gtest.h"

namespace tilewright {
namespace {

TEST(StatisticsTest, MedianIsTheMiddleOrTheMeanOfTwo) {
  EXPECT_EQ(Median<double>({3, 1, 2}), 2);
  EXPECT_EQ(Median<double>({4, 1, 2, 3}), 2.5);
}

}  // namespace
}  // namespace tilewright
