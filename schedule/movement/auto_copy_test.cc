#include "schedule/movement/auto_copy.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "ir/script/parse_or_die.h"
#include "schedule/loops/reorder.h"
#include "schedule/loops/split.h"
#include "schedule/program/loop_tree.h"
#include "schedule/reduction/decompose_reduction.h"
#include "schedule/testing/equivalence.h"
#include "schedule/testing/expect.h"
#include "schedule/testing/programs.h"

namespace tilewright {
namespace {

using testing::BlockNamed;
using testing::ExpectContains;
using testing::ExpectEquivalent;
using testing::LoopsOf;
using testing::ReasonOf;

// The loops i_0, j_0, k_0, i_1, j_1, k_1 of a matmul, tiled by 4.
Function TiledMatmul(int m, int n, int l) {
  Function f = testing::Matmul(m, n, l);
  for (size_t i = 0; i < 3; ++i) f = Split(f, LoopsOf(f, "C")[2 * i], {Expr(), 4})->function;
  const std::vector<uint32_t> loops = LoopsOf(f, "C");
  Outcome<ReorderResult> reordered = Reorder(f, {loops[0], loops[2], loops[4], loops[1], loops[3], loops[5]});
  EXPECT_TRUE(reordered.ok());
  return reordered->function;
}

Function Read(const Function& f, size_t loop, int index, std::string_view scope = "shared") {
  Outcome<AutoCopyResult> result = ReadAt(f, LoopsOf(f, "C")[loop], BlockNamed(f, "C"), index, scope);
  EXPECT_TRUE(result.ok()) << ReasonOf(result, f);
  return result.ok() ? result->function : f;
}
Function Write(const Function& f, std::string_view block, size_t loop) {
  Outcome<AutoCopyResult> result = WriteAt(f, LoopsOf(f, block)[loop], BlockNamed(f, block), 0, "shared");
  EXPECT_TRUE(result.ok()) << ReasonOf(result, f);
  return result.ok() ? result->function : f;
}

TEST(ReadAt, CopiesTheTileOfOneIteration) {
  const Function f = TiledMatmul(8, 12, 16);
  const Function g = Read(Read(f, 2, 1), 2, 0);
  ExpectContains(g, R"(
      for i_0, j_0, k_0 in T.grid(2, 3, 4):
          with T.block("B_shared"):
              v0, v1 = T.axis.remap("SS", [j_0, k_0])
              T.reads(B[v0 * 4:v0 * 4 + 4, v1 * 4:v1 * 4 + 4])
              T.writes(B_shared[v0 * 4:v0 * 4 + 4, v1 * 4:v1 * 4 + 4])
              T.block_attr({"auto_copy": True})
              for ax0, ax1 in T.grid(4, 4):
                  B_shared[v0 * 4 + ax0, v1 * 4 + ax1] = B[v0 * 4 + ax0, v1 * 4 + ax1]
          with T.block("A_shared"):)");
  ExpectContains(g, "C[vi, vj] = C[vi, vj] + A_shared[vi, vk] * B_shared[vj, vk]");
  ExpectEquivalent(f, g);
  ExpectEquivalent(f, Read(f, 0, 0));
  ExpectEquivalent(f, Read(f, 5, 1));
}

TEST(ReadAt, LeavesOutWhatLiesOutside) {
  const Function f = TiledMatmul(6, 9, 13);
  const Function g = Read(Read(f, 2, 0), 1, 1);
  ExpectEquivalent(f, g);
  ExpectContains(g, R"(
      for ax0, ax1 in T.grid(4, 4):
          if v0 * 4 + ax0 < 6 and v1 * 4 + ax1 < 13:
              A_shared[v0 * 4 + ax0, v1 * 4 + ax1] = A[v0 * 4 + ax0, v1 * 4 + ax1])");
}

TEST(ReadAt, ServesAllReadersBelowTheLoop) {
  const Function f = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(P: T.Buffer((10,), "float32"), C: T.Buffer((8,), "float32"), D: T.Buffer((8,), "float32")):
          for t in range(2):
              for u in range(1):
                  with T.block("first"):
                      T.evaluate(0)
              for i, r in T.grid(4, 3):
                  with T.block("C"):
                      vi = T.axis.spatial(8, t * 4 + i)
                      vr = T.axis.reduce(3, r)
                      with T.init():
                          C[vi] = T.float32(0)
                      C[vi] = C[vi] + P[vi + vr]
              for i in range(4):
                  with T.block("D"):
                      vi = T.axis.spatial(8, t * 4 + i)
                      D[vi] = C[vi] + P[vi])");
  const Function g = Read(f, 0, 0);
  ExpectContains(g, "T.reads(P[v0 * 4:v0 * 4 + 6])");
  ExpectContains(g, "D[vi] = C[vi] + P_shared[vi]");
  EXPECT_EQ(BlocksBelow(Stmt(FindLoop(g, LoopsOf(g, "C")[0])))[1]->block->name, "P_shared");
  ExpectEquivalent(f, g);
}

// What an iteration has written before it is read.
TEST(ReadAt, CopiesWhatIsWrittenBelowTheLoop) {
  const Function f = testing::ElementwiseInOneNest(4, 6, 0);
  const Function once = Read(f, 1, 0), twice = Read(once, 1, 0, "local");
  ExpectContains(twice, R"(
          with T.block("B"):
              vi, vj = T.axis.remap("SS", [i, j])
              T.reads(A[vi, vj])
              T.writes(B[vi, vj])
              B[vi, vj] = A[vi, vj] * T.float32(2)
          with T.block("B_shared"):)");
  ExpectContains(twice, "B_shared_local[v0 + ax0, v1 + ax1] = B_shared[v0 + ax0, v1 + ax1]");
  ExpectEquivalent(f, once);
  ExpectEquivalent(f, twice);
}

TEST(WriteAt, TakesTheResultAlong) {
  const Function f = TiledMatmul(8, 12, 16);
  const Function g = Write(f, "C", 1);
  ExpectContains(g, R"(
      with T.block("C_shared"):
          v0, v1 = T.axis.remap("SS", [i_0, j_0])
          T.reads(C_shared[v0 * 4:v0 * 4 + 4, v1 * 4:v1 * 4 + 4])
          T.writes(C[v0 * 4:v0 * 4 + 4, v1 * 4:v1 * 4 + 4])
          T.block_attr({"auto_copy": True})
          for ax0, ax1 in T.grid(4, 4):
              C[v0 * 4 + ax0, v1 * 4 + ax1] = C_shared[v0 * 4 + ax0, v1 * 4 + ax1])");
  ExpectEquivalent(f, g);
  // Partial sums are copied too, and are complete in the end.
  ExpectEquivalent(f, Write(f, "C", 2));
  Outcome<DecomposeReductionResult> decomposed = DecomposeReduction(f, BlockNamed(f, "C"), LoopsOf(f, "C")[2]);
  ASSERT_TRUE(decomposed.ok());
  ExpectEquivalent(f, Write(decomposed->function, "C_update", 1));
  const Function tail = TiledMatmul(6, 9, 13);
  ExpectEquivalent(tail, Write(tail, "C", 1));
}

// Places that memory decides are read by the copy, too.
TEST(WriteAt, ReadsThePlacesThatItCopiesTo) {
  const Function f = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(X: T.Buffer((6, 4), "float32"), P: T.Buffer((6,), "int32"), Y: T.Buffer((9, 4), "float32")):
          for i, j in T.grid(6, 4):
              with T.block("Y"):
                  vi, vj = T.axis.remap("SS", [i, j])
                  T.reads(X[vi, vj], P[vi])
                  T.writes(Y[P[vi], vj])
                  Y[P[vi], vj] = X[vi, vj] * T.float32(2))");
  const Function g = Write(f, "Y", 0);
  ExpectContains(g, "T.reads(Y_shared[P[v0], 0:4], P[v0])");
}

