#include "autoschedule/sketch/cpu/window_rule.h"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <vector>

#include "autoschedule/program/block_loops.h"
#include "base/status_macros.h"
#include "codegen/testing/equivalence.h"
#include "ir/builder.h"
#include "ir/script/printer.h"

namespace tilewright {
namespace {

const DataType kF32 = DataType::Float(32);

Expr Padded(const Buffer& from, Expr i, Expr j) {
  const Expr inside = And(And(Expr(1) <= i, i < from->shape[0] + 1), And(Expr(1) <= j, j < from->shape[1] + 1));
  return IfThenElse(inside, from(i - 1, j - 1), ConstFloat(kF32, 0));
}

// Sums over windows of 3 x 3 of a padded image; the blocks and buffers are called as given.
Function PaddedSums(const char* image, const char* sums) {
  FunctionBuilder f("main");
  const Buffer a = f.Input("A", {30, 48}, kF32);
  const Buffer padded = f.Compute(image, {32, 50}, [&](Var i, Var j) { return Padded(a, i, j); });
  const ReduceAxis kh("kh", 3), kw("kw", 3);
  const Buffer c = f.Compute(sums, {30, 48}, [&](Var i, Var j) { return Sum(padded(i + kh, j + kw), {kh, kw}); });
  return f.Build({c});
}

Outcome<std::monostate> ScheduleBlock(Schedule& sch, BlockRv block, const Target& target) {
  Choices choices = Choices::Preferred();
  TW_ASSIGN_OR_RETURN(const PlainPlan plan, MakePlainPlan(sch, block, target));
  return ScheduleWindows(sch, block, plan, target, choices);
}

// The positions of a block over rows, positions and windows, in so many phases.
IndexMap PhasesApart(int phases) {
  const std::vector<Var> inputs = {Var("i"), Var("j"), Var("r")};
  return IndexMap(inputs, {inputs[0], FloorDiv(inputs[1], phases), FloorMod(inputs[1], phases), inputs[2]});
}

// The stage that pads is a copy of the block's operand, whatever the buffers are called.
TEST(WindowRule, StagesWhatTheBlockReadsWhateverItsName) {
  const Target target = *NamedTarget("x86-znver4");
  for (const char* image : {"padded", "sums"}) {
    const Function function = PaddedSums(image, "sums");
    Schedule sch{Module(function)};
    const std::vector<BlockRv> blocks = BlocksInRoot(sch, "main");
    ASSERT_EQ(blocks.size(), 2U);
    const Outcome<std::monostate> done = ScheduleBlock(sch, blocks[1], target);
    ASSERT_TRUE(done.ok()) << done.refusal().reason;
    // Nothing but the block, its init, the copy in registers and the write back is left.
    EXPECT_EQ(BlocksInRoot(sch, "main").size(), 4U) << Print(sch.module());
    EXPECT_EQ(testing::CompareWithInterpreter(sch.module(), {.original = function}), "");
  }
}

// What an earlier tile writes back is read from memory: it stays in that tile's loops.
TEST(WindowRule, LeavesWhatIsScheduledWhereItIs) {
  FunctionBuilder f("main");
  const Buffer a = f.Input("A", {32, 64}, kF32);
  const ReduceAxis kh("kh", 3), kw("kw", 3);
  const Buffer first = f.Compute("resample", {30, 62}, [&](Var i, Var j) { return Sum(a(i + kh, j + kw), {kh, kw}); });
  const ReduceAxis tap("tap", 2);
  const Buffer second = f.Compute("resample", {29, 62}, [&](Var i, Var j) { return Sum(first(i + tap, j), tap); });
  const Function function = f.Build({second});
  const Target target = *NamedTarget("x86-znver4");
  Schedule sch{Module(function)};
  const std::vector<BlockRv> blocks = BlocksInRoot(sch, "main");
  for (const BlockRv& block : blocks) {
    const Outcome<std::monostate> done = ScheduleBlock(sch, block, target);
    ASSERT_TRUE(done.ok()) << done.refusal().reason;
  }
  const Buffer read = RealizeOf(sch, blocks[1]).block->reads.back().buffer;
  EXPECT_EQ(read->scope.text(), "global") << Print(sch.module());
  EXPECT_EQ(testing::CompareWithInterpreter(sch.module(), {.original = function}), "");
}

// Distances of the rows of two matrices: the block, its init, the write back, and a copy of one matrix.
TEST(WindowRule, TurnsTheOperandThatNeighboursReadAcross) {
  for (const char* name : {"x86-znver4", "x86-haswell"}) {
    const Target target = *NamedTarget(name);
    for (const auto& [rows, others, depth] : {std::array{33, 50, 7}, {16, 64, 16}, {40, 16, 5}}) {
      FunctionBuilder f("main");
      const Buffer a = f.Input("A", {rows, depth}, kF32), b = f.Input("B", {others, depth}, kF32);
      const ReduceAxis k("k", depth);
      const Buffer d = f.Compute("D", {rows, others},
                                 [&](Var i, Var j) { return Sum((a(i, k) - b(j, k)) * (a(i, k) - b(j, k)), k); });
      const Function function = f.Build({d});
      Schedule sch{Module(function)};
      const BlockRv block = BlocksInRoot(sch, "main")[0];
      const Outcome<PlainPlan> plan = MakePlainPlan(sch, block, target);
      ASSERT_TRUE(plan.ok() && ReadsAcross(*plan)) << rows << " " << others << " " << depth;
      const Outcome<PlainPlan> turned = TurnOperand(sch, block, *plan, target);
      ASSERT_TRUE(turned.ok()) << turned.refusal().reason;
      Choices choices = Choices::Preferred();
      const Outcome<std::monostate> done = ScheduleWindows(sch, block, *turned, target, choices);
      ASSERT_TRUE(done.ok()) << done.refusal().reason;
      EXPECT_EQ(BlocksInRoot(sch, "main").size(), 4U) << Print(sch.module());
      EXPECT_EQ(testing::CompareWithInterpreter(sch.module(), {.original = function}), "") << Print(sch.module());
    }
  }
}

// Elements that few outputs use are not worth a copy.
TEST(WindowRule, LeavesOperandsThatFewOutputsUse) {
  FunctionBuilder f("main");
  const Buffer a = f.Input("A", {4, 9}, kF32), b = f.Input("B", {50, 9}, kF32);
  const ReduceAxis k("k", 9);
  const Buffer d = f.Compute("D", {4, 50}, [&](Var i, Var j) { return MaxOver(a(i, k) - b(j, k), k); });
  Schedule sch{Module(f.Build({d}))};
  const Outcome<PlainPlan> plan = MakePlainPlan(sch, BlocksInRoot(sch, "main")[0], *NamedTarget("x86-znver4"));
  ASSERT_TRUE(plan.ok());
  EXPECT_FALSE(ReadsAcross(*plan));
}

// Windows of two for each of several phases, whose results are neighbours: vectors go along each phase.
TEST(WindowRule, PhasesAreVectorsThatAreStoredTogether) {
  for (const char* name : {"x86-znver4", "x86-haswell"}) {
    const Target target = *NamedTarget(name);
    for (const int phases : {2, 3, 4, 7, 8}) {
      for (const int length : {37, 64, 5}) {
        FunctionBuilder f("main");
        const Buffer x = f.Input("X", {6, length + 1}, kF32), w = f.Input("W", {6, phases, 2}, kF32);
        const ReduceAxis r("r", 2);
        const Buffer y = f.Compute("Y", {6, length * phases}, [&](Var i, Var j) {
          return Sum(x(i, FloorDiv(j, phases) + r) * w(i, FloorMod(j, phases), r), r);
        });
        const Function function = f.Build({y});
        Schedule sch{Module(function)};
        const BlockRv block = BlocksInRoot(sch, "main")[0];
        ASSERT_TRUE(sch.TransformBlockLayout(block, PhasesApart(phases)).ok());
        const std::optional<StagedPhases> staged = StagePhases(sch, block, target);
        ASSERT_TRUE(staged.has_value()) << name << " " << phases;
        const Outcome<PlainPlan> plan = MakePlainPlan(sch, block, target);
        ASSERT_TRUE(plan.ok());
        Choices choices = Choices::Preferred();
        const Outcome<std::monostate> done = ScheduleWindows(sch, block, *plan, target, choices, staged);
        ASSERT_TRUE(done.ok()) << done.refusal().reason;
        EXPECT_EQ(testing::CompareWithInterpreter(sch.module(), {.original = function}), "") << Print(sch.module());
      }
    }
  }
}

// A padded operand that phases read from other places on: its copy has vectors along the same iterator as the sums.
TEST(WindowRule, CopiesOfPhasesAreVectorsToo) {
  for (const char* name : {"x86-znver4", "x86-haswell"}) {
    const Target target = *NamedTarget(name);
    for (const int phases : {2, 3}) {
      constexpr int kLength = 20;
      FunctionBuilder f("main");
      const Buffer x = f.Input("X", {6, kLength}, kF32), w = f.Input("W", {6, phases, 2}, kF32);
      const Buffer padded = f.Compute("padded", {6, kLength + phases}, [&](Var i, Var j) {
        return IfThenElse(And(Expr(1) <= j, j < Expr(kLength + 1)), x(i, j - 1), ConstFloat(kF32, 0));
      });
      const ReduceAxis r("r", 2);
      const Buffer y = f.Compute("Y", {6, kLength * phases}, [&](Var i, Var j) {
        return Sum(padded(i, FloorDiv(j, phases) + FloorMod(j, phases) + r) * w(i, FloorMod(j, phases), r), r);
      });
      const Function function = f.Build({y});
      Schedule sch{Module(function)};
      const BlockRv block = BlocksInRoot(sch, "main")[1];
      ASSERT_TRUE(sch.TransformBlockLayout(block, PhasesApart(phases)).ok());
      const std::optional<StagedPhases> staged = StagePhases(sch, block, target);
      ASSERT_TRUE(staged.has_value()) << name << " " << phases;
      const Outcome<PlainPlan> plan = MakePlainPlan(sch, block, target);
      ASSERT_TRUE(plan.ok());
      Choices choices = Choices::Preferred();
      const Outcome<std::monostate> done = ScheduleWindows(sch, block, *plan, target, choices, staged);
      ASSERT_TRUE(done.ok()) << done.refusal().reason;
      int copies = 0;
      for (const BlockRv& each : BlocksInRoot(sch, "main")) {
        const BlockNode& node = *RealizeOf(sch, each).block;
        if (!node.writes[0].buffer->name.starts_with("padded")) continue;
        EXPECT_EQ(AsInt(node.iter_vars.back().domain.extent), kLength) << Print(sch.module());
        ++copies;
      }
      EXPECT_EQ(copies, 1) << Print(sch.module());
      EXPECT_EQ(testing::CompareWithInterpreter(sch.module(), {.original = function}), "") << Print(sch.module());
    }
  }
}

}  // namespace
}  // namespace tilewright
