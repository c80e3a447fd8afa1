#include "base/forked_list.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace tilewright {
namespace {

std::vector<int> UpTo(int n) {
  std::vector<int> numbers(static_cast<size_t>(n));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

TEST(ForkedList, HoldsWhatWasAppended) {
  ForkedList<int> list;
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(list.ToVector(), std::vector<int>());
  for (int i = 0; i < 1000; ++i) {
    list.push_back(i);
    EXPECT_EQ(list.back(), i);
  }
  EXPECT_EQ(list.size(), 1000u);
  EXPECT_EQ(list.ToVector(), UpTo(1000));
  EXPECT_EQ(list[777], 777);
  EXPECT_EQ(ForkedList<int>(UpTo(300)).ToVector(), UpTo(300));
}

TEST(ForkedList, ForksGrowApart) {
  // Sizes around the ends of chunks.
  for (const int size : {0, 1, 127, 128, 129, 256, 300}) {
    const ForkedList<int> list(UpTo(size));
    ForkedList<int> a = list, b = list;
    for (int i = 0; i < 200; ++i) {
      a.push_back(size + i);
      b.push_back(-i);
    }
    EXPECT_EQ(list.ToVector(), UpTo(size));
    EXPECT_EQ(a.ToVector(), UpTo(size + 200));
    EXPECT_EQ(b[static_cast<size_t>(size) + 7], -7);
    a = list;  // an attempt that failed
    a.push_back(5);
    EXPECT_EQ(a.size(), list.size() + 1);
    EXPECT_EQ(a.back(), 5);
  }
}

TEST(ForkedList, SetChangesOneListAlone) {
  const ForkedList<std::string> list(std::vector<std::string>(200, "x"));
  ForkedList<std::string> fork = list;
  fork.Set(3, "y");
  EXPECT_EQ(list[3], "x");
  EXPECT_EQ(fork[3], "y");
  EXPECT_EQ(fork[199], "x");
}

TEST(ForkedList, MovesLeaveAListToBeAssigned) {
  ForkedList<int> list(UpTo(200)), fork = list;
  fork.push_back(200);
  list = std::move(fork);
  EXPECT_EQ(list.ToVector(), UpTo(201));
}

// A fork that grows copies no element before its last chunk.
TEST(ForkedList, ForksCopyNoWholeLists) {
  struct Counted {
    explicit Counted(int* all_copies) : copies(all_copies) {}
    Counted(const Counted& other) : copies(other.copies) { ++*copies; }
    Counted(Counted&&) = default;
    Counted& operator=(const Counted&) = default;
    Counted& operator=(Counted&&) = default;
    int* copies;
  };
  int copies = 0;
  ForkedList<Counted> list;
  for (int i = 0; i < 10'000; ++i) list.push_back(Counted(&copies));
  EXPECT_EQ(copies, 0);
  ForkedList<Counted> fork = list;
  EXPECT_EQ(copies, 0);
  fork.push_back(Counted(&copies));
  EXPECT_LE(copies, 128);
}

}  // namespace
}  // namespace tilewright