TEST(AutoCopy, Refuses) {
  const Function f = TiledMatmul(8, 12, 16);
  const uint32_t block = BlockNamed(f, "C");
  const std::vector<uint32_t> loops = LoopsOf(f, "C");
  EXPECT_EQ(ReasonOf(ReadAt(f, loops[0], block, 2, "shared"), f), "C reads 2 regions, there is no number 2");
  EXPECT_EQ(ReasonOf(WriteAt(f, loops[0], block, 1, "shared"), f), "C writes 1 regions, there is no number 1");
  EXPECT_EQ(ReasonOf(ReadAt(f, loops[0], block, 0, "no scope"), f), "\"no scope\" is not a storage scope");
  EXPECT_EQ(ReasonOf(ReadAt(f, 99, block, 0, "shared"), f), "the loop no longer exists");
  const Function chain = testing::ElementwiseInOneNest(4, 6, 0);
  const std::vector<uint32_t> nest = LoopsOf(chain, "C");
  const Function before = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((9,), "float32"), C: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("B"):
            vi = T.axis.opaque(8, i)
            B[vi + 1] = A[vi]
        with T.block("C"):
            vi = T.axis.opaque(8, i)
            C[vi] = B[vi] + B[vi + 1]
        with T.block("last"):
            vi = T.axis.opaque(8, i)
            A[vi] = B[vi + 1]
)");
  // B[i] was written in the iteration before; A is written after it was read.
  const uint32_t loop = LoopsOf(before, "C")[0];
  EXPECT_EQ(ReasonOf(ReadAt(before, loop, BlockNamed(before, "C"), 0, "shared"), before), "B writes B below i");
  EXPECT_EQ(ReasonOf(ReadAt(before, loop, BlockNamed(before, "B"), 0, "shared"), before), "last writes A below i");
  EXPECT_EQ(ReasonOf(WriteAt(chain, nest[1], BlockNamed(chain, "B"), 0, "shared"), chain), "C reads B below j");
  const Function apart = testing::ElementwiseChain(4, 6);
  EXPECT_EQ(ReasonOf(ReadAt(apart, LoopsOf(apart, "B")[0], BlockNamed(apart, "C"), 0, "shared"), apart),
            "i is not above C");
  const Function decomposed = DecomposeReduction(f, block, loops[2])->function;
  EXPECT_EQ(ReasonOf(WriteAt(decomposed, loops[2], block, 0, "shared"), decomposed), "C_init writes C outside of k_0");
  const Function update = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((8,), "float32"), X: T.Buffer((8,), "float32")):
          for i in range(4):
              with T.block("A"):
                  vi = T.axis.spatial(4, i)
                  A[vi * 2] = A[vi * 2] + T.float32(1)
          for i, j in T.grid(2, 2):
              with T.block("X"):
                  vi = T.axis.spatial(4, i * 2 + j)
                  X[vi * 2] = T.float32(1))");
  EXPECT_EQ(ReasonOf(WriteAt(update, LoopsOf(update, "A")[0], BlockNamed(update, "A"), 0, "shared"), update),
            "A, the first below i to write A, also reads it");
  EXPECT_EQ(ReasonOf(WriteAt(update, LoopsOf(update, "X")[0], BlockNamed(update, "X"), 0, "shared"), update),
            "X may not write all elements of X that are copied in each iteration of i");
}

}  // namespace
}  // namespace tilewright
