#include "autoschedule/sketch/cpu/plain_plan.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "autoschedule/program/block_loops.h"
#include "autoschedule/sketch/cpu/plain_rule.h"
#include "ir/builder.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"
#include "schedule/testing/equivalence.h"

namespace tilewright {
namespace {

const DataType kF32 = DataType::Float(32);

PlainPlan PlanOf(const Function& function) {
  Schedule sch{Module(function)};
  const Outcome<PlainPlan> plan = MakePlainPlan(sch, BlocksInRoot(sch, "main")[0], *NamedTarget("x86-znver4"));
  EXPECT_TRUE(plan.ok());
  return plan.ok() ? *plan : PlainPlan{};
}

// Products of each channel's window with its own weights; channels last.
Function Depthwise() {
  FunctionBuilder f("main");
  const Buffer a = f.Input("A", {10, 40}, kF32), w = f.Input("W", {3, 40}, kF32);
  const ReduceAxis k("k", 3);
  const Buffer b = f.Compute("B", {8, 40}, [&](Var i, Var c) { return Sum(a(i + k, c) * w(k, c), k); });
  return f.Build({b});
}

TEST(PlainPlan, VectorsAreAlongWhatIsStoredSideBySide) {
  const PlainPlan plan = PlanOf(Depthwise());
  ASSERT_EQ(plan.spatial.size(), 2U);
  ASSERT_EQ(plan.reduce.size(), 1U);
  EXPECT_EQ(plan.vector, plan.spatial[1]);
  EXPECT_EQ(plan.stored, plan.spatial[1]);
  EXPECT_EQ(plan.lanes, 16);
  EXPECT_EQ(plan.work, 8 * 40 * 3);
}

// What is read in steps of two from each row has neighbours that are stored, and loads that are picked or gathered.
TEST(PlainPlan, StoredNeighboursMayBeLoadedApart) {
  FunctionBuilder f("main");
  const Buffer a = f.Input("A", {8, 64}, kF32);
  const Buffer b = f.Compute("B", {8, 32}, [&](Var i, Var j) { return a(i, j * 2); });
  const PlainPlan plan = PlanOf(f.Build({b}));
  EXPECT_EQ(plan.stored, plan.spatial[1]);
}

TEST(PlainPlan, SizesWithoutANumberAreLikelyOnes) {
  const PlainPlan plan = PlanOf(ParseFunctionOrDie(R"(
@T.prim_func
def main(a: T.handle, b: T.handle):
    T.func_attr({"tilewright.likely_sizes": {"n": [24]}})
    n = T.int64()
    A = T.match_buffer(a, (n, T.int64(40)))
    B = T.match_buffer(b, (n, T.int64(40)))
    for i, j in T.grid(n, T.int64(40)):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)
)"));
  ASSERT_EQ(plan.extents.size(), 2U);
  EXPECT_FALSE(plan.extents[0].has_value());
  EXPECT_EQ(plan.likely[0], 24);
  EXPECT_EQ(plan.extents[1], 40);
}

TEST(PlainRule, EveryChoiceComputesTheSame) {
  FunctionBuilder f("main");
  const Buffer a = f.Input("A", {6, 35}, kF32);
  const ReduceAxis k("k", 35);
  const Buffer b = f.Compute("B", {6}, [&](Var i) { return MaxOver(a(i, k), k); });
  for (const Function& program : {Depthwise(), f.Build({b})}) {
    for (uint64_t seed = 1; seed <= 8; ++seed) {
      Schedule sch{Module(program)};
      Choices choices = Choices::Drawn(seed);
      const Outcome<std::monostate> done =
          SchedulePlain(sch, BlocksInRoot(sch, "main")[0], *NamedTarget("x86-znver4"), choices);
      ASSERT_TRUE(done.ok()) << done.refusal().reason << '\n' << Print(sch.module());
      testing::ExpectEquivalent(program, sch.module().Main(), {.seed = seed});
    }
  }
}

// Walks through tables: many elements of a row, more than are written out side by side, and one of each row.
TEST(PlainRule, WalksTakeEachStepTogether) {
  for (const int64_t elements : {1, 5, 35}) {
    const Function program = ParseFunctionOrDie(absl::StrReplaceAll(R"(
      @T.prim_func
      def main(begin: T.Buffer((ELEMENTS,), "int32"), next: T.Buffer((23, 2), "int32"),
               limit: T.Buffer((23,), "float32"), x: T.Buffer((21,), "float32"), node: T.Buffer((21, ELEMENTS), "int32")):
          for i, j, k in T.grid(21, ELEMENTS, 6):
              with T.block("walk"):
                  vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                  with T.init():
                      node[vi, vj] = begin[vj]
                  node[vi, vj] = next[T.max(T.min(node[vi, vj], 22), 0),
                                      T.Select(x[vi] <= limit[T.max(T.min(node[vi, vj], 22), 0)], 0, 1)]
)",
                                                                    {{"ELEMENTS", absl::StrCat(elements)}}));
    Schedule sch{Module(program)};
    Choices choices = Choices::Preferred();
    const Outcome<std::monostate> done =
        SchedulePlain(sch, BlocksInRoot(sch, "main")[0], *NamedTarget("x86-znver4"), choices);
    ASSERT_TRUE(done.ok()) << done.refusal().reason << '\n' << Print(sch.module());
    const std::vector<LoopRv> loops = *sch.GetLoops(BlocksInRoot(sch, "main")[1]);
    EXPECT_EQ(LoopOf(sch, loops.back()).kind, ForKind::kUnrolled) << Print(sch.module());
    EXPECT_EQ(ExtentOf(sch, loops[loops.size() - 2]), 6) << Print(sch.module());
    testing::ExpectEquivalent(program, sch.module().Main());
  }
}

// A person's order stays: only kinds of loops change.
TEST(PlainRule, KeepsLoopsThatAUserArranged) {
  const Function program = Depthwise();
  Schedule sch{Module(program)};
  const BlockRv block = BlocksInRoot(sch, "main")[0];
  const std::vector<LoopRv> loops = *sch.GetLoops(block);
  ASSERT_TRUE(sch.Reorder({loops[2], loops[0], loops[1]}).ok());
  KeepLoops(sch, block, *NamedTarget("x86-znver4"));
  const std::vector<LoopRv> after = *sch.GetLoops(block);
  ASSERT_EQ(after.size(), 3U);
  EXPECT_EQ(ExtentOf(sch, after[0]), 3);
  testing::ExpectEquivalent(program, sch.module().Main());
}

}  // namespace
}  // namespace tilewright
