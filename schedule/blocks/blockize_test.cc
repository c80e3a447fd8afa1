#include "schedule/blocks/blockize.h"

#include <gtest/gtest.h>

#include "ir/script/parse_or_die.h"
#include "schedule/loops/reorder.h"
#include "schedule/loops/split.h"
#include "schedule/program/loop_tree.h"
#include "schedule/testing/equivalence.h"
#include "schedule/testing/expect.h"
#include "schedule/testing/programs.h"

namespace tilewright {
namespace {

using testing::BlockNamed;
using testing::ExpectEquivalent;
using testing::ExpectProgram;
using testing::LoopsOf;
using testing::ReasonOf;

// for i, j_0, j_1 with j_1 of extent `tile`.
Function SplitChain(int m, int n, int tile) {
  const Function chain = testing::ElementwiseChain(m, n);
  return Split(chain, LoopsOf(chain, "B")[1], {Expr(), tile})->function;
}

TEST(Blockize, ATileOfAnElementwiseBlock) {
  const Function before = SplitChain(4, 8, 4);
  Outcome<BlockizeResult> result = Blockize(before, LoopsOf(before, "B")[2]);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(FindBlock(result->function, result->block)->block->name, "B_o");
  testing::ExpectContains(result->function, R"(
      for i, j_0 in T.grid(4, 2):
          with T.block("B_o"):
              vi_o, vj_o = T.axis.remap("SS", [i, j_0])
              T.reads(A[vi_o, vj_o * 4:vj_o * 4 + 4])
              T.writes(B[vi_o, vj_o * 4:vj_o * 4 + 4])
              for j_1 in range(4):
                  with T.block("B"):
                      vj_i = T.axis.spatial(4, j_1)
                      T.reads(A[vi_o, vj_o * 4 + vj_i])
                      T.writes(B[vi_o, vj_o * 4 + vj_i])
                      B[vi_o, vj_o * 4 + vj_i] = A[vi_o, vj_o * 4 + vj_i] * T.float32(2))");
  ExpectEquivalent(before, result->function);
}

TEST(Blockize, AReductionWithItsInit) {
  const Function before = testing::Matmul(4, 8, 16);
  const std::vector<uint32_t> loops = LoopsOf(before, "C");
  Outcome<SplitResult> k = Split(before, loops[2], {Expr(), 4});
  ASSERT_TRUE(k.ok());
  Outcome<ReorderResult> reordered = Reorder(k->function, {loops[0], k->loops[0], loops[1], k->loops[1]});
  ASSERT_TRUE(reordered.ok());
  Outcome<BlockizeResult> result = Blockize(reordered->function, loops[1]);
  ASSERT_TRUE(result.ok());
  testing::ExpectContains(result->function, R"(
      for i, k_0 in T.grid(4, 4):
          with T.block("C_o"):
              vi_o = T.axis.spatial(4, i)
              vj_o = T.axis.spatial(1, 0)
              vk_o = T.axis.reduce(4, k_0)
              T.reads(A[vi_o, vk_o * 4:vk_o * 4 + 4], B[0:8, vk_o * 4:vk_o * 4 + 4])
              T.writes(C[vi_o, 0:8])
              with T.init():
                  for j in range(8):
                      with T.block("C_init"):
                          vj_i_init = T.axis.spatial(8, j)
                          T.reads()
                          T.writes(C[vi_o, vj_i_init])
                          C[vi_o, vj_i_init] = T.float32(0)
              for j, k_1 in T.grid(8, 4):
                  with T.block("C"):
                      vj_i, vk_i = T.axis.remap("SR", [j, k_1])
                      T.reads(C[vi_o, vj_i], A[vi_o, vk_o * 4 + vk_i], B[vj_i, vk_o * 4 + vk_i])
                      T.writes(C[vi_o, vj_i])
                      C[vi_o, vj_i] = C[vi_o, vj_i] + A[vi_o, vk_o * 4 + vk_i] * B[vj_i, vk_o * 4 + vk_i])");
  ExpectEquivalent(before, result->function);
}

TEST(Blockize, TurnsComparisonsAround) {
  const Function before = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8, 16), "float32")):
    for i, j in T.grid(8, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = T.Select(A[vi, vj] >= T.float32(1), A[vi, vj], T.float32(1))
)");
  Outcome<BlockizeResult> result = Blockize(before, LoopsOf(before, "B")[1]);
  ASSERT_TRUE(result.ok());
  testing::ExpectContains(result->function,
                          "B[vi_o, vj_i] = T.Select(T.float32(1) <= A[vi_o, vj_i], A[vi_o, vj_i], T.float32(1))");
  ExpectEquivalent(before, result->function);
}

