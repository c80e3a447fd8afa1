// fuse, reorder, parallel, vectorize, unroll, bind, add_unit_loop and annotations.
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"
#include "ir/structural.h"
#include "schedule/blocks/annotate.h"
#include "schedule/loops/add_unit_loop.h"
#include "schedule/loops/fuse.h"
#include "schedule/loops/loop_kind.h"
#include "schedule/loops/reorder.h"
#include "schedule/loops/split.h"
#include "schedule/testing/equivalence.h"
#include "schedule/testing/programs.h"

namespace tilewright {
namespace {

using testing::BlockNamed;
using testing::LoopNamesOf;
using testing::LoopsOf;
using testing::SameResults;
using Names = std::vector<std::string>;

template <class T>
std::string Line(const Outcome<T>& outcome, const Function& function) {
  return outcome.ok() ? "accepted" : RenderLine(outcome.refusal(), function);
}

TEST(Fuse, DividesTheFusedVariable) {
  const Function before = testing::ElementwiseChain(12, 8);
  const std::vector<uint32_t> loops = LoopsOf(before, "B");
  Outcome<FuseResult> fused = Fuse(before, loops);
  ASSERT_TRUE(fused.ok());
  EXPECT_EQ(LoopNamesOf(fused->function, "B"), (Names{"i_j_fused"}));
  const BlockRealizeNode* block = FindBlock(fused->function, BlockNamed(before, "B"));
  EXPECT_EQ(Print(block->bindings[0]), "i_j_fused // 8");
  EXPECT_EQ(Print(block->bindings[1]), "i_j_fused % 8");
  EXPECT_TRUE(SameResults(before, fused->function));
}

TEST(Fuse, UndoesSplit) {
  const Function before = testing::Matmul(30, 8, 8);
  Outcome<SplitResult> split = Split(before, LoopsOf(before, "C")[0], {Expr(), 16});
  ASSERT_TRUE(split.ok());
  Outcome<FuseResult> fused = Fuse(split->function, split->loops);
  ASSERT_TRUE(fused.ok());
  const BlockRealizeNode* block = FindBlock(fused->function, BlockNamed(before, "C"));
  EXPECT_EQ(Print(block->bindings[0]), "i_0_i_1_fused");
  // Predicates are not simplified, as in TVM.
  EXPECT_EQ(Print(block->predicate), "i_0_i_1_fused // 16 * 16 + i_0_i_1_fused % 16 < 30");
  EXPECT_TRUE(SameResults(before, fused->function));
}

// A block without iterators names the loops around it in its regions and in its body.
TEST(Fuse, ReplacesVariablesInsideOfBlocksThatUseLoops) {
  const Function before = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((8, 12), "float32"), B: T.Buffer((8, 12), "float32")):
    for i, j in T.grid(8, 12):
        with T.block("outer"):
            T.reads(A[i, j])
            T.writes(B[i, j])
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)
)");
  const std::vector<uint32_t> loops = LoopsOf(before, "outer");
  Outcome<FuseResult> fused = Fuse(before, loops);
  ASSERT_TRUE(fused.ok());
  // The reader gives the block iterators for the loops that it uses.
  const uint32_t block = BlockNamed(before, "outer");
  const BlockRealizeNode* outer = FindBlock(fused->function, block);
  EXPECT_EQ(Print(outer->bindings[0]), "i_j_fused // 12");
  EXPECT_EQ(Print(outer->bindings[1]), "i_j_fused % 12");
  Outcome<SplitResult> split = Split(before, loops[0], {Expr(), Expr(4)});
  ASSERT_TRUE(split.ok());
  EXPECT_EQ(Print(FindBlock(split->function, block)->bindings[0]), "i_0 * 4 + i_1");
  // i // 3 // 4 % 2 is written with one division.
  Outcome<SplitResult> columns = Split(before, loops[1], {Expr(4), Expr(3)});
  ASSERT_TRUE(columns.ok());
  Outcome<FuseResult> three = Fuse(columns->function, LoopsOf(columns->function, "outer"));
  ASSERT_TRUE(three.ok());
  EXPECT_EQ(Print(FindBlock(three->function, block)->bindings[0]), "i_j_0_j_1_fused // 12");
}

