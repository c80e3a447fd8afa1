#include "autoschedule/sketch/cpu/sketches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "absl/strings/substitute.h"
#include "autoschedule/program/block_loops.h"
#include "autoschedule/program/choices.h"
#include "codegen/testing/equivalence.h"
#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

// The structure of a sketch for a block of "main", applied with `choices`.
Outcome<std::monostate> Apply(Schedule& sch, std::string_view sketch, const char* block, const Target& target,
                              Choices& choices) {
  const std::vector<BlockRv> blocks = BlocksInRoot(sch, "main");
  const Function function = sch.module().Main();
  const BlockScope scope = BlockScope::Of(cast<BlockRealizeNode>(function->body)->block.get());
  const auto named =
      std::ranges::find_if(blocks, [&](BlockRv b) { return RealizeOf(sch, b).block->name == std::string_view(block); });
  const SketchContext context{target, nullptr, scope, *scope.Find(RealizeOf(sch, *named).block->id), blocks};
  for (const Sketch& one : CpuSketches().sketches) {
    if (one.name != sketch) continue;
    const std::optional<Structure> structure = one.meet(sch, *named, context);
    if (!structure) break;
    return structure->apply(sch, choices);
  }
  return Refusal{"test", "the sketch is not made for the block"};
}

// The rows that a vector multiplies are computed in the product; they were a block of the chain of rows themselves.
TEST(CpuSketches, RowsOfAProductAreComputedInIt) {
  const Function program = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((2, 7), "float32"), w: T.Buffer((7,), "float32"), y: T.Buffer((2,), "float32")):
    P = T.alloc_buffer((2, 7))
    for i, k in T.grid(2, 7):
        with T.block("P"):
            vi, vk = T.axis.remap("SS", [i, k])
            P[vi, vk] = T.exp(A[vi, vk])
    for i, k in T.grid(2, 7):
        with T.block("y"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                y[vi] = T.float32(0)
            y[vi] = y[vi] + P[vi, vk] * w[vk]
)");
  Schedule sch{Module(program)};
  Choices choices = Choices::Preferred();
  const Outcome<std::monostate> applied = Apply(sch, "product_rows", "y", *NamedTarget("x86-znver4"), choices);
  ASSERT_TRUE(applied.ok()) << Render(applied.refusal(), program);
  EXPECT_FALSE(sch.GetBlock("P").ok());
  EXPECT_EQ(testing::CompareWithInterpreter(sch.module(), {.original = program}), "");
}

// Rows that multiply one vector load it once, as many as registers hold the sums of.
TEST(CpuSketches, RowsOfAProductShareTheVector) {
  const auto product = [](int rows) {
    return ParseFunctionOrDie(absl::Substitute(R"(
@T.prim_func
def main(A: T.Buffer(($0, 150), "float32"), w: T.Buffer((150,), "float32"), y: T.Buffer(($0,), "float32")):
    for i, k in T.grid($0, 150):
        with T.block("y"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                y[vi] = T.float32(0)
            y[vi] = y[vi] + A[vi, vk] * w[vk]
)",
                                               rows));
  };
  struct {
    int rows;
    const char* target;
    int64_t at_once;
  } const kCases[] = {{24, "x86-znver4", 4}, {24, "x86-haswell", 2}, {6, "x86-znver4", 1}, {25, "x86-znver4", 1}};
  for (const auto& one : kCases) {
    const Function program = product(one.rows);
    Target target = *NamedTarget(one.target);
    target.cores = 6;
    Schedule sch{Module(program)};
    Choices choices = Choices::Preferred();
    const Outcome<std::monostate> applied = Apply(sch, "product_rows", "y", target, choices);
    ASSERT_TRUE(applied.ok()) << Render(applied.refusal(), program);
    int64_t at_once = 1;
    for (const Choice& choice : choices.made()) {
      if (choice.name == "y.rows") at_once = choice.value;
    }
    EXPECT_EQ(at_once, one.at_once) << one.rows << " " << one.target;
    EXPECT_EQ(testing::CompareWithInterpreter(sch.module(), {.original = program, .integers = 3}), "");
  }
}

}  // namespace
}  // namespace tilewright
