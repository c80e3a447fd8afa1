#include "verify/structure/block_scope.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

const DataType kF32 = DataType::Float(32);

// for i: for j: `name` with iterators vi, vj reads and writes the given points
Stmt Loop2(std::string name, Expr value_of(const Var&, const Var&), const Buffer& out, std::vector<Buffer> in) {
  Var i("i"), j("j"), vi("vi"), vj("vj");
  BlockNode::Fields block;
  block.name = std::move(name);
  block.iter_vars = {{vi, {Expr(0), Expr(8)}, IterKind::kSpatial}, {vj, {Expr(0), Expr(8)}, IterKind::kSpatial}};
  for (const Buffer& buffer : in) block.reads.push_back(BufferRegion::Point(buffer, {vi, vj}));
  block.writes = {BufferRegion::Point(out, {vi, vj})};
  block.body = Store(out, value_of(vi, vj), {vi, vj});
  ForNode::Fields inner{.var = j, .extent = Expr(8), .body = Realize({i, j}, True(), Block(std::move(block)))};
  return For({.var = i, .extent = Expr(8), .body = For(std::move(inner))});
}

Function Chain() {
  static const Buffer a("A", {8, 8}, kF32), b("B", {8, 8}, kF32), c("C", {8, 8}, kF32);
  Stmt first = Loop2("B", [](const Var& i, const Var& j) { return a(i, j) + a(i, j); }, b, {a});
  Stmt second = Loop2("C", [](const Var& i, const Var& j) { return b(i, j) * b(i, j); }, c, {b});
  BlockNode::Fields root{.name = "root", .alloc_buffers = {b}, .body = Sequence({first, second})};
  return Function(
      {.name = "main", .params = {{a->data, a}, {c->data, c}}, .body = Realize({}, True(), Block(std::move(root)))});
}

TEST(BlockScope, ProducersAndConsumers) {
  Function f = Chain();
  BlockScope scope = BlockScope::Of(cast<BlockRealizeNode>(f->body)->block.get());
  ASSERT_EQ(scope.children().size(), 2u);
  const uint32_t b = scope.children()[0].id(), c = scope.children()[1].id();
  EXPECT_EQ(scope.Producers(c), std::vector<uint32_t>{b});
  EXPECT_EQ(scope.Consumers(b), std::vector<uint32_t>{c});
  EXPECT_TRUE(scope.Producers(b).empty());
  EXPECT_EQ(scope.Outputs(), std::vector<uint32_t>{c});
  EXPECT_EQ(scope.children()[0].loops.size(), 2u);
  EXPECT_FALSE(scope.has_other_statements());
  EXPECT_TRUE(IsComplete(scope, scope.children()[0]));
  EXPECT_EQ(WhyNotReduction(scope, scope.children()[0]), "it has no init");
  EXPECT_TRUE(HasTrivialBindings(*scope.children()[0].realize, scope.children()[0].loops));
}

TEST(BlockScope, AroundALoopIsTheEnclosingBlock) {
  Function f = Chain();
  BlockScope scope = BlockScope::Around(f, 2);
  EXPECT_EQ(scope.block()->name, "root");
}

TEST(BlockScope, SaysWhyABlockIsNotComplete) {
  static const Buffer a("A", {8, 8}, kF32), b("B", {8, 8}, kF32);
  Stmt first = Loop2("x", [](const Var& i, const Var& j) { return a(i, j) + a(i, j); }, b, {a});
  Stmt second = Loop2("y", [](const Var& i, const Var& j) { return b(i, j) * b(i, j); }, b, {b});
  BlockNode::Fields root{.name = "root", .body = Sequence({first, second})};
  Function f(
      {.name = "main", .params = {{a->data, a}, {b->data, b}}, .body = Realize({}, True(), Block(std::move(root)))});
  BlockScope scope = BlockScope::Of(cast<BlockRealizeNode>(f->body)->block.get());
  EXPECT_EQ(WhyNotComplete(scope, scope.children()[0]), "block y also writes B");
  EXPECT_EQ(WhyNotComplete(scope, scope.children()[1]), "block x also writes B");
}

}  // namespace
}  // namespace tilewright