TEST(Fuse, Refuses) {
  const Function f = testing::ElementwiseInOneNest(4, 8, 0);
  const std::vector<uint32_t> loops = LoopsOf(f, "B");
  EXPECT_EQ(Line(Fuse(f, {}), f), "fuse: there are no loops");
  EXPECT_EQ(Line(Fuse(f, {loops[1], loops[0]}), f), "fuse: loop i is not the only statement in loop j");
  const Function chain = testing::ElementwiseChain(4, 8);
  EXPECT_EQ(Line(Fuse(chain, {LoopsOf(chain, "B")[0], LoopsOf(chain, "C")[1]}), chain),
            "fuse: loop j is not the only statement in loop i");
  const Function triangle = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((8, 8), "float32")):
          for i in range(8):
              for j in range(i + 1):
                  with T.block("A"):
                      vi, vj = T.axis.remap("SS", [i, j])
                      A[vi, vj] = T.float32(1))");
  EXPECT_EQ(Line(Fuse(triangle, LoopsOf(triangle, "A")), triangle),
            "fuse: the extent i + 1 of loop j depends on loop i");
  const Function large = testing::Matmul(4096, 4096, 4096);
  EXPECT_EQ(Line(Fuse(large, LoopsOf(large, "C")), large),
            "fuse: the product of the extents is too large for loop i, which counts in int32");
}

TEST(Reorder, FillsThePlacesOfTheLoopsNamed) {
  const Function before = testing::Matmul(4, 8, 16);
  const std::vector<uint32_t> loops = LoopsOf(before, "C");
  Outcome<ReorderResult> reordered = Reorder(before, {loops[2], loops[0]});
  ASSERT_TRUE(reordered.ok());
  EXPECT_EQ(LoopNamesOf(reordered->function, "C"), (Names{"k", "j", "i"}));
  EXPECT_EQ(LoopsOf(reordered->function, "C"), (std::vector<uint32_t>{loops[2], loops[1], loops[0]}));
  EXPECT_TRUE(SameResults(before, reordered->function));
}

TEST(Reorder, SeveralBlocksThatStayWithinAnIteration) {
  const Function before = testing::ElementwiseInOneNest(4, 8, 0);
  const std::vector<uint32_t> loops = LoopsOf(before, "B");
  Outcome<ReorderResult> reordered = Reorder(before, {loops[1], loops[0]});
  ASSERT_TRUE(reordered.ok()) << Line(reordered, before);
  EXPECT_TRUE(SameResults(before, reordered->function));
}

