#include "schedule/loops/split.h"

#include <gtest/gtest.h>

#include "ir/structural.h"
#include "schedule/testing/programs.h"

namespace tilewright {
namespace {

using testing::BlockNamed;
using testing::LoopNamesOf;
using testing::LoopsOf;

TEST(Split, InfersAFactorAndNamesTheLoops) {
  const Function before = testing::Matmul(64, 32, 16);
  const uint32_t i = LoopsOf(before, "C")[0];
  Outcome<SplitResult> split = Split(before, i, {Expr(), 16});
  ASSERT_TRUE(split.ok());
  const Function after = split->function;
  EXPECT_EQ(LoopNamesOf(after, "C"), (std::vector<std::string>{"i_0", "i_1", "j", "k"}));
  EXPECT_EQ(LoopsOf(after, "C")[0], split->loops[0]);
  EXPECT_TRUE(IsInt(FindLoop(after, split->loops[0])->extent, 4));
  const BlockRealizeNode* block = FindBlock(after, BlockNamed(after, "C"));
  const Var i0 = FindLoop(after, split->loops[0])->var, i1 = FindLoop(after, split->loops[1])->var;
  EXPECT_TRUE(StructuralEqual(block->bindings[0], i0 * 16 + i1));
  EXPECT_TRUE(IsTrue(block->predicate));
  EXPECT_EQ(FindLoop(after, i), nullptr);
  EXPECT_EQ(BlockNamed(before, "C"), BlockNamed(after, "C"));
}

TEST(Split, AddsAPredicateWhereFactorsDoNotDivide) {
  const Function before = testing::Matmul(30, 32, 16);
  Outcome<SplitResult> split = Split(before, LoopsOf(before, "C")[0], {Expr(), 16});
  ASSERT_TRUE(split.ok());
  const Var i0 = FindLoop(split->function, split->loops[0])->var, i1 = FindLoop(split->function, split->loops[1])->var;
  const BlockRealizeNode* block = FindBlock(split->function, BlockNamed(split->function, "C"));
  EXPECT_TRUE(StructuralEqual(block->predicate, i0 * 16 + i1 < 30));

  Outcome<SplitResult> again = Split(split->function, split->loops[0], {2, 1});
  ASSERT_TRUE(again.ok());
  const Var a = FindLoop(again->function, again->loops[0])->var, b = FindLoop(again->function, again->loops[1])->var;
  block = FindBlock(again->function, BlockNamed(again->function, "C"));
  // The loop of extent 1 stays in the binding.
  EXPECT_TRUE(StructuralEqual(block->bindings[0], a * 16 + b * 16 + i1));

  Outcome<SplitResult> unchecked = Split(before, LoopsOf(before, "C")[0], {Expr(), 16}, {.disable_predication = true});
  ASSERT_TRUE(unchecked.ok());
  EXPECT_TRUE(IsTrue(FindBlock(unchecked->function, BlockNamed(unchecked->function, "C"))->predicate));
}

TEST(Split, Refuses) {
  const Function f = testing::Matmul(64, 32, 16);
  const uint32_t i = LoopsOf(f, "C")[0];
  auto reason = [&](const Function& function, const std::vector<Expr>& factors) -> std::string {
    Outcome<SplitResult> result = Split(function, i, factors);
    return result.ok() ? "accepted" : result.refusal().reason;
  };
  EXPECT_EQ(reason(f, {}), "there are no factors");
  EXPECT_EQ(reason(f, {Expr(), Expr()}), "more than one factor of {loop0} is to be inferred");
  EXPECT_EQ(reason(f, {0, 64}), "factor {expr0} of {loop0} is not known to be positive");
  EXPECT_EQ(reason(f, {7, 9}),
            "the product {expr0} of the factors is not known to reach the extent {expr1} of {loop0}{text0}");
  EXPECT_EQ(reason(f, {1 << 30, 2}), "the product of the factors is too large for {loop0}, which counts in {text0}");
  EXPECT_EQ(reason(f, {Expr(int64_t{1} << 40), Expr()}),
            "the product of the factors is too large for {loop0}, which counts in {text0}");
  EXPECT_EQ(reason(f, {8, 8}), "accepted");
  EXPECT_STREQ(Split(f, BlockNamed(f, "C"), {8, 8}).refusal().reason, "{block0} is a block, not a loop");
  EXPECT_STREQ(Split(f, 99, {8, 8}).refusal().reason, "the loop no longer exists");
}

TEST(Split, RefusesLoopsThatWouldLoseSomething) {
  const Function f = testing::Matmul(64, 32, 16);
  const uint32_t i = LoopsOf(f, "C")[0];
  auto with = [&](const std::function<void(ForNode::Fields&)>& change) {
    const ForNode* loop = FindLoop(f, i);
    ForNode::Fields fields = loop->fields();
    change(fields);
    return f.WithBody(ReplaceStmt(f->body, loop, For(fields)), f->next_id);
  };
  auto reason = [&](const Function& function) { return std::string(Split(function, i, {8, 8}).refusal().reason); };
  EXPECT_EQ(reason(with([](auto& loop) { loop.annotations["x"] = MakeAnnotation(Expr(1)); })),
            "{loop0} has the annotation {text0}");
  EXPECT_EQ(reason(with([](auto& loop) {
              loop.kind = ForKind::kThreadBound;
              loop.thread_tag = "threadIdx.x";
            })),
            "{loop0} is bound to {text0}");
  EXPECT_EQ(reason(with([](auto& loop) { loop.min = Expr(2); })), "{loop0} starts at {expr0}, not at 0");
}

}  // namespace
}  // namespace tilewright
