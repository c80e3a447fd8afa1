#include "autoschedule/sketch/cpu/sketches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/substitute.h"
#include "autoschedule/program/block_loops.h"
#include "autoschedule/program/choices.h"
#include "autoschedule/program/top_nests.h"
#include "autoschedule/sketch/cpu/sibling_blocks.h"
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

// Reductions that meet in what reads them have one loop over rows, though the first one's can hold none of the others.
TEST(CpuSketches, ReductionsThatMeetLateShareTheRows) {
  for (const char* const rows : {"9", "n"}) {
    const Function program = ParseFunctionOrDie(absl::Substitute(R"(
@T.prim_func
def main(a: T.handle, b: T.handle, o: T.handle):
    n = T.int64()
    A = T.match_buffer(a, ($0, 70))
    B = T.match_buffer(b, ($0, 70))
    O = T.match_buffer(o, ($0,))
    P = T.alloc_buffer(($0,))
    Q = T.alloc_buffer(($0,))
    R = T.alloc_buffer(($0,))
    for i, k in T.grid($0, 70):
        with T.block("P"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                P[vi] = T.float32(0)
            P[vi] = P[vi] + A[vi, vk] * A[vi, vk]
    for i, k in T.grid($0, 70):
        with T.block("Q"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                Q[vi] = T.float32(0)
            Q[vi] = Q[vi] + B[vi, vk] * B[vi, vk]
    for i, k in T.grid($0, 70):
        with T.block("R"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                R[vi] = T.float32(0)
            R[vi] = R[vi] + (A[vi, vk] + B[vi, vk])
    for i in range($0):
        with T.block("O"):
            vi = T.axis.spatial($0, i)
            O[vi] = R[vi] + P[vi] * Q[vi]
)",
                                                                 rows));
    Schedule sch{Module(program)};
    Choices choices = Choices::Preferred();
    const Outcome<std::monostate> applied = Apply(sch, "rows", "P", *NamedTarget("x86-znver4"), choices);
    ASSERT_TRUE(applied.ok()) << Render(applied.refusal(), program);
    EXPECT_EQ(CountTopNests(sch.module().Main()), 1) << rows;
    EXPECT_EQ(
        testing::CompareWithInterpreter(sch.module(), {.original = program, .integers = 3, .variables = {9, 9, 9}}),
        "");
  }
}

constexpr char kMoments[] = R"(
@T.prim_func
def main(G: T.Buffer((1001,), "float32"), M0: T.Buffer((1001,), "float32"), V0: T.Buffer((1001,), "float32"), M: T.Buffer((1001,), "float32"), V: T.Buffer((1001,), "float32"), S: T.Buffer((1001,), "float32")):
    for i in range(1001):
        with T.block("M"):
            vi = T.axis.spatial(1001, i)
            M[vi] = M0[vi] * T.float32(0.5) + G[vi]
    for i in range(1001):
        with T.block("V"):
            vi = T.axis.spatial(1001, i)
            V[vi] = V0[vi] * T.float32(0.25) + G[vi] * G[vi]
    for i in range(1001):
        with T.block("S"):
            vi = T.axis.spatial(1001, i)
            S[vi] = M[vi] * V[vi]
)";

TEST(SiblingBlocks, ShareTheirLoop) {
  const Function program = ParseFunctionOrDie(kMoments);
  for (const auto& [label, nests] : {std::pair("together", 1), {"apart", 3}}) {
    Schedule sch{Module(program)};
    Choices choices = Choices::GivenOrPreferred({Choice::Of("M.siblings", label)});
    const Outcome<std::monostate> applied = Apply(sch, "plain", "M", *NamedTarget("x86-znver4"), choices);
    ASSERT_TRUE(applied.ok()) << Render(applied.refusal(), program);
    EXPECT_EQ(CountTopNests(sch.module().Main()), nests) << label;
    EXPECT_EQ(testing::CompareWithInterpreter(sch.module(), {.original = program, .integers = 3}), "");
  }
}

// What reads other elements than its own, goes the other way, or is of other extents, has loops of its own.
TEST(SiblingBlocks, LeaveWhatIsOfAnotherKind) {
  struct {
    const char* what;
    const char* domain;
    const char* value;
  } const kOthers[] = {{"a stencil", "62, 64", "A[vi, vj] + A[vi + 2, vj]"},
                       {"reads what the first one makes elsewhere", "64, 64", "B[63 - vi, vj]"},
                       {"transposes", "64, 64", "A[vj, vi]"},
                       {"of other extents", "32, 64", "A[vi, vj]"},
                       {"shares nothing", "64, 64", "D[vi, vj]"}};
  for (const auto& other : kOthers) {
    const Function program = ParseFunctionOrDie(absl::Substitute(R"(
@T.prim_func
def main(A: T.Buffer((64, 64), "float32"), D: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32"), C: T.Buffer((64, 64), "float32")):
    for i, j in T.grid(64, 64):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)
    for i, j in T.grid($0):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = $1
)",
                                                                 other.domain, other.value));
    Schedule sch{Module(program)};
    Choices choices = Choices::Preferred();
    ASSERT_TRUE(Apply(sch, "plain", "B", *NamedTarget("x86-znver4"), choices).ok());
    EXPECT_EQ(CountTopNests(sch.module().Main()), 2) << other.what;
  }
}

}  // namespace
}  // namespace tilewright
