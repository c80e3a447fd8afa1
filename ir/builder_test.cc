#include "ir/builder.h"

#include <gtest/gtest.h>

#include "ir/structural.h"

namespace tilewright {
namespace {

constexpr DataType kF32 = DataType::Float(32);

const BlockNode* OnlyBlock(const Function& function, std::vector<const ForNode*>* loops) {
  Stmt stmt = cast<BlockRealizeNode>(function->body)->block->body;
  while (const auto* loop = dyn_cast<ForNode>(stmt)) {
    loops->push_back(loop);
    stmt = loop->body;
  }
  return dyn_cast<BlockRealizeNode>(stmt)->block.get();
}

TEST(Compute, ReductionIsABlockWithInit) {
  FunctionBuilder f("main");
  Buffer a = f.Input("A", {4, 6}, kF32), b = f.Input("B", {6, 5}, kF32);
  ReduceAxis k("k", 6);
  Buffer c = f.Compute("C", {4, 5}, [&](Var i, Var j) { return Sum(a(i, k) * b(k, j), k); });
  Function function = f.Build({c});

  ASSERT_EQ(function->params.size(), 3u);
  EXPECT_EQ(function->params[2].buffer->name, "C");
  std::vector<const ForNode*> loops;
  const BlockNode* block = OnlyBlock(function, &loops);
  ASSERT_EQ(loops.size(), 3u);
  EXPECT_EQ(loops[2]->var.name(), "k");
  EXPECT_TRUE(IsInt(loops[2]->extent, 6));
  EXPECT_EQ(block->name, "C");
  ASSERT_EQ(block->iter_vars.size(), 3u);
  EXPECT_EQ(block->iter_vars[0].var.name(), "v_i0");
  EXPECT_EQ(block->iter_vars[1].kind, IterKind::kSpatial);
  EXPECT_EQ(block->iter_vars[2].kind, IterKind::kReduce);
  Var vi = block->iter_vars[0].var, vj = block->iter_vars[1].var, vk = block->iter_vars[2].var;
  EXPECT_TRUE(StructuralEqual(block->init, Store(c, ConstFloat(kF32, 0), {vi, vj})));
  EXPECT_TRUE(StructuralEqual(block->body, Store(c, c(vi, vj) + a(vi, vk) * b(vk, vj), {vi, vj})));
  ASSERT_EQ(block->reads.size(), 2u);  // not C itself
  EXPECT_TRUE(block->reads[0].buffer.same_as(a));
  EXPECT_TRUE(StructuralEqual(block->reads[1].region[0].min, vk));
  ASSERT_EQ(block->writes.size(), 1u);
  EXPECT_TRUE(block->writes[0].buffer.same_as(c));
}

TEST(Compute, IntermediateBuffersBelongToTheRoot) {
  FunctionBuilder f;
  Buffer a = f.Input("A", {8}, kF32);
  Buffer b = f.Compute("B", {8}, [&](const std::vector<Var>& v) { return a(v[0]) + 1; });
  Buffer c = f.Compute("C", {8}, [&](Var i) { return b(i) * 2; }, {"x"});
  Function function = f.Build({c});
  const BlockNode* root = cast<BlockRealizeNode>(function->body)->block.get();
  ASSERT_EQ(root->alloc_buffers.size(), 1u);
  EXPECT_TRUE(root->alloc_buffers[0].same_as(b));
  EXPECT_EQ(function->params.size(), 2u);
  EXPECT_EQ(function->next_id, 6u);  // root, two loops, two blocks
}

TEST(Compute, OneAxisMayServeSeveralReductions) {
  FunctionBuilder f;
  Buffer a = f.Input("A", {4, 6}, kF32);
  ReduceAxis k("k", 6);
  Buffer low = f.Compute("low", {4}, [&](Var i) { return MinOver(a(i, k), {k}); });
  Buffer high = f.Compute("high", {4}, [&](Var i) { return MaxOver(a(i, k), k); });
  Function function = f.Build({low, high});
  const auto* seq = dyn_cast<SeqNode>(cast<BlockRealizeNode>(function->body)->block->body);
  ASSERT_NE(seq, nullptr);
  std::vector<const BlockNode*> blocks;
  for (const Stmt& stmt : seq->stmts) {
    Stmt s = stmt;
    while (const auto* loop = dyn_cast<ForNode>(s)) s = loop->body;
    blocks.push_back(dyn_cast<BlockRealizeNode>(s)->block.get());
  }
  EXPECT_FALSE(blocks[0]->iter_vars[1].var.same_as(blocks[1]->iter_vars[1].var));
  EXPECT_FALSE(blocks[0]->iter_vars[1].var.same_as(k));
}

TEST(Builder, LoopsAndBlocksLikeCompute) {
  FunctionBuilder written, computed;
  {
    Buffer a = written.Input("A", {16}, kF32);
    Buffer b = written.Input("B", {16}, kF32);
    written.Loop("i", 16, [&](Var i) {
      written.Block("B", [&](BlockBuilder& block) {
        Var vi = block.Spatial(16, i);
        written.Store(b, a(vi) + 1, {vi});
      });
    });
  }
  Buffer a = computed.Input("A", {16}, kF32);
  Buffer b = computed.Compute("B", {16}, [&](Var i) { return a(i) + 1; });
  Mismatch mismatch;
  EXPECT_TRUE(StructuralEqual(written.Build(), computed.Build({b}), &mismatch)) << mismatch.path << mismatch.reason;
}

TEST(Builder, DeclaredRegionsStay) {
  FunctionBuilder f;
  Buffer a = f.Input("A", {16}, kF32), b = f.Input("B", {16}, kF32);
  f.Block("copy", [&](BlockBuilder& block) {
    block.Reads({BufferRegion::Full(a)});
    f.Loop("i", 16, [&](Var i) { f.Store(b, a(i), {i}); });
  });
  Function function = f.Build();
  const auto* realize = dyn_cast<BlockRealizeNode>(cast<BlockRealizeNode>(function->body)->block->body);
  ASSERT_NE(realize, nullptr);
  EXPECT_TRUE(IsInt(realize->block->reads[0].region[0].extent, 16));
}

}  // namespace
}  // namespace tilewright
