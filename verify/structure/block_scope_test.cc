#include "verify/structure/block_scope.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ir/builtin.h"

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
  EXPECT_FALSE(scope.IsOutput(scope.children()[0]));
  EXPECT_TRUE(scope.IsOutput(scope.children()[1]));
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

// A root block around nests.
Ref<BlockNode> RootOf(std::vector<Stmt> nests) {
  static const Buffer a("A", {8, 8}, kF32);
  BlockNode::Fields root{.id = 1, .name = "root", .alloc_buffers = {a}, .body = Sequence(std::move(nests))};
  return Block(std::move(root));
}

std::string Described(const BlockScope& scope) {
  std::string text = scope.block()->name;
  for (const ScopeChild& child : scope.children()) {
    text += " " + child.realize->block->name + std::to_string(child.loops.size());
    for (const uint32_t producer : scope.Producers(child.id())) text += "<" + std::to_string(producer);
    for (const uint32_t consumer : scope.Consumers(child.id())) text += ">" + std::to_string(consumer);
    text += "@" + std::to_string(scope.FirstStatementOf({child.id()}).value()) + (scope.LoadsAround(child) ? "!" : "");
  }
  for (const Dependence& d : scope.Dependences()) {
    text += " " + std::to_string(d.source) + "-" + std::to_string(d.destination) + d.buffer->name +
            std::to_string(static_cast<int>(d.kind));
  }
  return text + (scope.has_other_statements() ? " others" : "");
}

// Scopes that are kept are those of the block as it is, whatever nests came, went or changed since; a scope that
// somebody holds stays as it was.
TEST(BlockScope, KeptScopesAreThoseOfTheChangedBlock) {
  std::mt19937 random(7);
  std::vector<Buffer> buffers;
  for (int i = 0; i < 4; ++i) buffers.emplace_back("B" + std::to_string(i), std::vector<Expr>{8, 8}, kF32);
  uint32_t next_id = 2;
  const auto nest = [&] {
    if (random() % 8 == 0) return Stmt(Evaluate(Call(DataType::Int(32), "f", {})));
    const Buffer &from = buffers[random() % 4], &to = buffers[random() % 4];
    const Stmt loops = Loop2("b", [](const Var&, const Var&) { return Const(kF32, 0); }, to, {from});
    FunctionNode::Fields fields{.name = "f", .body = loops, .next_id = next_id};
    const Function numbered(std::move(fields));
    next_id = numbered->next_id;
    return numbered->body;
  };
  const KeepBlockScopes keep;
  std::vector<Stmt> nests = {nest(), nest(), nest()};
  std::vector<std::pair<BlockScope, std::string>> held;
  std::vector<Ref<BlockNode>> roots;
  for (int step = 0; step < 300; ++step) {
    const size_t at = random() % (nests.size() + 1), what = random() % 4;
    if (what == 0) nests.insert(nests.begin() + static_cast<std::ptrdiff_t>(at), nest());
    if (what == 1 && nests.size() > 3 && at < nests.size())
      nests.erase(nests.begin() + static_cast<std::ptrdiff_t>(at));
    if (what == 2 && at < nests.size()) nests[at] = nest();
    if (what == 3 && at + 1 < nests.size()) std::swap(nests[at], nests[at + 1]);
    roots.push_back(RootOf(nests));
    const BlockScope scope = BlockScope::Of(roots.back().get());
    std::thread([&] { EXPECT_EQ(Described(scope), Described(BlockScope::Of(roots.back().get()))); }).join();
    for (const ScopeChild& child : scope.children()) {
      EXPECT_EQ(child.loops[0], nests[scope.FirstStatementOf({child.id()}).value()].get());
    }
    if (step % 7 == 0) held.emplace_back(scope, Described(scope));
  }
  for (const auto& [scope, text] : held) EXPECT_EQ(Described(scope), text);
}

TEST(BlockScope, FindsTheFirstStatementOfSeveralBlocksAndLoadsAroundThem) {
  const Buffer a("A", {8, 8}, kF32), b("B", {8, 8}, kF32), counts("counts", {8}, DataType::Int(32));
  const auto nest = [&](const std::string& name) {
    return Loop2(name, [](const Var&, const Var&) { return Const(kF32, 0); }, b, {a});
  };
  const Stmt counted = For({.var = Var("k"), .extent = counts.Load({Expr(0)}), .body = nest("y")});
  BlockNode::Fields root{.name = "root", .body = Sequence({nest("x"), counted, nest("z")})};
  const Function f({.name = "main",
                    .params = {{a->data, a}, {b->data, b}, {counts->data, counts}},
                    .body = Realize({}, True(), Block(std::move(root)))});
  const BlockScope scope = BlockScope::Of(cast<BlockRealizeNode>(f->body)->block.get());
  const uint32_t x = scope.children()[0].id(), y = scope.children()[1].id(), z = scope.children()[2].id();
  EXPECT_EQ(scope.FirstStatementOf({z, y}), 1);
  EXPECT_EQ(scope.FirstStatementOf({z, x}), 0);
  EXPECT_EQ(scope.FirstStatementOf({}), std::nullopt);
  EXPECT_FALSE(scope.LoadsAround(scope.children()[0]));
  EXPECT_TRUE(scope.LoadsAround(scope.children()[1]));
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
