// Primitives that change what a block says of its buffers and iterators.
#include <gtest/gtest.h>

#include "ir/script/parse_or_die.h"
#include "schedule/blocks/annotate_buffer_access.h"
#include "schedule/blocks/reorder_block_iter_var.h"
#include "schedule/blocks/unsafe_hide_buffer_access.h"
#include "schedule/layout/storage_align.h"
#include "schedule/layout/unsafe_set_dtype.h"
#include "schedule/testing/equivalence.h"
#include "schedule/testing/expect.h"
#include "schedule/testing/programs.h"

namespace tilewright {
namespace {

using testing::BlockNamed;
using testing::ExpectContains;
using testing::ExpectEquivalent;
using testing::ReasonOf;
using Access = BufferSelector::Access;

Function Value(const Outcome<Function>& outcome, const Function& f) {
  EXPECT_TRUE(outcome.ok()) << ReasonOf(outcome, f);
  return outcome.ok() ? *outcome : f;
}

TEST(ReorderBlockIterVar, ListsIteratorsInAnotherOrder) {
  const Function f = testing::Matmul(2, 3, 4);
  const uint32_t block = BlockNamed(f, "C");
  const Function g = Value(ReorderBlockIterVar(f, block, {2, 0, 1}), f);
  ExpectContains(g, "vk, vi, vj = T.axis.remap(\"RSS\", [k, i, j])");
  ExpectEquivalent(f, g);
  EXPECT_EQ(ReasonOf(ReorderBlockIterVar(f, block, {1, 1, 0}), f), "[1, 1, 0] is not an order of the 3 iterators of C");
  EXPECT_EQ(ReasonOf(ReorderBlockIterVar(f, block, {1, 0}), f), "[1, 0] is not an order of the 3 iterators of C");
  EXPECT_EQ(ReasonOf(ReorderBlockIterVar(f, 1, {}), f), "root is the root block");
}

TEST(StorageAlign, AnnotatesTheWriter) {
  const Function f = testing::ElementwiseChain(4, 6);
  const uint32_t block = BlockNamed(f, "B");
  Function g = Value(StorageAlign(f, block, 0, -2, 32, 8), f);
  g = Value(StorageAlign(g, block, 0, 1, 4, 1), g);
  ExpectContains(g, "T.block_attr({\"buffer_dim_align\": [[0, 0, 32, 8], [0, 1, 4, 1]]})");
  g = Value(StorageAlign(g, block, 0, 0, 16, 0), g);
  ExpectContains(g, "T.block_attr({\"buffer_dim_align\": [[0, 0, 16, 0], [0, 1, 4, 1]]})");
  ExpectEquivalent(f, g);
}

TEST(StorageAlign, Refuses) {
  const Function f = testing::ElementwiseChain(4, 6);
  const uint32_t block = BlockNamed(f, "B");
  EXPECT_EQ(ReasonOf(StorageAlign(f, BlockNamed(f, "C"), 0, 0, 32, 8), f),
            "C, which C writes, is not allocated by a block");
  EXPECT_EQ(ReasonOf(StorageAlign(f, block, 0, 2, 32, 8), f), "the axis 2 is not in [-2, 2): B has 2 dimensions");
  EXPECT_EQ(ReasonOf(StorageAlign(f, block, 0, -3, 32, 8), f), "the axis -3 is not in [-2, 2): B has 2 dimensions");
  EXPECT_EQ(ReasonOf(StorageAlign(f, block, 1, 0, 32, 8), f), "B writes 1 regions, there is no number 1");
  EXPECT_EQ(ReasonOf(StorageAlign(f, block, 0, 0, 0, 8), f), "the factor 0 is not positive");
  EXPECT_EQ(ReasonOf(StorageAlign(f, block, 0, 0, 8, -1), f), "the offset -1 is negative");
  const Function odd = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((4,), "float32")):
          B = T.alloc_buffer((4,))
          for i in range(4):
              with T.block("B"):
                  vi = T.axis.spatial(4, i)
                  T.block_attr({"buffer_dim_align": [[1, 2]]})
                  B[vi] = A[vi])");
  EXPECT_EQ(ReasonOf(StorageAlign(odd, BlockNamed(odd, "B"), 0, 0, 8, 1), odd),
            "the annotation buffer_dim_align of B is not a list of four numbers each");
}