// Two blocks under the same condition of a rest: where the reader runs, the writer has run.
TEST(Kinds, BlocksUnderOneConditionStayWithinAnIteration) {
  const auto program = [](const std::string& first, const std::string& second) {
    return ParseFunctionOrDie(absl::StrCat(R"(
      @T.prim_func
      def main(A: T.Buffer((13,), "float32"), B: T.Buffer((13,), "float32"), C: T.Buffer((13,), "float32")):
          for i, j in T.grid(4, 4):
              with T.block("B"):
                  vi = T.axis.spatial(13, i * 4 + j)
                  T.where()",
                                           first, R"()
                  B[vi] = A[vi] + T.float32(1)
              with T.block("C"):
                  vi = T.axis.spatial(13, i * 4 + j)
                  T.where()",
                                           second, R"()
                  C[vi] = B[vi] * T.float32(2))"));
  };
  const Function same = program("i * 4 + j < 13", "i * 4 + j < 13");
  Outcome<Function> vectorized = Vectorize(same, LoopsOf(same, "B")[1]);
  ASSERT_TRUE(vectorized.ok()) << Line(vectorized, same);
  EXPECT_TRUE(SameResults(same, *vectorized));
  const Function more = program("i * 4 + j < 13", "i * 4 + j < 13 and j < 3");
  EXPECT_EQ(Line(Vectorize(more, LoopsOf(more, "B")[1]), more), "accepted");
  const Function less = program("i * 4 + j < 13 and j < 3", "i * 4 + j < 13");
  EXPECT_EQ(Line(Vectorize(less, LoopsOf(less, "B")[1]), less),
            "vectorize: block C may use elements of B that block B writes in another iteration of loop j");
}

// A padded stage in tiles that overlap from one iteration to the next, as a tuner of convolutions makes them: each
// iteration fills a copy of its own.
TEST(Kinds, IterationsMayFillOverlappingTilesOfTheirOwn) {
  const Function before = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((14, 8), "float32"), B: T.Buffer((12, 16), "float32")):
          with T.block("root"):
              T.reads(A[0:14, 0:8], B[0:12, 0:16])
              T.writes(B[0:12, 0:16])
              P = T.alloc_buffer((16, 8), "float32")
              for f in range(24):
                  for r in range(3):
                      for x, y in T.grid(2, 8):
                          with T.block("P"):
                              T.where(r * 2 + f // 4 * 2 + f % 4 // 2 + x < 16)
                              vx = T.axis.spatial(16, r * 2 + f // 4 * 2 + f % 4 // 2 + x)
                              vy = T.axis.spatial(8, y)
                              P[vx, vy] = T.if_then_else(1 <= vx and vx < 15, A[vx - 1, vy], T.float32(0))
                      for c, k in T.grid(8, 8):
                          with T.block("B"):
                              vx = T.axis.spatial(12, f // 4 * 2 + f % 4 // 2)
                              vc = T.axis.spatial(16, f % 2 * 8 + c)
                              vr, vk = T.axis.remap("RR", [r, k])
                              with T.init():
                                  B[vx, vc] = T.float32(0)
                              B[vx, vc] = B[vx, vc] + P[vx + vr * 2, vc // 16 * 8 + vk])");
  Outcome<Function> parallel = Parallel(before, LoopsOf(before, "B")[0]);
  ASSERT_TRUE(parallel.ok()) << Line(parallel, before);
  EXPECT_TRUE(SameResults(before, *parallel));
  EXPECT_EQ(Line(Vectorize(before, LoopsOf(before, "B")[0]), before),
            "vectorize: the bindings of block P are not affine");
}

TEST(Reorder, Refuses) {
  const Function f = testing::Matmul(4, 8, 16);
  const std::vector<uint32_t> loops = LoopsOf(f, "C");
  EXPECT_EQ(Line(Reorder(f, {}), f), "reorder: there are no loops");
  EXPECT_EQ(Line(Reorder(f, {loops[0], loops[1], loops[0]}), f), "reorder: loop i is named twice");
  const Function chain = testing::ElementwiseChain(4, 8);
  EXPECT_EQ(Line(Reorder(chain, {LoopsOf(chain, "B")[0], LoopsOf(chain, "C")[1]}), chain),
            "reorder: a block lies between the loops and loop j");
  const Function shifted = testing::ElementwiseInOneNest(4, 8, 1);
  EXPECT_EQ(Line(Reorder(shifted, {LoopsOf(shifted, "B")[1], LoopsOf(shifted, "B")[0]}), shifted),
            "reorder: block C may use elements of B that block B writes in another iteration of loop i");
  const Function not_affine = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((16,), "float32")):
          for i, j in T.grid(4, 4):
              with T.block("A"):
                  vi = T.axis.spatial(16, i * j)
                  A[vi] = A[vi] * T.float32(2))");
  EXPECT_EQ(Line(Reorder(not_affine, {LoopsOf(not_affine, "A")[1], LoopsOf(not_affine, "A")[0]}), not_affine),
            "reorder: the bindings of block A are not affine");
  const Function opaque = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((4, 4), "float32")):
          for i, j in T.grid(4, 4):
              with T.block("A"):
                  vi = T.axis.opaque(4, i)
                  vj = T.axis.spatial(4, j)
                  A[vi, vj] = T.float32(1))");
  EXPECT_EQ(Line(Reorder(opaque, {LoopsOf(opaque, "A")[1], LoopsOf(opaque, "A")[0]}), opaque),
            "reorder: the iterator vi of block A is opaque, neither spatial nor reduce");
}

