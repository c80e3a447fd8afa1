#include "schedule/loops/loop_partition.h"

#include <gtest/gtest.h>

#include <string>

#include "ir/script/parse_or_die.h"
#include "schedule/loops/reorder.h"
#include "schedule/loops/split.h"
#include "schedule/testing/equivalence.h"
#include "schedule/testing/expect.h"
#include "schedule/testing/programs.h"

namespace tilewright {
namespace {

using testing::ExpectContains;
using testing::ExpectEquivalent;
using testing::ExpectProgram;
using testing::LoopsOf;
using testing::ReasonOf;

Function Partitioned(const Function& f, uint32_t loop, const std::vector<Expr>& factors) {
  Outcome<LoopPartitionResult> result = LoopPartition(f, loop, factors);
  EXPECT_TRUE(result.ok()) << ReasonOf(result, f);
  return result.ok() ? result->function : f;
}

TEST(LoopPartition, MakesPartsThatStartAtZero) {
  const Function f = testing::ElementwiseChain(16, 4);
  Outcome<LoopPartitionResult> result = LoopPartition(f, LoopsOf(f, "B")[0], {3, Expr(), 4});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->loops.size(), 3u);
  ExpectContains(result->function, R"(
      for i0, j in T.grid(3, 4):
          with T.block("B_i0"):
              vi, vj = T.axis.remap("SS", [i0, j]))");
  ExpectContains(result->function, R"(
      for i1, j in T.grid(9, 4):
          with T.block("B_i1"):
              vi = T.axis.spatial((3, 12), i1 + 3)
              vj = T.axis.spatial(4, j))");
  ExpectContains(result->function, R"(
      for i2, j in T.grid(4, 4):
          with T.block("B_i2"):
              vi = T.axis.spatial((12, 16), i2 + 12)
              vj = T.axis.spatial(4, j))");
  ExpectEquivalent(f, result->function);
  // Again, and split.
  Function again = Partitioned(result->function, result->loops[1], {8});
  ExpectEquivalent(f, again);
  const std::vector<uint32_t> loops = LoopsOf(again, "B_i1_i10");
  Outcome<SplitResult> split = Split(again, loops[0], {Expr(), 3});
  ASSERT_TRUE(split.ok()) << ReasonOf(split, again);
  Outcome<ReorderResult> reorder = Reorder(split->function, {split->loops[0], loops[1], split->loops[1]});
  ASSERT_TRUE(reorder.ok()) << ReasonOf(reorder, split->function);
  ExpectEquivalent(f, reorder->function);
}

TEST(LoopPartition, NamesNestedBlocksAfterTheirPart) {
  const Function f = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((16, 4), "float32"), B: T.Buffer((16,), "float32")):
          for i in range(16):
              with T.block("tile"):
                  vi = T.axis.spatial(16, i)
                  T.reads(A[vi, 0:4])
                  T.writes(B[vi])
                  with T.init():
                      with T.block("zero"):
                          B[vi] = T.float32(0)
                  for k in range(4):
                      with T.block("sum"):
                          vk = T.axis.reduce(4, k)
                          B[vi] = B[vi] + A[vi, vk])");
  const Function parts = Partitioned(f, LoopsOf(f, "tile")[0], {12});
  for (const char* name : {"tile_i0", "zero_i0", "sum_i0", "tile_i1", "zero_i1", "sum_i1"}) {
    ExpectContains(parts, "with T.block(\"" + std::string(name) + "\"):");
  }
  ExpectEquivalent(f, parts);
}

