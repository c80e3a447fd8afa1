#include "autoschedule/movement/cpu/stage_layouts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "autoschedule/program/block_loops.h"
#include "ir/script/parse_or_die.h"
#include "schedule/testing/equivalence.h"

namespace tilewright {
namespace {

using ::testing::ElementsAre;

// C = A * B with both operands copied by stages, whose dimensions are in the order of the iterators i, j, k.
constexpr char kProduct[] = R"(
@T.prim_func
def main(A: T.Buffer((8, 16), "float32"), B: T.Buffer((16, 64), "float32"), C: T.Buffer((8, 64), "float32")):
    R = T.alloc_buffer((8, 16))
    P = T.alloc_buffer((64, 16))
    S = T.alloc_buffer((8, 64))
    for i, k in T.grid(8, 16):
        with T.block("rows"):
            vi, vk = T.axis.remap("SS", [i, k])
            R[vi, vk] = A[vi, vk]
    for j, k in T.grid(64, 16):
        with T.block("columns"):
            vj, vk = T.axis.remap("SS", [j, k])
            P[vj, vk] = B[vk, vj]
    for i, j, k in T.grid(8, 64, 16):
        with T.block("S"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                S[vi, vj] = T.float32(0)
            S[vi, vj] = S[vi, vj] + R[vi, vk] * P[vj, vk]
    for i, j in T.grid(8, 64):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = S[vi, vj]
)";

class StageLayouts : public ::testing::Test {
 protected:
  BlockRv Of(const char* name) { return *sch_.GetBlock(name); }
  // What the block writes, [extents...].
  std::vector<int64_t> ShapeOf(const char* name) {
    std::vector<int64_t> shape;
    for (const Expr& extent : RealizeOf(sch_, Of(name)).block->writes[0].buffer->shape) {
      shape.push_back(*AsInt(extent));
    }
    return shape;
  }
  ContractionPlan Plan() {
    const Contraction contraction = *MatchContraction(RealizeOf(sch_, Of("S")));
    return {contraction, {}, {}, contraction.rows.back(), contraction.columns.back(), contraction.inner.back()};
  }
  void ExpectSameResults() { testing::ExpectEquivalent(before_, sch_.module().Main()); }

  const Function before_ = ParseFunctionOrDie(kProduct);
  Schedule sch_{Module(before_)};
};

TEST(StageDims, AreInTheOrderOfIterators) {
  const std::vector<int> rows = {3, 1}, inner = {2}, none;
  EXPECT_THAT(StageDims({&rows, &none, &inner}), ElementsAre(1, 2, 3));
}

TEST_F(StageLayouts, LastDimensionsAreDivided) {
  // (columns // 16, depth, columns % 16): panels of 16 columns.
  ASSERT_TRUE(ReorderStage(sch_, Of("columns"), {1, 2}, {1}, 16).ok());
  EXPECT_THAT(ShapeOf("columns"), ElementsAre(4, 16, 16));
  ExpectSameResults();
}

TEST_F(StageLayouts, GroupsFollowThePanels) {
  // (columns // 16, depth // 4, columns % 16, depth % 4)
  ASSERT_TRUE(ReorderStage(sch_, Of("columns"), {1, 2}, {2, 1}, 16, 4).ok());
  EXPECT_THAT(ShapeOf("columns"), ElementsAre(4, 4, 16, 4));
  ExpectSameResults();
}

TEST_F(StageLayouts, TransposesAStage) {
  ASSERT_TRUE(ReorderStage(sch_, Of("rows"), {0, 2}, {0}).ok());
  EXPECT_THAT(ShapeOf("rows"), ElementsAre(16, 8));
  ExpectSameResults();
}

TEST_F(StageLayouts, WhatIsInOrderIsLeftAlone) {
  ASSERT_TRUE(ReorderStage(sch_, Of("rows"), {0, 2}, {0, 2}).ok());
  EXPECT_TRUE(sch_.module().Main().same_as(before_));
}

TEST_F(StageLayouts, SumsLieInSquaresOfAVector) {
  const Block sums = RealizeOf(sch_, Of("S")).block;
  ASSERT_TRUE(LayOutSums(sch_, Of("S"), sums->iter_vars[0].var, sums->iter_vars[1].var, 2, 2).ok());
  EXPECT_THAT(ShapeOf("S"), ElementsAre(4, 32, 4));
  ExpectSameResults();
}

TEST_F(StageLayouts, RowsLieInTheOrderOfTiles) {
  // (row // 4, depth // 8, row % 4, depth % 8)
  ASSERT_TRUE(LayOutRows(sch_, Of("rows"), {0, 2}, Plan(), 4, 8).ok());
  EXPECT_THAT(ShapeOf("rows"), ElementsAre(2, 2, 4, 8));
  ExpectSameResults();
}

TEST_F(StageLayouts, WindowsLieByDepth) {
  // (depth // 8, row, depth % 8)
  const Block product = RealizeOf(sch_, Of("S")).block;
  ASSERT_TRUE(LayOutWindows(sch_, Of("rows"), *product, Plan(), 8).ok());
  EXPECT_THAT(ShapeOf("rows"), ElementsAre(2, 8, 8));
  ExpectSameResults();
}

TEST_F(StageLayouts, ColumnsLieInGroupsOfTheDepth) {
  ContractionPlan plan = Plan();
  plan.instruction.group = 2;
  // (column // 16, depth // 8, depth % 8 // 2, column % 16, depth % 2)
  ASSERT_TRUE(LayOutColumns(sch_, Of("columns"), {1, 2}, plan, {2}, 16, 8).ok());
  EXPECT_THAT(ShapeOf("columns"), ElementsAre(4, 2, 4, 16, 2));
  ExpectSameResults();
}

}  // namespace
}  // namespace tilewright