// Each step updates elements that another instance updated in the step before, and the updates do not commute.
TEST(Reorder, KeepsTheStepsThatMoveElements) {
  const Function before = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((3, 4, 4), "float32"), C: T.Buffer((3, 4), "float32")):
          for r, k, i, j in T.grid(3, 4, 2, 2):
              with T.block("C"):
                  vr = T.axis.spatial(3, r)
                  vi = T.axis.spatial(4, i * 2 + j)
                  vk = T.axis.reduce(4, k)
                  C[vr, (vi + vk) % 4] = C[vr, (vi + vk) % 4] * T.float32(0.5) + A[vr, vi, vk])");
  const std::vector<uint32_t> loops = LoopsOf(before, "C");
  EXPECT_EQ(Line(Reorder(before, {loops[2], loops[1]}), before),
            "reorder: block C would combine into C in another order, and its updates do not commute");
  // Within one step, and of rows, any order is right.
  for (const auto& [first, second] : {std::pair(3, 2), std::pair(1, 0)}) {
    const auto reordered = Reorder(before, {loops[first], loops[second]});
    ASSERT_TRUE(reordered.ok()) << Line(reordered, before);
    EXPECT_TRUE(SameResults(before, reordered->function));
  }
}

TEST(Reorder, RefusesWhereAnInitWouldComeTooLate) {
  const Function matmul = testing::Matmul(5, 7, 9);
  const std::vector<uint32_t> loops = LoopsOf(matmul, "C");
  Outcome<FuseResult> fused = Fuse(matmul, {loops[1], loops[2]});
  ASSERT_TRUE(fused.ok());
  Outcome<SplitResult> split = Split(fused->function, fused->loop, {2, Expr()});
  ASSERT_TRUE(split.ok());
  const Function f = split->function;
  EXPECT_EQ(Line(Reorder(f, {split->loops[1], split->loops[0]}), f),
            "reorder: loop j_k_fused_0 and loop j_k_fused_1 feed spatial and reduce iterators of block C alike, whose "
            "init would not run first in another order");
  Outcome<ReorderResult> around = Reorder(f, {split->loops[0], loops[0], split->loops[1]});
  ASSERT_TRUE(around.ok()) << Line(around, f);
  EXPECT_TRUE(SameResults(matmul, around->function));
}

TEST(LoopKinds, SpatialLoopsRunAtOnce) {
  const Function before = testing::Matmul(4, 8, 16);
  const std::vector<uint32_t> loops = LoopsOf(before, "C");
  Outcome<Function> parallel = Parallel(before, loops[0]);
  ASSERT_TRUE(parallel.ok()) << Line(parallel, before);
  Outcome<Function> vectorized = Vectorize(*parallel, loops[1]);
  ASSERT_TRUE(vectorized.ok()) << Line(vectorized, before);
  Outcome<Function> unrolled = Unroll(*vectorized, loops[2]);
  ASSERT_TRUE(unrolled.ok());
  EXPECT_EQ(FindLoop(*unrolled, loops[0])->kind, ForKind::kParallel);
  EXPECT_EQ(FindLoop(*unrolled, loops[1])->kind, ForKind::kVectorized);
  EXPECT_EQ(FindLoop(*unrolled, loops[2])->kind, ForKind::kUnrolled);
  EXPECT_TRUE(SameResults(before, *unrolled, {.check_races = true}));
}

TEST(LoopKinds, RefuseElementsThatStepsMove) {
  const Function before = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((4, 4), "float32"), C: T.Buffer((4,), "float32")):
          for i, k in T.grid(4, 4):
              with T.block("C"):
                  vi, vk = T.axis.remap("SR", [i, k])
                  C[(vi + vk) % 4] = C[(vi + vk) % 4] + A[vi, vk])");
  EXPECT_EQ(Line(Parallel(before, LoopsOf(before, "C")[0]), before),
            "parallel: instances of block C in different iterations of loop i may write the same elements of C");
  const auto reordered = Reorder(before, {LoopsOf(before, "C")[1], LoopsOf(before, "C")[0]});
  ASSERT_TRUE(reordered.ok()) << Line(reordered, before);
  const auto steps = Parallel(reordered->function, LoopsOf(before, "C")[0]);
  ASSERT_TRUE(steps.ok()) << Line(steps, reordered->function);
  EXPECT_TRUE(SameResults(before, *steps, {.check_races = true}));
}

