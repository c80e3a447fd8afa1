#include "schedule/reduction/decompose_reduction.h"

#include <gtest/gtest.h>

#include "ir/script/parse_or_die.h"
#include "schedule/loops/split.h"
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

TEST(DecomposeReduction, PutsTheInitBeforeTheLoop) {
  const Function before = testing::Matmul(4, 8, 16);
  const std::vector<uint32_t> loops = LoopsOf(before, "C");
  const uint32_t block = BlockNamed(before, "C");
  Outcome<DecomposeReductionResult> result = DecomposeReduction(before, block, loops[1]);
  ASSERT_TRUE(result.ok());
  ExpectProgram(result->function, R"(
      @T.prim_func
      def main(A: T.Buffer((4, 16), "float32"), B: T.Buffer((8, 16), "float32"), C: T.Buffer((4, 8), "float32")):
          T.func_attr({"tir.noalias": True})
          for i in range(4):
              for j_init in range(8):
                  with T.block("C_init"):
                      vi, vj = T.axis.remap("SS", [i, j_init])
                      T.reads()
                      T.writes(C[vi, vj])
                      C[vi, vj] = T.float32(0)
              for j, k in T.grid(8, 16):
                  with T.block("C_update"):
                      vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                      T.reads(C[vi, vj], A[vi, vk], B[vj, vk])
                      T.writes(C[vi, vj])
                      C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vj, vk])");
  ExpectEquivalent(before, result->function);
  EXPECT_EQ(BlockNamed(result->function, "C_update"), block);
  EXPECT_EQ(BlockNamed(result->function, "C_init"), result->init_block);
  EXPECT_EQ(FindLoop(result->function, LoopsOf(result->function, "C_init")[1])->var.name(), "j_init");
}

TEST(DecomposeReduction, LetsOthersUseWhatTheirIterationComputed) {
  const Function before = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((4, 16), "float32"), C: T.Buffer((4,), "float32"), D: T.Buffer((4,), "float32")):
          for i in range(4):
              for k in range(16):
                  with T.block("C"):
                      vi, vk = T.axis.remap("SR", [i, k])
                      with T.init():
                          C[vi] = T.float32(0)
                      C[vi] = C[vi] + A[vi, vk]
              with T.block("D"):
                  vi = T.axis.spatial(4, i)
                  D[vi] = C[vi])");
  Outcome<DecomposeReductionResult> result =
      DecomposeReduction(before, BlockNamed(before, "C"), LoopsOf(before, "C")[0]);
  ASSERT_TRUE(result.ok()) << ReasonOf(result, before);
  ExpectEquivalent(before, result->function);
}

TEST(DecomposeReduction, KeepsTheConditionsOfTheSpatialIterators) {
  const Function matmul = testing::Matmul(4, 7, 13);
  Outcome<SplitResult> j = Split(matmul, LoopsOf(matmul, "C")[1], {Expr(), 4});
  ASSERT_TRUE(j.ok());
  Outcome<SplitResult> k = Split(j->function, LoopsOf(matmul, "C")[2], {Expr(), 4});
  ASSERT_TRUE(k.ok());
  Outcome<DecomposeReductionResult> result = DecomposeReduction(k->function, BlockNamed(matmul, "C"), j->loops[0]);
  ASSERT_TRUE(result.ok());
  const Function after = result->function;
  EXPECT_EQ(testing::LoopNamesOf(after, "C_init"), (std::vector<std::string>{"i", "j_0_init", "j_1_init"}));
  testing::ExpectContains(after, R"(
      with T.block("C_init"):
          vi = T.axis.spatial(4, i)
          vj = T.axis.spatial(7, j_0_init * 4 + j_1_init)
          T.where(j_0_init * 4 + j_1_init < 7))");
  ExpectEquivalent(matmul, after);
}

