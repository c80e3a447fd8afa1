#include "autoschedule/sketch/cpu/elementwise_rule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "autoschedule/program/block_loops.h"
#include "autoschedule/program/sizes.h"
#include "autoschedule/sketch/rule_testing.h"
#include "base/status_macros.h"
#include "ir/builder.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"
#include "schedule/testing/equivalence.h"

namespace tilewright {
namespace {

using testing::Scaled;

const DataType kF32 = DataType::Float(32);

// The element two to the right and one below of an image with borders, beside the one at its place.
Function TwoOfAnImage() {
  FunctionBuilder f("main");
  const Buffer a = f.Input("A", {12, 70}, kF32);
  const Buffer b = f.Compute("B", {11, 68}, [&](Var i, Var j) { return a(i, j) + a(i + 1, j + 2); });
  return f.Build({b});
}

Function Transposed(int64_t rows, int64_t columns) {
  FunctionBuilder f("main");
  const Buffer a = f.Input("A", {columns, rows}, kF32);
  const Buffer b = f.Compute("B", {rows, columns}, [&](Var i, Var j) { return a(j, i) * 2; });
  return f.Build({b});
}

Outcome<std::monostate> Apply(Schedule& sch, const Target& target, Choices& choices) {
  const BlockRv block = BlocksInRoot(sch, "main")[0];
  TW_ASSIGN_OR_RETURN(const PlainPlan plan, MakePlainPlan(sch, block, target));
  return ScheduleElementwise(sch, block, plan, target, choices);
}

bool Picked(const Choices& choices, const std::string& name) {
  return std::ranges::any_of(choices.made(), [&](const Choice& choice) { return choice.name == name; });
}

bool IsFlatProgram(const Function& function) {
  Schedule sch{Module(function)};
  const BlockRv block = BlocksInRoot(sch, "main")[0];
  const Outcome<PlainPlan> plan = MakePlainPlan(sch, block, *NamedTarget("x86-znver4"));
  return plan.ok() && IsFlat(*plan, *RealizeOf(sch, block).block);
}

TEST(ElementwiseRule, LoopsBecomeOneWhereRowsInOrderFillNoVectors) {
  EXPECT_TRUE(IsFlatProgram(Scaled(5, 7)));
  EXPECT_TRUE(IsFlatProgram(Scaled(4, 197)));
  EXPECT_FALSE(IsFlatProgram(Scaled(5, 64)));
  EXPECT_FALSE(IsFlatProgram(Transposed(5, 7)));
  EXPECT_FALSE(IsFlatProgram(TwoOfAnImage()));
}

// Twice an image of this shape.
Function Brighter(const Expr& rows, const Expr& columns) {
  FunctionBuilder f("main");
  const Buffer a = f.Input("A", {rows, columns}, kF32);
  const Buffer b = f.Compute("B", {rows, columns}, [&](Var i, Var j) { return a(i, j) * 2; });
  return f.Build({b});
}

TEST(ElementwiseRule, LoopsBecomeOneWhereTheOutermostIsSymbolic) {
  const Var any("n", DataType::Int(64));
  const auto number = [](int64_t value) { return Const(DataType::Int(64), value); };
  EXPECT_TRUE(IsFlatProgram(Brighter(any, number(7))));
  EXPECT_FALSE(IsFlatProgram(Brighter(any, number(64))));
  EXPECT_FALSE(IsFlatProgram(Brighter(number(7), any)));
  const Target target = *NamedTarget("x86-znver4");
  for (const int64_t columns : {7, 100}) {
    const Function program = Brighter(any, number(columns));
    Schedule sch{Module(program)};
    Choices choices = Choices::Preferred();
    ASSERT_TRUE(Apply(sch, target, choices).ok());
    for (const int64_t n : {0, 1, 5, 600}) {
      testing::ExpectEquivalent(AtSizes(program, {{"n", n}}), AtSizes(sch.module().Main(), {{"n", n}}));
    }
  }
}

// A program that loads rows of n elements at the place that `index` says, for 3 * n + 7 of each of m rows.
Function Divided(const std::string& index) {
  return ParseFunctionOrDie(R"(
@T.prim_func
def main(a: T.handle, b: T.handle):
    m = T.int64()
    n = T.int64()
    A = T.match_buffer(a, (T.int64(2), m, n))
    B = T.match_buffer(b, (T.int64(2), m, n * T.int64(3) + T.int64(7)))
    for h, i, j in T.grid(T.int64(2), m, n * T.int64(3) + T.int64(7)):
        with T.block("B"):
            vh, vi, vj = T.axis.remap("SSS", [h, i, j])
            B[vh, vi, vj] = A[vh, vi, )" +
                            index + "]\n");
}

// What a size leaves of the lanes' places is found once for all rows.
TEST(ElementwiseRule, RowsShareDividedPlacesOfLanes) {
  const std::string reflected = "T.min(vj % (n * T.int64(2)), n * T.int64(2) - T.int64(1) - vj % (n * T.int64(2)))";
  for (const std::string& index : {std::string("vj % n"), std::string("(vj - T.int64(5)) % n"), reflected}) {
    const Function program = Divided(index);
    Schedule sch{Module(program)};
    Choices choices = Choices::Preferred();
    ASSERT_TRUE(Apply(sch, *NamedTarget("x86-znver4"), choices).ok());
    const std::vector<LoopRv> loops = *sch.GetLoops(BlocksInRoot(sch, "main")[0]);
    ASSERT_EQ(loops.size(), 4U);
    EXPECT_EQ(LoopOf(sch, loops[2]).var.name(), "i") << Print(sch.module());
    for (const int64_t n : {1, 5, 64}) {
      for (const int64_t m : {0, 1, 3}) {
        testing::ExpectEquivalent(AtSizes(program, {{"m", m}, {"n", n}}),
                                  AtSizes(sch.module().Main(), {{"m", m}, {"n", n}}));
      }
    }
  }
  Schedule sch{Module(Divided("vj // T.int64(4)"))};
  Choices choices = Choices::Preferred();
  ASSERT_TRUE(Apply(sch, *NamedTarget("x86-znver4"), choices).ok());
  EXPECT_EQ(LoopOf(sch, (*sch.GetLoops(BlocksInRoot(sch, "main")[0]))[1]).var.name(), "i");
}

TEST(ElementwiseRule, EachShapeHasItsChoices) {
  const Target target = *NamedTarget("x86-znver4");
  const auto picks = [&](const Function& function, const char* name) {
    Schedule sch{Module(function)};
    Choices choices = Choices::Preferred();
    const Outcome<std::monostate> done = Apply(sch, target, choices);
    EXPECT_TRUE(done.ok()) << done.refusal().reason;
    return Picked(choices, name);
  };
  EXPECT_TRUE(picks(TwoOfAnImage(), "B.rows"));
  EXPECT_FALSE(picks(Scaled(64, 64), "B.rows"));
  EXPECT_TRUE(picks(Transposed(64, 64), "B.across"));
  EXPECT_FALSE(picks(Scaled(64, 64), "B.across"));
}

// As many vectors of a loop as hide the latency of their operations: a power of two.
TEST(ElementwiseRule, VectorsHideLatency) {
  for (const char* name : {"x86-znver4", "x86-haswell", "arm-neoverse-n1"}) {
    const Target target = *NamedTarget(name);
    Schedule sch{Module(Scaled(64, 64))};
    Choices choices = Choices::Preferred();
    ASSERT_TRUE(Apply(sch, target, choices).ok());
    const auto vectors =
        std::ranges::find_if(choices.made(), [](const Choice& choice) { return choice.name == "B.vectors"; });
    ASSERT_NE(vectors, choices.made().end());
    EXPECT_LE(vectors->value, target.FmaLatency()) << name;
    EXPECT_GT(2 * vectors->value, target.FmaLatency()) << name;
  }
}

TEST(ElementwiseRule, EveryChoiceComputesTheSame) {
  const std::vector<Function> programs = {TwoOfAnImage(), Transposed(33, 21), Transposed(64, 64), Scaled(3, 37)};
  for (const char* name : {"x86-znver4", "x86-haswell", "arm-neoverse-n1"}) {
    const Target target = *NamedTarget(name);
    for (const Function& program : programs) {
      for (uint64_t seed = 1; seed <= 6; ++seed) {
        Schedule sch{Module(program)};
        Choices choices = Choices::Drawn(seed);
        const Outcome<std::monostate> done = Apply(sch, target, choices);
        ASSERT_TRUE(done.ok()) << done.refusal().reason << '\n' << Print(sch.module());
        testing::ExpectEquivalent(program, sch.module().Main(), {.seed = seed});
      }
    }
  }
}

}  // namespace
}  // namespace tilewright