// Steps of a sweep: each reads what the one before wrote, and what one writes nobody else in it reads.
TEST(LoopKinds, StepsThatReadTheOneBeforeRunAtOnce) {
  const Function sweep = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((2, 66), "int32")):
    for t, i0, i1 in T.grid(8, 4, 16):
        with T.block("A"):
            vt = T.axis.opaque(8, t)
            vi = T.axis.spatial(64, i0 * 16 + i1)
            A[(vt + 1) % 2, vi + 1] = A[vt % 2, vi] + A[vt % 2, vi + 2])");
  Outcome<Function> lanes = Vectorize(sweep, LoopsOf(sweep, "A")[2]);
  ASSERT_TRUE(lanes.ok()) << Line(lanes, sweep);
  Outcome<Function> both = Parallel(*lanes, LoopsOf(*lanes, "A")[1]);
  ASSERT_TRUE(both.ok()) << Line(both, *lanes);
  EXPECT_TRUE(SameResults(sweep, *both, {.check_races = true}));
  EXPECT_NE(Line(Parallel(sweep, LoopsOf(sweep, "A")[0]), sweep), "accepted");
  // Blocks run at once; threads of one do not know of each other's steps.
  Outcome<Function> blocks = Bind(sweep, LoopsOf(sweep, "A")[1], "blockIdx.x");
  ASSERT_TRUE(blocks.ok()) << Line(blocks, sweep);
  Outcome<Function> threads = Bind(*blocks, LoopsOf(*blocks, "A")[2], "threadIdx.x");
  EXPECT_TRUE(threads.ok()) << Line(threads, *blocks);
  const Function inside = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((4, 9, 66), "int32")):
    for b in T.thread_binding(4, thread="blockIdx.x"):
        for t, i in T.grid(8, 64):
            with T.block("A"):
                vb = T.axis.spatial(4, b)
                vt = T.axis.opaque(8, t)
                vi = T.axis.spatial(64, i)
                A[vb, vt + 1, vi + 1] = A[vb, vt, vi] + A[vb, vt, vi + 2])");
  EXPECT_EQ(Line(Bind(inside, LoopsOf(inside, "A")[2], "threadIdx.x"), inside),
            "bind: instances of block A that depend on each other by A run in different iterations of loop i");
}

// An elimination: what is read lies in front of what is written.
TEST(LoopKinds, PredicatesKeepInstancesApart) {
  const auto elimination = [](const std::string& condition) {
    return ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((16, 16), "int32")):
    for k, i, j in T.grid(16, 16, 16):
        with T.block("A"):
            vk = T.axis.opaque(16, k)
            vi, vj = T.axis.remap("SS", [i, j])
            T.where()" + condition +
                              R"()
            A[vi, vj] = T.max(A[vi, vj], T.min(A[vi, vk], A[vk, vj])))");
  };
  const Function below = elimination("i > k and j > k");
  Outcome<Function> rows = Parallel(below, LoopsOf(below, "A")[1]);
  ASSERT_TRUE(rows.ok()) << Line(rows, below);
  Outcome<Function> lanes = Vectorize(*rows, LoopsOf(*rows, "A")[2]);
  ASSERT_TRUE(lanes.ok()) << Line(lanes, *rows);
  EXPECT_TRUE(SameResults(below, *lanes, {.check_races = true}));
  for (const char* condition : {"i > k", "i >= k and j > k"}) {
    const Function other = elimination(condition);
    EXPECT_NE(Line(Parallel(other, LoopsOf(other, "A")[condition[2] == '>' && condition[3] == '=' ? 1 : 2]), other),
              "accepted");
  }
}