// Rows and columns are parts of a number that the loop outside begins and the loop inside ends: each instance once.
TEST(DecomposeReduction, LoopsThatWereFusedAndSplit) {
  const Function before = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((13, 17), "float32"), W: T.Buffer((17, 11), "float32"), C: T.Buffer((13, 11), "float32")):
    for a, k, b in T.grid(9, 17, 16):
        with T.block("C"):
            vi = T.axis.spatial(13, (a * 16 + b) // 11)
            vj = T.axis.spatial(11, (a * 16 + b) % 11)
            vk = T.axis.reduce(17, k)
            T.where(a * 16 + b < 143)
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * W[vk, vj]
)");
  const auto result = DecomposeReduction(before, BlockNamed(before, "C"), LoopsOf(before, "C")[1]);
  ASSERT_TRUE(result.ok()) << ReasonOf(result, before);
  ExpectEquivalent(before, result->function);
  // Without the loop outside f // 2 is the same for two iterations.
  const Function repeats = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((13, 17), "float32"), C: T.Buffer((13,), "float32")):
    for a, k, b in T.grid(13, 17, 2):
        with T.block("C"):
            vi = T.axis.spatial(13, (a * 2 + b) // 2)
            vk = T.axis.reduce(17, k)
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk]
)");
  EXPECT_NE(ReasonOf(DecomposeReduction(repeats, BlockNamed(repeats, "C"), LoopsOf(repeats, "C")[1]), repeats),
            "accepted");
}

// An init goes without reads of what it sets; the update does not, whatever else it reads of that buffer.
TEST(DecomposeReduction, UpdatesDeclareTheirAccumulatorBesideOtherRows) {
  const Function before = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(X: T.Buffer((4, 8), "float32")):
          for j, k in T.grid(8, 8):
              with T.block("x"):
                  vj, vk = T.axis.remap("SR", [j, k])
                  with T.init():
                      X[1, vj] = T.float32(0)
                  X[1, vj] = X[1, vj] + X[0, vj] * X[2, vk])");
  Outcome<DecomposeReductionResult> result =
      DecomposeReduction(before, BlockNamed(before, "x"), LoopsOf(before, "x")[1]);
  ASSERT_TRUE(result.ok());
  ExpectEquivalent(before, result->function);
  ExpectProgram(result->function, R"(
      @T.prim_func
      def main(X: T.Buffer((4, 8), "float32")):
          for j in range(8):
              with T.block("x_init"):
                  vj = T.axis.spatial(8, j)
                  T.reads()
                  T.writes(X[1, vj])
                  X[1, vj] = T.float32(0)
              for k in range(8):
                  with T.block("x_update"):
                      vj, vk = T.axis.remap("SR", [j, k])
                      T.reads(X[1, vj], X[0, vj], X[2, vk])
                      T.writes(X[1, vj])
                      X[1, vj] = X[1, vj] + X[0, vj] * X[2, vk])");
}

