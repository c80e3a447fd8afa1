#include "autoschedule/sketch/cpu/contraction_rule.h"

#include <gtest/gtest.h>

#include <vector>

#include "autoschedule/program/block_loops.h"
#include "intrin/registry.h"
#include "ir/builder.h"
#include "ir/script/printer.h"
#include "schedule/testing/equivalence.h"

namespace tilewright {
namespace {

const DataType kF32 = DataType::Float(32), kU8 = DataType::UInt(8), kI8 = DataType::Int(8), kI32 = DataType::Int(32);

Function Products(int64_t m, int64_t n, int64_t k, DataType left, DataType right, DataType sum) {
  FunctionBuilder f("main");
  const Buffer a = f.Input("A", {m, k}, left), b = f.Input("B", {k, n}, right);
  const ReduceAxis l("l", k);
  const Buffer c =
      f.Compute("C", {m, n}, [&](Var i, Var j) { return Sum(CastTo(sum, a(i, l)) * CastTo(sum, b(l, j)), l); });
  return f.Build({c});
}

// A convolution of channels last by windows of three.
Function Convolution() {
  FunctionBuilder f("main");
  const Buffer a = f.Input("A", {2, 11, 5}, kF32), w = f.Input("W", {3, 5, 18}, kF32);
  const ReduceAxis r("r", 3), c("c", 5);
  const Buffer o =
      f.Compute("C", {2, 9, 18}, [&](Var n, Var x, Var k) { return Sum(a(n, x + r, c) * w(r, c, k), {r, c}); });
  return f.Build({o});
}

TEST(ContractionRule, EveryChoiceComputesTheSame) {
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const std::vector<Function> programs = {Products(5, 37, 9, kF32, kF32, kF32), Products(33, 16, 20, kF32, kF32, kF32),
                                          Products(6, 32, 10, kU8, kI8, kI32), Convolution()};
  for (const char* name : {"x86-znver4", "x86-haswell", "x86-sapphirerapids", "arm-neoverse-n1"}) {
    const Target target = *NamedTarget(name);
    for (const Function& program : programs) {
      for (uint64_t seed = 1; seed <= 4; ++seed) {
        Schedule sch(Module(program), {.intrins = &intrins});
        Choices choices = Choices::Drawn(seed);
        const Outcome<std::monostate> done = ScheduleContraction(sch, BlocksInRoot(sch, "main")[0], target, choices);
        if (!done.ok()) continue;  // no tile of the target multiplies the types
        testing::ExpectEquivalent(program, sch.module().Main(), {.seed = seed});
      }
      Schedule sch(Module(program), {.intrins = &intrins});
      Choices choices = Choices::Preferred();
      const Outcome<std::monostate> done = ScheduleContraction(sch, BlocksInRoot(sch, "main")[0], target, choices);
      if (program->params[0].buffer->dtype.is_float()) {
        EXPECT_TRUE(done.ok()) << name << ": " << done.refusal().reason;
      }
    }
  }
}

TEST(ContractionRule, RefusesWhatDoesNotMultiply) {
  FunctionBuilder f("main");
  const Buffer a = f.Input("A", {8, 8}, kF32);
  const Buffer b = f.Compute("B", {8, 8}, [&](Var i, Var j) { return a(i, j) + 1; });
  Schedule sch{Module(f.Build({b}))};
  Choices choices = Choices::Preferred();
  const Outcome<std::monostate> done =
      ScheduleContraction(sch, BlocksInRoot(sch, "main")[0], *NamedTarget("x86-znver4"), choices);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.refusal().primitive, "contraction_rule");
  EXPECT_TRUE(choices.made().empty());
}

}  // namespace
}  // namespace tilewright