// A tile of 16 x 10 of a matrix of 32 x 64, copied by a loop that was fused and split: its last iterations are idle,
// and so is the part of the last tile that lies beyond the matrix.
TEST(LoopKinds, CopiesWithTwoTailsRunAtOnce) {
  const auto copy = [](const std::string& condition) {
    return ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((32, 64), "int32"), B: T.Buffer((32, 64), "int32")):
    for i, k in T.grid(2, 7):
        for f0, f1, f2 in T.grid(2, 16, 8):
            with T.block("B"):
                v0 = T.axis.spatial(32, i * 16 + (f0 * 128 + f1 * 8 + f2) // 10)
                v1 = T.axis.spatial(64, k * 10 + (f0 * 128 + f1 * 8 + f2) % 10)
                T.where()" + condition +
                              R"()
                B[v0, v1] = A[v0, v1]
)");
  };
  const Function tails = copy("k * 10 + ((f0 * 16 + f1) * 8 + f2) % 10 < 64 and (f0 * 16 + f1) * 8 + f2 < 160");
  Outcome<Function> vectorized = Vectorize(tails, LoopsOf(tails, "B")[4]);
  ASSERT_TRUE(vectorized.ok()) << Line(vectorized, tails);
  EXPECT_TRUE(SameResults(tails, *vectorized, {.check_races = true}));
  Outcome<Function> parallel = Parallel(tails, LoopsOf(tails, "B")[2]);
  ASSERT_TRUE(parallel.ok()) << Line(parallel, tails);
  EXPECT_TRUE(SameResults(tails, *parallel, {.check_races = true}));
  // Rows of the next tile would be written too.
  const Function overlap = copy("k * 10 + ((f0 * 16 + f1) * 8 + f2) % 10 < 64 and (f0 * 16 + f1) * 8 + f2 < 170");
  EXPECT_NE(Line(Parallel(overlap, LoopsOf(overlap, "B")[0]), overlap), "accepted");
}

TEST(LoopKinds, Refuse) {
  const Function f = testing::Matmul(4, 8, 16);
  const uint32_t k = LoopsOf(f, "C")[2];
  EXPECT_EQ(Line(Parallel(f, k), f),
            "parallel: the iterator vk of block C, which depends on loop k, is reduce, not spatial; "
            "rfactor makes partial sums whose loop is");
  EXPECT_EQ(Line(Vectorize(f, k), f),
            "vectorize: the iterator vk of block C, which depends on loop k, is reduce, not spatial; "
            "rfactor makes partial sums whose loop is");
  EXPECT_EQ(Line(Bind(f, k, "blockIdx.x"), f),
            "bind: the iterator vk of block C, which depends on loop k, is reduce, not spatial; "
            "rfactor makes partial sums whose loop is");
  EXPECT_EQ(Line(Bind(f, k, "threadIdx.x"), f), "accepted");
  EXPECT_EQ(Line(Bind(f, k, "threadIdx.w"), f),
            "bind: there is no thread axis threadIdx.w; did you mean threadIdx.x, threadIdx.y or threadIdx.z?");
  const Function shifted = testing::ElementwiseInOneNest(4, 8, 1);
  EXPECT_EQ(Line(Parallel(shifted, LoopsOf(shifted, "B")[1]), shifted),
            "parallel: block C may use elements of B that block B writes in another iteration of loop j");
  EXPECT_EQ(Line(Parallel(shifted, LoopsOf(shifted, "B")[0]), shifted), "accepted");
  const Function same_element = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((4,), "float32")):
          for i, j in T.grid(4, 4):
              with T.block("A"):
                  vi = T.axis.spatial(4, i)
                  A[vi] = T.float32(1))");
  EXPECT_EQ(Line(Parallel(same_element, LoopsOf(same_element, "A")[1]), same_element),
            "parallel: block A writes the same elements of A in every iteration of loop j");
}

TEST(LoopKinds, RunOpaqueBlocksAtOnceWhereEachIterationHasASliceOfItsOwn) {
  const auto parallel = [](const std::string& body) {
    const Function f = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((18,), "int32"), B: T.Buffer((18,), "int32")):
    for i in range(8):
        with T.block("B"):
)" + body);
    return Line(Parallel(f, LoopsOf(f, "B")[0]), f);
  };
  constexpr char kRepeats[] = "parallel: the iterator vi of block B is opaque, neither spatial nor reduce";
  EXPECT_EQ(parallel("            B[i + 1] = A[i] + 1\n"), "accepted");
  EXPECT_EQ(parallel("            B[15 - i * 2] = B[15 - i * 2] + 1\n"), "accepted");
  EXPECT_EQ(parallel("            for j in range(2):\n                B[i * 2 + j] = A[i * 2 + j]\n"), "accepted");
  EXPECT_EQ(parallel("            for j in range(3):\n                B[i * 2 + j] = A[j]\n"), kRepeats);
  EXPECT_EQ(parallel("            B[i + 1] = B[i] + 1\n"), kRepeats);
  EXPECT_EQ(parallel("            B[i // 2] = A[i]\n"), kRepeats);
}

