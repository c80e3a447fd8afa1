#include "base/check.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

TEST(CheckTest, PassesWithoutEvaluatingTheMessage) {
  int evaluated = 0;
  TW_CHECK(true) << ++evaluated;
  EXPECT_EQ(evaluated, 0);
}

TEST(CheckTest, IsOneStatement) {
  bool reached_else = false;
  if (false)
    TW_CHECK(true) << "in the branch not taken";
  else
    reached_else = true;
  EXPECT_TRUE(reached_else);
}

TEST(CheckDeathTest, NamesPlaceConditionAndMessage) {
  const int extent = -1;
  EXPECT_DEATH(TW_CHECK(extent > 0) << "extent is " << extent,
               "base/check_test.cc:[0-9]+: check failed: extent > 0: extent is -1");
}

TEST(CheckDeathTest, NeedsNoMessage) { EXPECT_DEATH(TW_CHECK(1 + 1 == 3), "check failed: 1 \\+ 1 == 3\n"); }

enum class Sign { kNegative, kPositive };

int ValueOf(Sign sign) {
  switch (sign) {
    case Sign::kNegative:
      return -1;
    case Sign::kPositive:
      return 1;
  }
  TW_UNREACHABLE();
}

TEST(CheckTest, UnreachableEndsAFunctionThatReturnsAValue) { EXPECT_EQ(ValueOf(Sign::kNegative), -1); }

TEST(CheckDeathTest, UnreachableNamesThePlace) {
  EXPECT_DEATH(TW_UNREACHABLE(), "base/check_test.cc:[0-9]+: reached code that is marked unreachable");
}

}  // namespace
}  // namespace tilewright