TEST(Blockize, LoopsOfOneIterationStayInTheInit) {
  const Function before = testing::Matmul(16, 16, 32);
  const std::vector<uint32_t> loops = LoopsOf(before, "C");
  Outcome<SplitResult> j = Split(before, loops[1], {Expr(), 16});
  ASSERT_TRUE(j.ok());
  Outcome<BlockizeResult> result = Blockize(j->function, loops[0]);
  ASSERT_TRUE(result.ok()) << ReasonOf(result, j->function);
  testing::ExpectContains(result->function, R"(
          with T.init():
              for i, j_0, j_1 in T.grid(16, 1, 16):
                  with T.block("C_init"):
                      vi_i_init = T.axis.spatial(16, i)
                      vj_i_init = T.axis.spatial(16, j_0 * 16 + j_1))");
  ExpectEquivalent(before, result->function);

  result = Blockize(j->function, loops[0], /*preserve_unit_iters=*/false);
  ASSERT_TRUE(result.ok());
  testing::ExpectContains(result->function, R"(
          with T.init():
              for i, j_1 in T.grid(16, 16):
                  with T.block("C_init"):
                      vi_i_init, vj_i_init = T.axis.remap("SS", [i, j_1]))");
  ExpectEquivalent(before, result->function);
}

TEST(Blockize, IteratorsOfOneValueStayOutside) {
  const Function before = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((1, 8, 4), "float32"), B: T.Buffer((1, 8, 4), "float32")):
          for n, i, j in T.grid(1, 8, 4):
              with T.block("B"):
                  vn, vi, vj = T.axis.remap("SSS", [n, i, j])
                  B[vn, vi, vj] = A[vn, vi, vj])");
  Outcome<BlockizeResult> result = Blockize(before, LoopsOf(before, "B")[0]);
  ASSERT_TRUE(result.ok()) << ReasonOf(result, before);
  testing::ExpectContains(result->function, R"(
      with T.block("B_o"):
          vn_o = T.axis.spatial(1, 0)
          vi_o = T.axis.spatial(1, 0)
          vj_o = T.axis.spatial(1, 0)
          T.reads(A[vn_o, 0:8, 0:4])
          T.writes(B[vn_o, 0:8, 0:4])
          for n, i, j in T.grid(1, 8, 4):
              with T.block("B"):
                  vi_i, vj_i = T.axis.remap("SS", [i, j])
                  T.reads(A[vn_o, vi_i, vj_i])
                  T.writes(B[vn_o, vi_i, vj_i])
                  B[vn_o, vi_i, vj_i] = A[vn_o, vi_i, vj_i])");
  ExpectEquivalent(before, result->function);
  result = Blockize(before, LoopsOf(before, "B")[2], /*preserve_unit_iters=*/false);
  ASSERT_TRUE(result.ok()) << ReasonOf(result, before);
  testing::ExpectContains(result->function, "vn_o = T.axis.spatial(1, 0)");
  testing::ExpectContains(result->function, "T.reads(A[0, vi_o, 0:4])");
  ExpectEquivalent(before, result->function);
}

TEST(Blockize, IteratorsThatAreNotDividedMayStartAnywhere) {
  const Function before = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((6, 8), "float32")):
          for i, u, j in T.grid(5, 1, 8):
              with T.block("A"):
                  vi = T.axis.spatial(6, i + u + 1)
                  vj = T.axis.spatial(8, j)
                  A[vi, vj] = T.float32(1))");
  Outcome<BlockizeResult> result = Blockize(before, LoopsOf(before, "A")[1]);
  ASSERT_TRUE(result.ok()) << ReasonOf(result, before);
  ExpectEquivalent(before, result->function);
}

TEST(Blockize, LoopsThatRunAReductionAgainStayOutside) {
  const Function before = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((4, 8), "float32"), S: T.Buffer((4,), "float32")):
          for r, i, k in T.grid(2, 4, 8):
              with T.block("S"):
                  vi, vk = T.axis.remap("SR", [i, k])
                  with T.init():
                      S[vi] = T.float32(0)
                  S[vi] = S[vi] + A[vi, vk])");
  const std::vector<uint32_t> loops = LoopsOf(before, "S");
  EXPECT_EQ(ReasonOf(Blockize(before, loops[0]), before),
            "r runs the reduction of S again in each iteration, and its init would run only once");
  Outcome<BlockizeResult> inside = Blockize(before, loops[1], /*preserve_unit_iters=*/false);
  ASSERT_TRUE(inside.ok()) << ReasonOf(inside, before);
  ExpectEquivalent(before, inside->function);
  // What is left has iterators of one value, and is run again like before.
  EXPECT_EQ(ReasonOf(Blockize(inside->function, loops[0]), inside->function),
            "r runs the reduction of S_o again in each iteration, and its init would run only once");
}