TEST(AddUnitLoop, WrapsALoopOrABlock) {
  const Function before = testing::ElementwiseChain(4, 8);
  Outcome<AddUnitLoopResult> inner = AddUnitLoop(before, BlockNamed(before, "B"));
  ASSERT_TRUE(inner.ok());
  Outcome<AddUnitLoopResult> outer = AddUnitLoop(inner->function, LoopsOf(before, "B")[0]);
  ASSERT_TRUE(outer.ok());
  EXPECT_EQ(LoopNamesOf(outer->function, "B"), (Names{"u", "i", "j", "u"}));
  EXPECT_TRUE(SameResults(before, outer->function));
  EXPECT_EQ(Line(AddUnitLoop(before, 1), before), "add_unit_loop: block root is the root block");
}

TEST(Annotate, AddsAndRemoves) {
  const Function f = testing::ElementwiseChain(4, 8);
  const uint32_t block = BlockNamed(f, "B"), loop = LoopsOf(f, "B")[0];
  Outcome<Function> annotated = Annotate(f, block, "hint", MakeAnnotation(Expr(3)));
  ASSERT_TRUE(annotated.ok());
  EXPECT_EQ(FindBlock(*annotated, block)->block->annotations.count("hint"), 1u);
  Outcome<Function> twice = Annotate(*annotated, block, "hint", MakeAnnotation(Expr(4)));
  ASSERT_TRUE(twice.ok());
  EXPECT_TRUE(StructuralEqual(*twice, *annotated));  // what is there stays
  EXPECT_EQ(Line(Unannotate(f, loop, "hint"), f), "unannotate: loop i has no annotation hint");
  Outcome<Function> again = Unannotate(*annotated, block, "hint");
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(StructuralEqual(*again, f));
}

TEST(Split, KeepsTheSumOfAFusedLoopInDivisions) {
  const Function before = testing::ElementwiseChain(12, 8);
  Outcome<FuseResult> fused = Fuse(before, LoopsOf(before, "B"));
  ASSERT_TRUE(fused.ok());
  Outcome<SplitResult> split = Split(fused->function, fused->loop, {Expr(), 16});
  ASSERT_TRUE(split.ok());
  const BlockRealizeNode* block = FindBlock(split->function, BlockNamed(before, "B"));
  EXPECT_EQ(Print(block->bindings[0]), "(i_j_fused_0 * 16 + i_j_fused_1) // 8");
  EXPECT_EQ(Print(block->bindings[1]), "(i_j_fused_0 * 16 + i_j_fused_1) % 8");
  EXPECT_TRUE(SameResults(before, split->function));
}

TEST(LoopKinds, RefuseInstancesThatSeveralIterationsRun) {
  const Function f = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(8, i // 2)
            B[vi] = A[vi]
    for i in range(7):
        with T.block("C"):
            vi = T.axis.opaque(8, i + 1)
            C[vi] = A[vi]
)");
  const uint32_t b = LoopsOf(f, "B")[0], c = LoopsOf(f, "C")[0];
  EXPECT_EQ(Line(Parallel(f, b), f), "parallel: an instance of block B may run in several iterations of loop i");
  EXPECT_EQ(Line(Vectorize(f, b), f), "vectorize: an instance of block B may run in several iterations of loop i");
  EXPECT_EQ(Line(Bind(f, b, "threadIdx.x"), f), "bind: an instance of block B may run in several iterations of loop i");
  EXPECT_EQ(Line(Parallel(f, c), f), "parallel: the iterator vi of block C is opaque, neither spatial nor reduce");
  EXPECT_TRUE(Unroll(f, b).ok());
}

}  // namespace
}  // namespace tilewright
