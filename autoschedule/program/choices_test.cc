#include "autoschedule/program/choices.h"

#include <gtest/gtest.h>

#include "ir/ops/matmul.h"

namespace tilewright {
namespace {

Schedule EmptySchedule() { return Schedule(Module(ops::Matmul(4, 4, 4))); }

TEST(Choices, PreferredTakesThePreferredOnes) {
  Schedule sch = EmptySchedule();
  Choices choices = Choices::Preferred();
  const Outcome<Choices::Pick> pick = choices.Take(sch, "x", {3, 5, 7}, 1);
  ASSERT_TRUE(pick.ok());
  EXPECT_EQ(pick->value, 5);
  EXPECT_EQ(*sch.Get(pick->rv).As<int64_t>(), 5);
  EXPECT_EQ(choices.made().ToVector(), (std::vector<Choice>{{"x", 5, {3, 5, 7}}}));
}

TEST(Choices, AreSamplingInstructionsOfTheTrace) {
  Schedule sch = EmptySchedule();
  Choices choices = Choices::Preferred();
  ASSERT_TRUE(choices.Take(sch, "x", {3, 5, 7}, 2).ok());
  ASSERT_EQ(sch.trace().instructions.size(), 1u);
  EXPECT_STREQ(sch.trace().instructions[0]->primitive->name, "sample_categorical");
  EXPECT_EQ(*sch.trace().instructions[0]->decision.As<int64_t>(), 2);
  EXPECT_EQ(*sch.trace().instructions[0]->args[2].As<std::string>(), "x");
}

TEST(Choices, DrawnReachEveryCandidateAlike) {
  int counts[3] = {0, 0, 0};
  for (uint64_t seed = 0; seed < 600; ++seed) {
    Schedule sch = EmptySchedule();
    Choices choices = Choices::Drawn(seed);
    ++counts[choices.Take(sch, "x", {0, 1, 2}, 1)->value];
  }
  for (const int count : counts) EXPECT_NEAR(count, 200, 60);
}

TEST(Choices, GivenAreTakenWhereTheyFit) {
  Schedule sch = EmptySchedule();
  Choices choices = Choices::GivenOrPreferred({{"x", 7, {}}, {"y", 4, {}}});
  EXPECT_EQ(choices.Take(sch, "x", {3, 5, 7}, 0)->value, 7);
  EXPECT_EQ(choices.Take(sch, "y", {1, 2}, 1)->value, 2);  // 4 is not a candidate here
  EXPECT_EQ(choices.Take(sch, "z", {1, 2}, 0)->value, 1);
  EXPECT_EQ(choices.Take(sch, "z", {1, 2}, 1)->value, 2);
  EXPECT_EQ(choices.made().back().name, "z#2");
}

TEST(Choices, WithMeaningsAreDrawnByWeightAndRecordedWithLabels) {
  int first = 0;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    Schedule sch = EmptySchedule();
    Choices choices = Choices::Drawn(seed);
    first += choices.Take(sch, "x", {0, 1}, 1, {{"a", 3}, {"b", 1}})->value == 0 ? 1 : 0;
  }
  EXPECT_NEAR(first, 450, 60);
  Schedule sch = EmptySchedule();
  Choices choices = Choices::GivenOrPreferred({Choice::Of("x", "c")});
  EXPECT_EQ(choices.Take(sch, "x", {4, 2, 7}, 0, {{"a"}, {"b"}, {"c"}})->value, 7);
  EXPECT_EQ(choices.made()[0].label(), "c");
  EXPECT_EQ(*sch.trace().instructions[0]->args[3].As<std::string>(), "a, b, c");
  // Elsewhere the label names another value, or nothing.
  Choices again = Choices::OfTrace(sch.trace());
  EXPECT_EQ(again.Take(sch, "x", {7, 1}, 0, {{"b"}, {"c"}})->value, 1);
  Choices other = Choices::OfTrace(sch.trace());
  EXPECT_EQ(other.Take(sch, "x", {5, 7}, 0, {{"b"}, {"d"}})->value, 5);
}

TEST(Choices, AreReadBackFromATraceByName) {
  Schedule first = EmptySchedule();
  Choices drawn = Choices::Drawn(3);
  const int64_t x = drawn.Take(first, "x", {1, 2, 3, 4}, 0)->value, y = drawn.Take(first, "y", {5, 6, 7, 8}, 3)->value;
  Schedule second = EmptySchedule();
  Choices again = Choices::OfTrace(first.trace());
  // A choice that the rules have got since shifts none.
  EXPECT_EQ(again.Take(second, "new", {1, 2, 3, 4}, 3)->value, 4);
  EXPECT_EQ(again.Take(second, "y", {8, 7, 6, 5}, 0)->value, y);
  EXPECT_EQ(again.Take(second, "x", {4, 3, 2, 1}, 0)->value, x);
}

// Databases hold traces that were recorded before choices had names.
TEST(Choices, AreReadBackByPositionWhereTheyHaveNoNames) {
  Schedule first = EmptySchedule();
  const int64_t x = 3, y = 5;
  ASSERT_TRUE(first.SampleCategorical({1, 2, 3, 4}, {1, 1, 1, 1}, 2).ok());
  ASSERT_TRUE(first.SampleCategorical({5, 6, 7, 8}, {1, 1, 1, 1}, 0).ok());
  Schedule second = EmptySchedule();
  Choices again = Choices::OfTrace(first.trace());
  EXPECT_EQ(again.Take(second, "a", {4, 3, 2, 1}, 0)->value, x);
  EXPECT_EQ(again.Take(second, "b", {8, 7, 6, 5}, 0)->value, y);
  EXPECT_EQ(again.Take(second, "c", {1, 2}, 1)->value, 2);  // beyond the trace: the preferred one
}

}  // namespace
}  // namespace tilewright