TEST(UnsafeSetDtype, CastsWhatEntersAndLeaves) {
  const Function f = testing::ElementwiseChain(4, 6);
  const Function g = Value(UnsafeSetDtype(f, BlockNamed(f, "B"), 0, "float16"), f);
  ExpectContains(g, "B = T.alloc_buffer((4, 6), \"float16\")");
  ExpectContains(g, "B[vi, vj] = T.Cast(\"float16\", A[vi, vj] * T.float32(2))");
  ExpectContains(g, "C[vi, vj] = T.Cast(\"float32\", B[vi, vj]) + T.float32(1)");
  ExpectEquivalent(f, g);  // the values are small integers
  EXPECT_TRUE(UnsafeSetDtype(f, BlockNamed(f, "B"), 0, "float32")->same_as(f));
  const Function zero = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(C: T.Buffer((4,), "float32")):
          B = T.alloc_buffer((4,))
          for i in range(4):
              with T.block("B"):
                  vi = T.axis.spatial(4, i)
                  B[vi] = T.float32(0)
          for i in range(4):
              with T.block("C"):
                  vi = T.axis.spatial(4, i)
                  C[vi] = B[vi])");
  ExpectContains(Value(UnsafeSetDtype(zero, BlockNamed(zero, "B"), 0, "float16"), zero),
                 "B[vi] = T.Cast(\"float16\", T.float32(0))");
  ExpectEquivalent(f, Value(UnsafeSetDtype(f, BlockNamed(f, "B"), 0, "int32"), f));
}

TEST(UnsafeSetDtype, Refuses) {
  const Function f = testing::ElementwiseChain(4, 6);
  EXPECT_EQ(ReasonOf(UnsafeSetDtype(f, BlockNamed(f, "C"), 0, "float16"), f),
            "C, which C writes, is not allocated by a block");
  EXPECT_EQ(ReasonOf(UnsafeSetDtype(f, BlockNamed(f, "B"), 1, "float16"), f),
            "B writes 1 regions, there is no number 1");
  EXPECT_EQ(ReasonOf(UnsafeSetDtype(f, BlockNamed(f, "B"), 0, "handle"), f), "\"handle\" is not a type of numbers");
  EXPECT_EQ(ReasonOf(UnsafeSetDtype(f, BlockNamed(f, "B"), 0, "float32x4"), f),
            "\"float32x4\" is not a type of numbers");
  const Function g = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((4,), "float32")):
          B = T.alloc_buffer((4,))
          with T.block("B"):
              T.reads(A[0:4])
              T.writes(B[0:4])
              b = T.match_buffer(B[0:4], (4,), "int32")
              b[0] = T.reinterpret("int32", A[0]))");
  EXPECT_EQ(ReasonOf(UnsafeSetDtype(g, BlockNamed(g, "B"), 0, "float16"), g), "a part of B is matched as int32");
  const Function h = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((4,), "float32")):
          B = T.alloc_buffer((4,))
          with T.block("B"):
              T.reads(A[0:4])
              T.writes(B[0:4])
              b = T.match_buffer(B[0:4], (4,), "float32")
              T.evaluate(T.call_extern("int32", "f", T.address_of(b[0]))))");
  EXPECT_EQ(ReasonOf(UnsafeSetDtype(h, BlockNamed(h, "B"), 0, "float16"), h), "B takes the address of b");
}

TEST(UnsafeSetDtype, ChangesMatchedParts) {
  const Function f = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
          B = T.alloc_buffer((4,))
          for i in range(4):
              with T.block("B"):
                  vi = T.axis.spatial(4, i)
                  T.reads(A[vi])
                  T.writes(B[vi])
                  b = T.match_buffer(B[vi], (1,), "float32", offset_factor=1)
                  b[0] = A[vi]
          for i in range(4):
              with T.block("C"):
                  vi = T.axis.spatial(4, i)
                  C[vi] = B[vi])");
  const Function changed = Value(UnsafeSetDtype(f, BlockNamed(f, "B"), 0, "float64"), f);
  ExpectContains(changed, "b = T.match_buffer(B[vi], (1,), \"float64\", offset_factor=1)");
  ExpectContains(changed, "b[0] = T.Cast(\"float64\", A[vi])");
  ExpectEquivalent(f, changed);
}

