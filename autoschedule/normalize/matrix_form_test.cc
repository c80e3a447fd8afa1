#include "autoschedule/normalize/matrix_form.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "autoschedule/program/block_loops.h"
#include "ir/ops/conv.h"
#include "ir/ops/matmul.h"
#include "schedule/testing/equivalence.h"

namespace tilewright {
namespace {

std::vector<int64_t> ExtentsOf(const Schedule& sch, BlockRv block) {
  std::vector<int64_t> extents;
  for (const IterVar& iter : RealizeOf(sch, block).block->iter_vars) extents.push_back(*ExtentOf(iter));
  return extents;
}
std::vector<int64_t> ShapeOf(const Buffer& buffer) {
  std::vector<int64_t> shape;
  for (const Expr& extent : buffer->shape) shape.push_back(*AsInt(extent));
  return shape;
}

// The product, after it was compared with what the function was.
struct Formed {
  std::vector<int64_t> product, rows, columns, output;  // iterators, and shapes of the copies
};
Formed FormOf(const Function& function, const char* name, const std::array<int64_t, 3>& multiples,
              bool columns_by_depth) {
  Schedule sch{Module(function)};
  const BlockRv block = *sch.GetBlock(name);
  const auto contraction = MatchContraction(RealizeOf(sch, block));
  EXPECT_TRUE(contraction.ok()) << contraction.status();
  const Outcome<MatrixForm> form = BringIntoMatrixForm(sch, block, *contraction, multiples, columns_by_depth);
  EXPECT_TRUE(form.ok()) << form.refusal().reason;
  testing::ExpectEquivalent(function, sch.module().Main());
  const auto written = [&](BlockRv copy) { return ShapeOf(RealizeOf(sch, copy).block->writes[0].buffer); };
  return {ExtentsOf(sch, form->product), written(form->rows), written(form->columns),
          ShapeOf(RealizeOf(sch, form->output).block->reads[0].buffer)};
}

using Shape = std::vector<int64_t>;

TEST(MatrixForm, RoundsExtentsUp) {
  const Formed formed = FormOf(ops::Matmul(7, 9, 5), "C", {4, 8, 4}, false);
  EXPECT_EQ(formed.product, (Shape{8, 16, 8}));
  EXPECT_EQ(formed.rows, (Shape{8, 8}));      // m, k
  EXPECT_EQ(formed.columns, (Shape{8, 16}));  // k, n
  EXPECT_EQ(formed.output, (Shape{8, 16}));
}

TEST(MatrixForm, ColumnsMayLieByDepth) {
  EXPECT_EQ(FormOf(ops::Matmul(8, 16, 4), "C", {4, 8, 4}, true).columns, (Shape{16, 4}));  // n, k
}

// 2 x 3 x 3 rows of windows; 3 x 3 x 4 deep.
TEST(MatrixForm, ConvolutionsAreProducts) {
  const Function conv = ops::Conv(
      {.batch = 2, .spatial = {5, 5}, .in_channels = 4, .out_channels = 6, .windows = ops::Same({3, 1, 0}, 2)});
  const Formed formed = FormOf(conv, "conv2d_nhwc", {16, 8, 4}, false);
  EXPECT_EQ(formed.product, (Shape{32, 8, 36}));
  EXPECT_EQ(formed.rows, (Shape{32, 36}));
  EXPECT_EQ(formed.columns, (Shape{36, 8}));
}

TEST(MatrixSizes, AreProductsOfExtents) {
  Schedule sch{Module(ops::Conv(
      {.batch = 2, .spatial = {5, 5}, .in_channels = 4, .out_channels = 6, .windows = ops::Same({3, 1, 1}, 2)}))};
  const BlockRealizeNode& realize = RealizeOf(sch, *sch.GetBlock("conv2d_nhwc"));
  const auto sizes = MatrixSizesOf(*realize.block, *MatchContraction(realize));
  ASSERT_TRUE(sizes.has_value());
  EXPECT_EQ(sizes->batch, 1);
  EXPECT_EQ(sizes->m, 50);
  EXPECT_EQ(sizes->n, 6);
  EXPECT_EQ(sizes->k, 36);
}

}  // namespace
}  // namespace tilewright
