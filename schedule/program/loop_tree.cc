#include "schedule/program/loop_tree.h"

#include <utility>

#include "base/check.h"
#include "ir/functor.h"
#include "schedule/program/conjuncts.h"

namespace tilewright {
namespace {

// Collects blocks and the loops on the way to them. Expressions and the inside of blocks are not entered.
class BlockCollector : public Visitor {
 public:
  using Visitor::Visit;
  void Visit(const Expr&) override {}
  std::vector<BlockBelow> blocks;

 protected:
  void VisitFor(const ForNode* op) override {
    loops_.push_back(op);
    Visitor::VisitFor(op);
    loops_.pop_back();
  }
  void VisitBlockRealize(const BlockRealizeNode* op) override { blocks.push_back({op, loops_}); }

 private:
  std::vector<const ForNode*> loops_;
};

// Whether a statement holds a single block, those inside of blocks not counted.
class SingleBlock : public StmtVisitor {
 public:
  using StmtVisitor::Visit;
  static bool In(const Stmt& stmt) {
    SingleBlock single;
    single.Visit(stmt);
    return single.blocks_ == 1;
  }
  void Visit(const Stmt& stmt) override {
    if (stmt && blocks_ < 2) StmtVisitor::Visit(stmt);
  }

 protected:
  void VisitSeq(const SeqNode* op) override {
    for (size_t i = 0; i < op->stmts.size() && blocks_ < 2; ++i) Visit(op->stmts[i]);
  }
  void VisitBlockRealize(const BlockRealizeNode*) override { ++blocks_; }

 private:
  int blocks_ = 0;
};

class NameCollector : public Visitor {
 public:
  explicit NameCollector(std::string_view name) : name_(name) {}
  using Visitor::Visit;
  void Visit(const Expr&) override {}
  std::vector<const BlockRealizeNode*> blocks;

 protected:
  void VisitBlockRealize(const BlockRealizeNode* op) override {
    if (op->block->name == name_) blocks.push_back(op);
    Visit(op->block->body);
  }

 private:
  std::string_view name_;
};

class PredicateAdder : public Mutator {
 public:
  explicit PredicateAdder(const Expr& condition) : condition_(condition) {}
  using Mutator::Mutate;
  Expr Mutate(const Expr& e) override { return e; }

 protected:
  Stmt MutateBlockRealize(const BlockRealizeNode* op, const Stmt&) override {
    return Realize(op->bindings, WithGuard(op->predicate, condition_), op->block);
  }

 private:
  const Expr& condition_;
};

}  // namespace

const BlockRealizeNode* ScopeOf(const Path& path) {
  for (size_t i = path.size() - 1; i-- > 0;) {
    if (const auto* realize = dyn_cast<BlockRealizeNode>(path[i])) return realize;
  }
  return nullptr;
}

std::vector<const ForNode*> LoopsAbove(const Path& path) {
  size_t first = path.size() - 1;
  while (first > 0 && isa<ForNode>(path[first - 1])) --first;
  std::vector<const ForNode*> loops;
  for (size_t i = first; i + 1 < path.size(); ++i) loops.push_back(cast<ForNode>(path[i]));
  return loops;
}

std::vector<uint32_t> LoopsAbove(const Function& function, uint32_t id) {
  const Path path = FindPath(function, id);
  std::vector<uint32_t> ids;
  if (path.empty()) return ids;
  for (const ForNode* loop : LoopsAbove(path)) ids.push_back(loop->id);
  return ids;
}

std::vector<BlockBelow> BlocksWithLoopsBelow(const Stmt& stmt) {
  BlockCollector collector;
  collector.Visit(stmt);
  return std::move(collector.blocks);
}

std::vector<const BlockRealizeNode*> BlocksBelow(const Stmt& stmt) {
  std::vector<const BlockRealizeNode*> blocks;
  for (const BlockBelow& block : BlocksWithLoopsBelow(stmt)) blocks.push_back(block.realize);
  return blocks;
}

std::vector<const BlockRealizeNode*> ChildBlocks(const BlockNode& block) { return BlocksBelow(block.body); }

std::vector<const BlockRealizeNode*> BlocksNamed(const Function& function, std::string_view name) {
  NameCollector collector(name);
  collector.Visit(function->body);
  return std::move(collector.blocks);
}

Function ReplaceIn(const Function& function, const StmtNode* old, const Stmt& replacement, uint32_t next_id) {
  return function.WithBody(ReplaceStmt(function->body, old, replacement), next_id);
}

const StmtNode* SubtreeOfOnly(const Path& path) {
  const BlockRealizeNode* scope = ScopeOf(path);
  TW_CHECK(scope != nullptr) << "the root block cannot be removed";
  if (SingleBlock::In(scope->block->body)) return nullptr;
  // A statement above the block goes with it when the block is all that it holds.
  size_t top = path.size() - 1;
  while (isa<ForNode>(path[top - 1]) && SingleBlock::In(path[top - 1])) --top;
  return path[top].get();
}

Function RemoveFrom(const Function& function, const StmtNode* subtree) {
  return ReplaceIn(function, subtree, Evaluate(Expr(0)), function->next_id);
}

Stmt Nest(std::vector<ForNode::Fields> loops, Stmt body) {
  for (size_t i = loops.size(); i-- > 0;) {
    loops[i].body = std::move(body);
    body = For(std::move(loops[i]));
  }
  return body;
}

Stmt AddPredicateBelow(const Stmt& stmt, const Expr& condition) { return PredicateAdder(condition).Mutate(stmt); }

}  // namespace tilewright