IndexMap Ranges(const Var& v, std::vector<Expr> ends) { return IndexMap({v}, std::move(ends)); }

TEST(AnnotateBufferAccess, DeclaresWhatTheBodyDoesNotShow) {
  const Function f = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(X: T.Buffer((64,), "float32"), K: T.Buffer((16,), "int32"), B: T.Buffer((16,), "float32")):
          for i in range(16):
              with T.block("B"):
                  vi = T.axis.spatial(16, i)
                  T.reads(X[0:64], K[vi])
                  T.writes(B[vi])
                  B[vi] = X[vi * 2 + K[vi] % 4])");
  const uint32_t block = BlockNamed(f, "B");
  const Var v("v");
  const Function g = Value(AnnotateBufferAccess(f, block, Access::kRead, 0, Ranges(v, {v * 2, v * 2 + 4})), f);
  ExpectContains(g, R"(
      T.reads(X[vi * 2:vi * 2 + 4], K[vi])
      T.writes(B[vi])
      T.block_attr({"explicit_read_region": [0]}))");
  ExpectEquivalent(f, g);
  const Function wider = Value(AnnotateBufferAccess(g, block, Access::kRead, 1, Ranges(v, {0, 16})), g);
  ExpectContains(wider, "T.block_attr({\"explicit_read_region\": [0, 1]})");
  const Function again = Value(AnnotateBufferAccess(wider, block, Access::kRead, 0, Ranges(v, {0, 64})), wider);
  ExpectContains(again, "T.block_attr({\"explicit_read_region\": [0, 1]})");
  ExpectContains(Value(AnnotateBufferAccess(f, block, Access::kWrite, 0, Ranges(v, {v})), f),
                 "T.block_attr({\"explicit_write_region\": [0]})");

  EXPECT_EQ(ReasonOf(AnnotateBufferAccess(f, block, Access::kWrite, 0, Ranges(v, {v + 1, v + 2})), f),
            "B accesses [vi, vi + 1) in dimension 0 of B, not inside of [vi + 1, vi + 2)");
  EXPECT_EQ(ReasonOf(AnnotateBufferAccess(f, block, Access::kWrite, 0, Ranges(v, {v, v + 2})), f),
            "B writes only [vi, vi + 1) in dimension 0 of B, not all of [vi, vi + 2)");
  EXPECT_EQ(ReasonOf(AnnotateBufferAccess(f, block, Access::kRead, 2, Ranges(v, {0, 16})), f),
            "B reads 2 regions, there is no number 2");
  EXPECT_EQ(ReasonOf(AnnotateBufferAccess(f, block, Access::kRead, 0, Ranges(v, {0, 16, 4})), f),
            "the map does not give a range for each of the 1 dimensions of X");
  EXPECT_EQ(ReasonOf(AnnotateBufferAccess(f, block, Access::kRead, 0, IndexMap({v, Var("w")}, {0, 16})), f),
            "the map takes 2 indices, B has 1 iterators");
}

TEST(UnsafeHideBufferAccess, DropsRegions) {
  const Function f = testing::Matmul(2, 3, 4);
  const uint32_t block = BlockNamed(f, "C");
  const Function g = Value(UnsafeHideBufferAccess(f, block, Access::kRead, {0}), f);
  ExpectContains(g, "T.reads(B[vj, vk])");
  EXPECT_FALSE(testing::SameResults(f, g));  // the interpreter sees the access
  ExpectContains(Value(UnsafeHideBufferAccess(f, block, Access::kWrite, {0}), f), "T.writes()");
  EXPECT_EQ(ReasonOf(UnsafeHideBufferAccess(f, block, Access::kRead, {2}), f),
            "C reads 2 regions, there is no number 2");
  EXPECT_EQ(ReasonOf(UnsafeHideBufferAccess(f, block, Access::kRead, {1, 1}), f), "the number 1 is given twice");
}

}  // namespace
}  // namespace tilewright
