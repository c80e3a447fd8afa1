#include "base/clocks/clocks.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace tilewright::clocks {
namespace {

TEST(Clock, KnowsItselfAndTheBeginning) {
  Domain domain;
  Clock clock(&domain, MakeAgent(0, 3));
  EXPECT_TRUE(clock.Knows(clock.Now()));
  EXPECT_TRUE(clock.Knows({MakeAgent(5, 1), 0}));
  EXPECT_FALSE(clock.Knows({MakeAgent(5, 1), 1}));
}

TEST(Clock, LearnsWhatWasReleased) {
  Domain domain;
  Clock first(&domain, MakeAgent(0, 0)), second(&domain, MakeAgent(0, 1));
  const Epoch before = first.Now();
  Published barrier;
  first.Release(barrier);
  const Epoch after = first.Now();
  second.Acquire(barrier.knowledge());
  EXPECT_TRUE(second.Knows(before));
  EXPECT_FALSE(second.Knows(after));
  EXPECT_FALSE(first.Knows(second.Now()));
}

TEST(Clock, FencesWhatItHasSeen) {
  Domain domain;
  Clock first(&domain, MakeAgent(0, 0)), second(&domain, MakeAgent(0, 1)), third(&domain, MakeAgent(1, 0));
  const Epoch stored = first.Now();
  Published barrier;
  first.Release(barrier);
  second.Acquire(barrier.knowledge());
  EXPECT_TRUE(second.Knows(stored));
  EXPECT_FALSE(second.KnowsFenced(stored));
  second.Fence();
  EXPECT_TRUE(second.KnowsFenced(stored));
  // A third learns of the fence, and the other's knowledge is as before.
  Published next;
  second.Release(next);
  third.Acquire(next.knowledge());
  EXPECT_TRUE(third.KnowsFenced(stored));
  EXPECT_FALSE(first.KnowsFenced(stored));
}

TEST(Clock, PassesOnWhatItLearnedOfEngines) {
  Domain domain;
  Clock issuer(&domain, MakeAgent(0, 0)), other(&domain, MakeAgent(0, 1));
  const Epoch copy = {MakeAgent(0, 2), 7};
  issuer.Learn(copy);
  EXPECT_TRUE(issuer.Knows(copy));
  EXPECT_FALSE(issuer.Knows({copy.agent, 8}));
  other.Acquire(issuer.Snapshot());
  EXPECT_TRUE(other.Knows(copy));
  EXPECT_FALSE(other.KnowsFenced(copy));
}

TEST(Published, EnginesNeedNoFence) {
  Domain domain;
  Clock waiter(&domain, MakeAgent(0, 1));
  Published phase;
  phase.Add({MakeAgent(0, 9), 4});
  waiter.Acquire(phase.Take());
  EXPECT_TRUE(waiter.KnowsFenced({MakeAgent(0, 9), 4}));
  EXPECT_TRUE(phase.knowledge().empty());
}

// The same as Clock by the textbook: a whole vector each, copied at each step.
struct PlainClock {
  Agent self;
  uint32_t now = 1;
  std::map<Agent, uint32_t> seen, fenced;

  bool Knows(Epoch e) const {
    if (e.agent == self) return true;
    const auto it = seen.find(e.agent);
    return it != seen.end() && it->second >= e.time;
  }
  bool KnowsFenced(Epoch e) const {
    const auto it = fenced.find(e.agent);
    return it != fenced.end() && it->second >= e.time;
  }
};
struct PlainPublished {
  std::map<Agent, uint32_t> seen, fenced;
};

void Raise(std::map<Agent, uint32_t>& to, const std::map<Agent, uint32_t>& from) {
  for (const auto& [agent, time] : from) to[agent] = std::max(to[agent], time);
}

TEST(Clock, EqualsTextbookClocksOnRandomPrograms) {
  constexpr int kAgents = 12, kObjects = 4, kEngines = 3;
  std::mt19937 random(7);
  for (int program = 0; program < 200; ++program) {
    Domain domain;
    std::vector<Clock> clocks;
    std::vector<PlainClock> plain;
    std::vector<Published> objects;
    PlainPublished plain_objects[kObjects];
    for (int i = 0; i < kAgents; ++i) {
      const Agent agent = MakeAgent(i / 5, i % 5);
      clocks.emplace_back(&domain, agent);
      plain.push_back({.self = agent});
    }
    objects.resize(kObjects);
    std::vector<Epoch> epochs;
    for (int step = 0; step < 150; ++step) {
      const int who = random() % kAgents, what = random() % kObjects;
      Clock& clock = clocks[who];
      PlainClock& reference = plain[who];
      switch (random() % 6) {
        case 0:
        case 1:
          epochs.push_back(clock.Now());
          clock.Release(objects[what]);
          reference.seen[reference.self] = reference.now++;
          Raise(plain_objects[what].seen, reference.seen);
          Raise(plain_objects[what].fenced, reference.fenced);
          break;
        case 2:
        case 3:
          clock.Acquire(objects[what].knowledge());
          Raise(reference.seen, plain_objects[what].seen);
          Raise(reference.fenced, plain_objects[what].fenced);
          break;
        case 4:
          clock.Fence();
          reference.seen[reference.self] = reference.now;
          reference.fenced = reference.seen;
          break;
        default: {
          const Epoch engine = {MakeAgent(random() % 2, 100 + random() % kEngines),
                                1 + static_cast<uint32_t>(random() % 9)};
          epochs.push_back(engine);
          clock.Learn(engine);
          reference.seen[engine.agent] = std::max(reference.seen[engine.agent], engine.time);
        }
      }
      for (const Epoch& epoch : epochs) {
        ASSERT_EQ(clock.Knows(epoch), reference.Knows(epoch));
        ASSERT_EQ(clock.KnowsFenced(epoch), reference.KnowsFenced(epoch)) << program << " " << step;
      }
    }
  }
}

}  // namespace
}  // namespace tilewright::clocks
