#include "base/list_change.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace tilewright {
namespace {

std::vector<size_t> Change(const std::string& before, const std::string& after) {
  const ListChange change = ListChange::Between(before, after, std::equal_to<>());
  return {change.begin, change.end_before, change.end_after};
}

TEST(ListChange, IsBetweenTheCommonBeginningAndEnd) {
  EXPECT_EQ(Change("abcde", "axyzde"), (std::vector<size_t>{1, 3, 4}));
  EXPECT_EQ(Change("abc", "abc"), (std::vector<size_t>{3, 3, 3}));
  EXPECT_EQ(Change("abc", "abxc"), (std::vector<size_t>{2, 2, 3}));
  EXPECT_EQ(Change("abc", "ac"), (std::vector<size_t>{1, 2, 1}));
  EXPECT_EQ(Change("", "ab"), (std::vector<size_t>{0, 0, 2}));
  EXPECT_EQ(Change("ab", ""), (std::vector<size_t>{0, 2, 0}));
}

// The beginning and the end do not share elements.
TEST(ListChange, OfListsOfOneElementAgainAndAgain) {
  EXPECT_EQ(Change("aaaa", "aa"), (std::vector<size_t>{2, 4, 2}));
  EXPECT_EQ(Change("aa", "aaaa"), (std::vector<size_t>{2, 2, 4}));
}

}  // namespace
}  // namespace tilewright