TEST(Blockize, Refuses) {
  const Function one_nest = testing::ElementwiseInOneNest(4, 8, 0);
  EXPECT_EQ(ReasonOf(Blockize(one_nest, LoopsOf(one_nest, "B")[0]), one_nest),
            "i holds more than loops around one block");
  const Function uneven = SplitChain(4, 10, 4);
  EXPECT_EQ(ReasonOf(Blockize(uneven, LoopsOf(uneven, "B")[2]), uneven),
            "the condition j_0 * 4 + j_1 < 10 of B is not divided by the loops from j_1 on");
  const Function scattered = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((8, 2), "float32")):
          for i, j in T.grid(4, 4):
              with T.block("A"):
                  vi = T.axis.spatial(8, j * 2 + i // 2)
                  vj = T.axis.spatial(2, i % 2)
                  A[vi, vj] = T.float32(1))");
  EXPECT_EQ(ReasonOf(Blockize(scattered, LoopsOf(scattered, "A")[1]), scattered),
            "the iterator vi of A is bound to j * 2 + i // 2, which the loops from j on do not divide");
  const Function shifted = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((4, 10), "float32")):
          for i, j in T.grid(4, 8):
              with T.block("A"):
                  vi = T.axis.spatial(4, i)
                  vj = T.axis.spatial(10, j + 2)
                  A[vi, vj] = T.float32(1))");
  EXPECT_EQ(ReasonOf(Blockize(shifted, LoopsOf(shifted, "A")[1]), shifted),
            "the iterator vj of A starts at 2, not at 0");
  const Function triangle = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((8, 8), "float32")):
          for i in range(8):
              for j in range(i + 1):
                  with T.block("A"):
                      vi, vj = T.axis.remap("SS", [i, j])
                      A[vi, vj] = T.float32(1))");
  EXPECT_EQ(ReasonOf(Blockize(triangle, LoopsOf(triangle, "A")[1]), triangle),
            "the range of j depends on i, outside of the block");
  EXPECT_EQ(ReasonOf(Blockize(triangle, BlockNamed(triangle, "A")), triangle), "A is a block, not a loop");
}

TEST(Blockize, NeighborsBecomeOneBlock) {
  const Function before = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4, 8), "float32"), S: T.Buffer((4,), "float32")):
    B = T.alloc_buffer((4, 8))
    for i in range(4):
        for j in range(8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)
        for j in range(8):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] + T.float32(1)
        for j in range(8):
            with T.block("S"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    S[vi] = T.float32(0)
                S[vi] = S[vi] + B[vi, vj]
)");
  const uint32_t b = BlockNamed(before, "B"), c = BlockNamed(before, "C"), s = BlockNamed(before, "S");
  Outcome<BlockizeResult> result = Blockize(before, std::vector<uint32_t>{c, b});
  ASSERT_TRUE(result.ok()) << ReasonOf(result, before);
  testing::ExpectContains(result->function, R"(
        with T.block("outer_C_B_"):
            vi_o = T.axis.spatial(4, i)
            vj_o = T.axis.spatial(1, 0)
            T.reads(B[vi_o, 0:8], A[vi_o, 0:8])
            T.writes(C[vi_o, 0:8], B[vi_o, 0:8])
            for j in range(8):
                with T.block("B"):
                    vj_i = T.axis.spatial(8, j)
                    T.reads(A[vi_o, vj_i])
                    T.writes(B[vi_o, vj_i])
                    B[vi_o, vj_i] = A[vi_o, vj_i] * T.float32(2))");
  ExpectEquivalent(before, result->function);
  EXPECT_EQ(ReasonOf(Blockize(before, std::vector<uint32_t>{b}), before), "a list of blocks has two at least");
  EXPECT_EQ(ReasonOf(Blockize(before, std::vector<uint32_t>{b, s}), before),
            "B and the other blocks are not consecutive, each in loops of its own");
  EXPECT_EQ(ReasonOf(Blockize(before, std::vector<uint32_t>{c, s}), before),
            "the outer iterator vj_o of S is reduce, not spatial");
}

}  // namespace
}  // namespace tilewright
