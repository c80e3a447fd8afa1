#include "ir/ops/structured.h"

#include "gtest/gtest.h"
#include "ir/functor.h"
#include "ir/interp/interp.h"
#include "ir/ndarray.h"
#include "ir/ops/conv.h"
#include "ir/ops/indexing.h"
#include "ir/ops/matmul.h"
#include "ir/ops/movement.h"
#include "ir/structural.h"

namespace tilewright::ops {
namespace {

// The blocks of a function but for the root.
std::vector<const BlockNode*> Blocks(const Function& f) {
  std::vector<const BlockNode*> blocks;
  PreOrder(f->body, [&](const Stmt& stmt) {
    if (const auto* realize = dyn_cast<BlockRealizeNode>(stmt)) blocks.push_back(realize->block.get());
    return true;
  });
  blocks.erase(blocks.begin());
  return blocks;
}

TEST(Structured, MatrixMultiplication) {
  const Function f = Matmul(4, 5, 6);
  const auto op = MatchStructured(*Blocks(f)[0]);
  ASSERT_TRUE(op.has_value());
  ASSERT_EQ(op->iterators.size(), 3u);
  EXPECT_TRUE(op->is_reduction());
  ASSERT_EQ(op->inputs.size(), 2u);
  ASSERT_EQ(op->outputs.size(), 1u);
  const StructuredOp::Output& c = op->outputs[0];
  EXPECT_TRUE(StructuralEqual(c.value, c.element + op->inputs[0].element * op->inputs[1].element));
  EXPECT_TRUE(c.init.same_as(ConstFloat(DataType::Float(32), 0)) || isa<FloatImmNode>(c.init));
}

// Read back and written again it is the same program.
TEST(Structured, ThereAndBack) {
  const ConvShape shape = {
      .spatial = {6, 6}, .in_channels = 4, .out_channels = 2, .windows = Same({.kernel = 3, .stride = 2}, 2)};
  for (const Function& f : {Matmul(4, 5, 6), BatchMatmul(2, 3, 4, 5), Conv(shape)}) {
    const auto op = MatchStructured(*Blocks(f).back());
    ASSERT_TRUE(op.has_value()) << f->name;
    FunctionBuilder builder;
    for (size_t i = 0; i + 1 < f->params.size(); ++i) builder.Input(f->params[i].buffer);
    AddStructured(builder, *op);
    const Function again = builder.Build({f->params.back().buffer});
    std::vector<interp::Argument> arguments, expected;
    for (const Param& param : f->params) {
      std::vector<int64_t> extents;
      for (const Expr& extent : param.buffer->shape) extents.push_back(*AsInt(extent));
      NDArray array(param.buffer->dtype, extents);
      FillIntegers(array, arguments.size());
      arguments.emplace_back(array);
      expected.emplace_back(array.Clone());
    }
    ASSERT_TRUE(interp::Compile(again)->Run(arguments).ok());
    ASSERT_TRUE(interp::Compile(f)->Run(expected).ok());
    EXPECT_TRUE(BitEqual(arguments.back().array, expected.back().array));
  }
}

TEST(Structured, WhatIsNot) {
  FunctionBuilder gather;
  Buffer x = gather.Input("x", {8}, DataType::Float(32)), i = gather.Input("i", {3}, DataType::Int(64));
  const Function by_data = gather.Build({Gather(gather, x, i, 0)});
  EXPECT_FALSE(MatchStructured(*Blocks(by_data)[0]).has_value());
  FunctionBuilder wrap;
  Buffer y = wrap.Input("y", {8}, DataType::Float(32));
  const Function not_affine = wrap.Build({Tile(wrap, y, {Expr(2)})});
  EXPECT_FALSE(MatchStructured(*Blocks(not_affine)[0]).has_value());
}

TEST(Structured, Affine) {
  const Var i("i"), j("j"), n("n");
  EXPECT_TRUE(IsAffine(i * 2 + j * n - 3, {i, j}));
  EXPECT_TRUE(IsAffine(FloorDiv(n, Expr(2)) + i, {i, j}));
  EXPECT_FALSE(IsAffine(i * j, {i, j}));
  EXPECT_FALSE(IsAffine(FloorDiv(i, Expr(2)), {i, j}));
}

}  // namespace
}  // namespace tilewright::ops
