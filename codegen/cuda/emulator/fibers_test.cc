#include "codegen/cuda/emulator/fibers.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace tilewright::emulator {
namespace {

struct Ring {
  std::vector<Fiber> fibers = std::vector<Fiber>(5);
  Fiber main;
  std::vector<int> order;
  int rounds = 3;
};
struct Member {
  Ring* ring;
  int index;
};

void WalkRing(void* argument) {
  Member& self = *static_cast<Member*>(argument);
  Ring& ring = *self.ring;
  double sum = self.index;  // what lives in registers across switches
  for (int i = 0; i < ring.rounds; ++i) {
    sum += 0.5;
    ring.order.push_back(static_cast<int>(sum * 2) - self.index * 2 - i);
    const size_t next = static_cast<size_t>(self.index + 1);
    Fiber& to = next < ring.fibers.size() ? ring.fibers[next] : (i + 1 < ring.rounds ? ring.fibers[0] : ring.main);
    Fiber::Switch(ring.fibers[static_cast<size_t>(self.index)], to);
  }
}

TEST(Fiber, SwitchesInARing) {
  Stacks stacks;
  ASSERT_TRUE(stacks.Reserve(5, 32 << 10));
  Ring ring;
  std::vector<Member> members;
  for (int i = 0; i < 5; ++i) members.push_back({&ring, i});
  for (size_t i = 0; i < 5; ++i) ring.fibers[i].Prepare(stacks[i], &WalkRing, &members[i]);
  Fiber::Switch(ring.main, ring.fibers[0]);
  EXPECT_EQ(ring.order, std::vector<int>(15, 1));
}

TEST(Fiber, CanBeDroppedAndPreparedAgain) {
  Stacks stacks;
  ASSERT_TRUE(stacks.Reserve(1, 32 << 10));
  struct State {
    Fiber main, worker;
    int entered = 0;
  } state;
  for (int i = 0; i < 3; ++i) {
    state.worker.Prepare(
        stacks[0],
        [](void* argument) {
          State& s = *static_cast<State*>(argument);
          ++s.entered;
          Fiber::Switch(s.worker, s.main);
        },
        &state);
    Fiber::Switch(state.main, state.worker);
  }
  EXPECT_EQ(state.entered, 3);
}

TEST(Stacks, AreApartAlignedAndFound) {
  Stacks stacks;
  ASSERT_TRUE(stacks.Reserve(200, 16 << 10));
  for (size_t i = 0; i < 200; ++i) {
    const Stack stack = stacks[i];
    EXPECT_GE(stack.bytes, size_t{16} << 10);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(stack.low + stack.bytes) % 16, 0u);
    EXPECT_EQ(stacks.Find(stack.low), static_cast<ptrdiff_t>(i));
    EXPECT_EQ(stacks.Find(stack.low - 1), static_cast<ptrdiff_t>(i));  // its guard page
    if (i > 0) EXPECT_GT(stack.low, stacks[i - 1].low + stacks[i - 1].bytes);
  }
  EXPECT_EQ(stacks.Find(&stacks), -1);
}

TEST(StacksDeathTest, OverflowFaults) {
  Stacks stacks;
  ASSERT_TRUE(stacks.Reserve(2, 16 << 10));
  EXPECT_DEATH(*static_cast<volatile std::byte*>(stacks[1].low - 1) = std::byte{1}, "");
}

}  // namespace
}  // namespace tilewright::emulator