TEST(DecomposeReduction, Refuses) {
  const Function f = testing::Matmul(4, 8, 16);
  const uint32_t block = BlockNamed(f, "C");
  const std::vector<uint32_t> loops = LoopsOf(f, "C");
  EXPECT_EQ(ReasonOf(DecomposeReduction(f, 1, loops[0]), f), "root is the root block");
  EXPECT_EQ(ReasonOf(DecomposeReduction(f, 99, loops[0]), f), "the block no longer exists");
  EXPECT_EQ(ReasonOf(DecomposeReduction(f, block, block), f), "C is a block, not a loop");
  const Function chain = testing::ElementwiseChain(4, 8);
  EXPECT_EQ(ReasonOf(DecomposeReduction(chain, BlockNamed(chain, "C"), LoopsOf(chain, "C")[0]), chain),
            "C is not a reduction block: it has no init");
  EXPECT_EQ(ReasonOf(DecomposeReduction(chain, BlockNamed(chain, "C"), LoopsOf(chain, "B")[0]), chain),
            "i is not above C");
  Outcome<SplitResult> k = Split(f, loops[2], {Expr(), 4});
  ASSERT_TRUE(k.ok());
  EXPECT_EQ(ReasonOf(DecomposeReduction(k->function, block, k->loops[1]), k->function),
            "k_0, outside of k_1, takes part in the reduction of C");
  const Function used = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((4, 16), "float32"), C: T.Buffer((4,), "float32"), D: T.Buffer((4,), "float32")):
          for i in range(4):
              for k in range(16):
                  with T.block("C"):
                      vi, vk = T.axis.remap("SR", [i, k])
                      with T.init():
                          C[vi] = T.float32(0)
                      C[vi] = C[vi] + A[vi, vk]
              with T.block("D"):
                  vi = T.axis.spatial(4, i)
                  D[vi] = C[3 - vi])");
  EXPECT_EQ(ReasonOf(DecomposeReduction(used, BlockNamed(used, "C"), LoopsOf(used, "C")[0]), used),
            "D is also below i and uses C");
  EXPECT_EQ(ReasonOf(DecomposeReduction(used, BlockNamed(used, "C"), LoopsOf(used, "C")[1]), used), "accepted");
  const Function mixed = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((4, 16), "float32"), C: T.Buffer((4,), "float32")):
          for i, k in T.grid(4, 16):
              with T.block("C"):
                  vi, vk = T.axis.remap("SR", [i, k])
                  T.where(i + k < 3)
                  with T.init():
                      C[vi] = T.float32(0)
                  C[vi] = C[vi] + A[vi, vk])");
  EXPECT_EQ(ReasonOf(DecomposeReduction(mixed, BlockNamed(mixed, "C"), LoopsOf(mixed, "C")[1]), mixed),
            "the condition i + k < 3 of C restricts spatial and reduce iterators together");
  // Every i has a first k.
  const Function shorter = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((4, 16), "float32"), C: T.Buffer((4,), "float32")):
          for i, k in T.grid(4, 16):
              with T.block("C"):
                  vi, vk = T.axis.remap("SR", [i, k])
                  T.where(i + k < 14)
                  with T.init():
                      C[vi] = T.float32(0)
                  C[vi] = C[vi] + A[vi, vk])");
  const auto decomposed = DecomposeReduction(shorter, BlockNamed(shorter, "C"), LoopsOf(shorter, "C")[1]);
  ASSERT_TRUE(decomposed.ok());
  testing::ExpectEquivalent(shorter, decomposed->function);
  // An iteration of u in which the block never runs may not run the init either.
  const Function sometimes = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((4, 16), "float32"), C: T.Buffer((4,), "float32")):
          for i, u, v, k in T.grid(4, 2, 2, 16):
              with T.block("C"):
                  vi, vk = T.axis.remap("SR", [i, k])
                  T.where(u * 2 + v < 1)
                  with T.init():
                      C[vi] = T.float32(0)
                  C[vi] = C[vi] + A[vi, vk])");
  EXPECT_EQ(ReasonOf(DecomposeReduction(sometimes, BlockNamed(sometimes, "C"), LoopsOf(sometimes, "C")[2]), sometimes),
            "the condition u * 2 + v < 1 of C restricts spatial and reduce iterators together");
  const Function split_mixed = Split(mixed, LoopsOf(mixed, "C")[0], {2, 2})->function;
  EXPECT_EQ(
      ReasonOf(DecomposeReduction(split_mixed, BlockNamed(mixed, "C"), LoopsOf(split_mixed, "C")[1]), split_mixed),
      "the condition i_0 * 2 + i_1 + k < 3 of C restricts spatial and reduce iterators together");
}

// Iterations of a loop of 23 compute each sum of 5 several times, which no rule about divisions of 23 by 6 tells.
TEST(DecomposeReduction, RefusesLoopsThatRepeatSums) {
  const Function f = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((5, 6), "float32"), C: T.Buffer((4, 5), "float32")):
          S = T.alloc_buffer((5,), "float32")
          for f in range(23):
              for k in range(6):
                  with T.block("S"):
                      vi = T.axis.spatial(5, f % 6)
                      vk = T.axis.reduce(6, k)
                      T.where(f % 6 < 5)
                      with T.init():
                          S[vi] = T.float32(0)
                      S[vi] = S[vi] + A[vi, vk]
              with T.block("C"):
                  v = T.axis.spatial(23, f)
                  T.where(f % 6 < 5)
                  C[v // 6, v % 6] = S[v % 6])");
  EXPECT_EQ(ReasonOf(DecomposeReduction(f, BlockNamed(f, "S"), LoopsOf(f, "S")[0]), f),
            "f runs the reduction of S again in each iteration, and its init would run only once");
  EXPECT_EQ(ReasonOf(DecomposeReduction(f, BlockNamed(f, "S"), LoopsOf(f, "S")[1]), f), "accepted");
}

TEST(DecomposeReduction, DeclaresWhatTheInitReads) {
  const Function f = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((4, 16), "float32"), bias: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
          for i, k in T.grid(4, 16):
              with T.block("C"):
                  vi, vk = T.axis.remap("SR", [i, k])
                  with T.init():
                      C[vi] = bias[vi]
                  C[vi] = C[vi] + A[vi, vk])");
  const auto result = DecomposeReduction(f, BlockNamed(f, "C"), LoopsOf(f, "C")[1]);
  ASSERT_TRUE(result.ok());
  ASSERT_EQ(FindBlock(result->function, result->init_block)->block->reads.size(), 1u);
  EXPECT_EQ(FindBlock(result->function, result->init_block)->block->reads[0].buffer->name, "bias");
  ExpectEquivalent(f, result->function);
}

}  // namespace
}  // namespace tilewright
