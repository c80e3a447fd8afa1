#include <gtest/gtest.h>

#include "ir/builder.h"
#include "ir/ops/conv.h"
#include "ir/ops/matmul.h"
#include "ir/ops/pooling.h"
#include "ir/structural.h"

namespace tilewright::ops {
namespace {

// The blocks of a program in the order of the text, without the root.
std::vector<const BlockNode*> Blocks(const Function& function) {
  std::vector<const BlockNode*> blocks;
  for (uint32_t id = 1; id < function->next_id; ++id) {
    if (const auto* realize = FindBlock(function, id)) blocks.push_back(realize->block.get());
  }
  blocks.erase(blocks.begin());
  return blocks;
}

TEST(Matmul, Bf16CastsBeforeMultiplying) {
  Function f = Matmul(16, 32, 8, *OperandTypes::Parse("bf16"), /*transposed=*/true);
  const BlockNode* block = Blocks(f).at(0);
  Var i = block->iter_vars[0].var, j = block->iter_vars[1].var, k = block->iter_vars[2].var;
  const Buffer &a = f->params[0].buffer, &b = f->params[1].buffer, &c = f->params[2].buffer;
  const DataType f32 = DataType::Float(32);
  EXPECT_TRUE(StructuralEqual(block->body, Store(c, c(i, j) + CastTo(f32, a(i, k)) * CastTo(f32, b(j, k)), {i, j})));
}

TEST(Conv, PadsInABlockOfItsOwn) {
  Function f = Conv({.batch = 1,
                     .spatial = {56, 56},
                     .in_channels = 64,
                     .out_channels = 32,
                     .windows = Same({.kernel = 3, .stride = 2, .padding = 1}, 2)});
  std::vector<const BlockNode*> blocks = Blocks(f);
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(blocks[0]->name, "pad_temp");
  EXPECT_EQ(blocks[1]->name, "conv2d_nhwc");
  const Buffer& pad = blocks[0]->writes[0].buffer;
  EXPECT_TRUE(IsInt(pad->shape[1], 58));
  EXPECT_TRUE(IsInt(f->params[2].buffer->shape[1], 28));
  Var n = blocks[1]->iter_vars[0].var, h = blocks[1]->iter_vars[1].var, w = blocks[1]->iter_vars[2].var;
  Var co = blocks[1]->iter_vars[3].var, rh = blocks[1]->iter_vars[4].var, rw = blocks[1]->iter_vars[5].var;
  Var rc = blocks[1]->iter_vars[6].var;
  const Buffer& out = f->params[2].buffer;
  EXPECT_TRUE(StructuralEqual(
      blocks[1]->body,
      Store(out, out(n, h, w, co) + pad(n, h * 2 + rh, w * 2 + rw, rc) * f->params[1].buffer(rh, rw, rc, co),
            {n, h, w, co})));
}

TEST(Conv, NoPaddingBlockWithoutPadding) {
  Function f = Conv({.spatial = {128}, .in_channels = 128, .out_channels = 256, .windows = {{.stride = 2}}});
  ASSERT_EQ(Blocks(f).size(), 1u);
  EXPECT_TRUE(IsInt(f->params[2].buffer->shape[1], 64));
}

TEST(AveragePool, DividesByTheSizeOfWholeWindows) {
  const Function f = AveragePool(1, 8, 6, 4, {.kernel = 3, .padding = 1});
  const BlockNode* block = Blocks(f).back();
  ASSERT_EQ(block->name, "average_pool");
  const Expr sum = block->reads[0].buffer.Load(
      {block->iter_vars[0].var, block->iter_vars[1].var, block->iter_vars[2].var, block->iter_vars[3].var});
  const Buffer& out = f->params[1].buffer;
  EXPECT_TRUE(StructuralEqual(block->body, Store(out, Div(sum, ConstFloat(DataType::Float(32), 9)),
                                                 {block->iter_vars[0].var, block->iter_vars[1].var,
                                                  block->iter_vars[2].var, block->iter_vars[3].var})));
}

}  // namespace
}  // namespace tilewright::ops
