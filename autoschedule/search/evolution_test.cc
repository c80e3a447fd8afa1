#include "autoschedule/search/evolution.h"

#include <gtest/gtest.h>

#include <set>

#include "ir/ops/matmul.h"

namespace tilewright {
namespace {

class EvolutionTest : public ::testing::Test {
 protected:
  Space SpaceOf(int m, int n, int k) {
    return Space(Module(ops::Matmul(m, n, k)), *NamedTarget("x86-znver4"), &intrins_);
  }
  IntrinRegistry intrins_ = IntrinRegistry::Builtin();
};

TEST_F(EvolutionTest, ProposesEachProgramOnce) {
  const Space space = SpaceOf(128, 128, 128);
  Evolution evolution(space, 1);
  std::set<uint64_t> hashes;
  std::vector<std::vector<Choice>> parents;
  for (int round = 0; round < 4; ++round) {
    const std::vector<Candidate> proposed = evolution.Propose(parents, 20);
    EXPECT_EQ(proposed.size(), 20u);
    for (const Candidate& candidate : proposed) EXPECT_TRUE(hashes.insert(candidate.hash).second);
    parents = {proposed[0].choices, proposed[1].choices};
  }
  EXPECT_EQ(evolution.tries(), 80 + evolution.repeated());
  EXPECT_TRUE(evolution.refused().empty());
}

TEST_F(EvolutionTest, ChildrenResembleTheirParents) {
  const Space space = SpaceOf(128, 128, 128);
  const std::vector<Choice> parent = space.Make(Choices::Drawn(3))->choices;
  // The part of the choices that 40 children have from so many parents, all alike.
  const auto resemblance = [&](size_t parents) {
    double equal = 0, all = 0;
    for (const Candidate& child : Evolution(space, 2).Propose(std::vector(parents, parent), 40)) {
      for (const Choice& choice : child.choices) {
        const auto same = std::ranges::find(parent, choice.name, &Choice::name);
        equal += same != parent.end() && same->value == choice.value;
        ++all;
      }
    }
    return equal / all;
  };
  EXPECT_GT(resemblance(10), 0.5);
  EXPECT_LT(resemblance(10), 1);
  // The fewer parents, the more is drawn.
  EXPECT_LT(resemblance(1), 0.8 * resemblance(10));
}

TEST_F(EvolutionTest, TheSameSeedProposesTheSame) {
  const Space space = SpaceOf(64, 64, 64);
  Evolution first(space, 7), second(space, 7);
  const std::vector<Candidate> a = first.Propose({}, 30), b = second.Propose({}, 30);
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i].hash, b[i].hash);
}

TEST_F(EvolutionTest, EndsWhenTheSpaceIsExhausted) {
  const Space space = SpaceOf(1, 1, 1);
  Evolution evolution(space, 1);
  EXPECT_LT(evolution.Propose({}, 100).size(), 100u);
  EXPECT_TRUE(evolution.Propose({}, 100).empty());
}

}  // namespace
}  // namespace tilewright
