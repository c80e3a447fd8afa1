#include "autoschedule/program/attempt.h"

#include <gtest/gtest.h>

#include <variant>
#include <vector>

#include "base/status_macros.h"
#include "ir/ops/matmul.h"

namespace tilewright {
namespace {

Schedule MatmulSchedule() { return Schedule(Module(ops::Matmul(4, 4, 4))); }

// Splits a loop by 2, then by `factor`.
Outcome<std::monostate> SplitTwice(Schedule& sch, LoopRv loop, int64_t factor) {
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> parts, sch.Split(loop, {Value(), Value(int64_t{2})}));
  TW_RETURN_IF_ERROR(sch.Split(parts[0], {Value(factor), Value(factor)}));
  return std::monostate();
}

TEST(Attempt, TakesAllStepsOrNone) {
  Schedule sch = MatmulSchedule();
  const std::vector<LoopRv> loops = *sch.GetLoops(*sch.GetBlock("C"));
  const size_t before = sch.trace().instructions.size();
  // Factors of 0 are refused, after the first split.
  EXPECT_FALSE(Attempt(sch, [&](Schedule& s) { return SplitTwice(s, loops[0], 0); }));
  EXPECT_EQ(sch.trace().instructions.size(), before);
  EXPECT_EQ(sch.GetLoops(*sch.GetBlock("C"))->size(), 3u);
  EXPECT_TRUE(Attempt(sch, [&](Schedule& s) { return SplitTwice(s, loops[0], 2); }));
  EXPECT_EQ(sch.GetLoops(*sch.GetBlock("C"))->size(), 5u);
}

TEST(Attempt, AsksStepsThatAnswerYesOrNo) {
  Schedule sch = MatmulSchedule();
  const std::vector<LoopRv> loops = *sch.GetLoops(*sch.GetBlock("C"));
  for (const bool taken : {false, true}) {
    EXPECT_EQ(Attempt(sch, [&](Schedule& s) { return SplitTwice(s, loops[0], 2).ok() && taken; }), taken);
    EXPECT_EQ(sch.GetLoops(*sch.GetBlock("C"))->size(), taken ? 5u : 3u);
  }
}

TEST(Attempt, TakesBackChoices) {
  Schedule sch = MatmulSchedule();
  Choices choices = Choices::Preferred();
  for (const bool taken : {false, true}) {
    EXPECT_EQ(Attempt(sch, choices,
                      [&](Schedule& s, Choices& c) {
                        EXPECT_EQ(c.Take(s, "x", {3, 5}, 0)->value, 3);
                        return taken;
                      }),
              taken);
    EXPECT_EQ(choices.made().size(), taken ? 1u : 0u);
  }
}

}  // namespace
}  // namespace tilewright