TEST(LoopPartition, LeavesConditionsToTheTail) {
  const Function matmul = testing::Matmul(4, 8, 30);
  const Function split = Split(matmul, LoopsOf(matmul, "C")[2], {Expr(), 8})->function;
  const Function f = Partitioned(split, LoopsOf(split, "C")[2], {3});
  ExpectProgram(f, R"(
      @T.prim_func
      def main(A: T.Buffer((4, 30), "float32"), B: T.Buffer((8, 30), "float32"), C: T.Buffer((4, 8), "float32")):
          T.func_attr({"tir.noalias": True})
          for i, j in T.grid(4, 8):
              for k_00, k_1 in T.grid(3, 8):
                  with T.block("C_k_00"):
                      vi, vj = T.axis.remap("SS", [i, j])
                      vk = T.axis.reduce(30, k_00 * 8 + k_1)
                      T.reads(A[vi, vk], B[vj, vk])
                      T.writes(C[vi, vj])
                      with T.init():
                          C[vi, vj] = T.float32(0)
                      C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vj, vk]
              for k_01, k_1 in T.grid(1, 8):
                  with T.block("C_k_01"):
                      vi, vj = T.axis.remap("SS", [i, j])
                      vk = T.axis.reduce(30, k_01 * 8 + k_1 + 24)
                      T.where((k_01 + 3) * 8 + k_1 < 30)
                      T.reads(C[vi, vj], A[vi, vk], B[vj, vk])
                      T.writes(C[vi, vj])
                      C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vj, vk])");
  ExpectEquivalent(matmul, f);
  ExpectEquivalent(matmul, Partitioned(split, LoopsOf(split, "C")[3], {2, 1}));
  ExpectEquivalent(matmul, Partitioned(matmul, LoopsOf(matmul, "C")[0], {1, 2}));
}

TEST(LoopPartition, TakesSeveralBlocksAlong) {
  const Function f = testing::ElementwiseInOneNest(6, 4, 1);
  const Function g = Partitioned(f, LoopsOf(f, "B")[0], {4});
  EXPECT_EQ(testing::LoopNamesOf(g, "C_i1"), (std::vector<std::string>{"i1", "j"}));
  ExpectEquivalent(f, g);
}

TEST(LoopPartition, Refuses) {
  const Function f = testing::ElementwiseChain(16, 4);
  const uint32_t loop = LoopsOf(f, "B")[0];
  const auto reason = [&](const std::vector<Expr>& factors) { return ReasonOf(LoopPartition(f, loop, factors), f); };
  EXPECT_EQ(reason({16}), "the factors leave nothing over of the extent 16 of i");
  EXPECT_EQ(reason({3, 4, 9}), "the factors leave nothing over of the extent 16 of i");
  EXPECT_EQ(reason({3, 0}), "factor 0 of i is not a positive constant");
  EXPECT_EQ(reason({Var("n")}), "factor n of i is not a positive constant");
  EXPECT_EQ(reason({Expr(), 3, Expr()}), "more than one factor of i is to be inferred");
  EXPECT_EQ(ReasonOf(LoopPartition(f, 99, {3}), f), "the loop no longer exists");
  const Function g = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(a: T.handle, c: T.handle, D: T.Buffer((4,), "float32")):
          n = T.int32()
          A = T.match_buffer(a, (n, 16), "float32")
          C = T.match_buffer(c, (n,), "float32")
          for i in range(n):
              for k in T.serial(16, annotations={"hint": 1}):
                  with T.block("C"):
                      vi = T.axis.spatial(n, i)
                      vk = T.axis.reduce(16, 15 - k)
                      with T.init():
                          C[vi] = T.float32(0)
                      C[vi] = C[vi] + A[vi, vk]
          for k in range(4):
              with T.block("D"):
                  vk = T.axis.reduce(4, 3 - k)
                  with T.init():
                      D[0] = T.float32(0)
                  D[0] = D[0] + T.float32(1))");
  EXPECT_EQ(ReasonOf(LoopPartition(g, LoopsOf(g, "C")[0], {3}), g), "the extent n of i is not constant");
  EXPECT_EQ(ReasonOf(LoopPartition(g, LoopsOf(g, "C")[1], {3}), g), "k has the annotation hint");
  EXPECT_EQ(ReasonOf(LoopPartition(g, LoopsOf(g, "D")[0], {3}), g),
            "the reduction of D may start in a later part of k than the first");
}

// If a buffer rolls, the iterator of its rows is opaque; each row still begins with its init.
TEST(LoopPartition, KeepsTheInitOfLoopsThatAreNotReduced) {
  const Function f = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((6, 4), "float32"), C: T.Buffer((6,), "float32")):
          for i, k in T.grid(6, 4):
              with T.block("C"):
                  vi = T.axis.opaque(6, i)
                  vk = T.axis.reduce(4, k)
                  with T.init():
                      C[vi] = T.float32(0)
                  C[vi] = C[vi] + A[vi, vk])");
  ExpectEquivalent(f, Partitioned(f, LoopsOf(f, "C")[0], {4}));
}

}  // namespace
}  // namespace tilewright
