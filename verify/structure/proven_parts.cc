#include "verify/structure/proven_parts.h"

#include <utility>

#include "ir/arith/same_expr.h"
#include "ir/functor.h"

namespace tilewright {
namespace {

// Collects blocks without entering them.
class OutermostBlocks : public StmtVisitor {
 public:
  using StmtVisitor::Visit;
  void Visit(const Stmt& s) override {
    switch (s->kind()) {
      case Kind::kFor: {
        const auto* loop = cast<ForNode>(s);
        touches_memory_ |= arith::ReadsMemory(loop->min) || arith::ReadsMemory(loop->extent);
        return StmtVisitor::Visit(s);
      }
      case Kind::kIf:
        touches_memory_ |= arith::ReadsMemory(cast<IfNode>(s)->condition);
        return StmtVisitor::Visit(s);
      case Kind::kSeq:
        return StmtVisitor::Visit(s);
      case Kind::kBlockRealize: {
        const auto* realize = cast<BlockRealizeNode>(s);
        touches_memory_ |= arith::ReadsMemory(realize->predicate);
        for (const Expr& binding : realize->bindings) touches_memory_ |= arith::ReadsMemory(binding);
        blocks_.push_back(realize->block);
        return;
      }
      default:
        touches_memory_ = true;
    }
  }
  std::optional<std::vector<Block>> Take() {
    if (touches_memory_) return std::nullopt;
    return std::move(blocks_);
  }

 private:
  std::vector<Block> blocks_;
  bool touches_memory_ = false;
};

}  // namespace

std::vector<Stmt> ProvenParts::NestsOf(const Function& function) {
  const auto* root = dyn_cast<BlockRealizeNode>(function->body);
  if (root == nullptr || !IsTrue(root->predicate)) return {};
  const BlockNode& block = *root->block;
  const bool declares = !block.reads.empty() || !block.writes.empty();
  if (declares || !block.iter_vars.empty() || !block.match_buffers.empty() || block.init) return {};
  const auto* nests = dyn_cast<SeqNode>(block.body);
  return nests == nullptr ? std::vector<Stmt>{block.body} : nests->stmts;
}

std::optional<std::vector<Block>> ProvenParts::BlocksOf(const Stmt& nest) {
  OutermostBlocks blocks;
  blocks.Visit(nest);
  return blocks.Take();
}

Function ProvenParts::Alone(const Function& function, const Stmt& nest) {
  const auto* root = cast<BlockRealizeNode>(function->body);
  BlockNode::Fields fields = root->block->fields();
  fields.body = nest;
  return function.WithBody(Realize(root->bindings, root->predicate, Block(std::move(fields))), function->next_id);
}

Function ProvenParts::Alone(const Function& function, const Block& block) {
  std::vector<Expr> bindings;
  for (const IterVar& iter : block->iter_vars) bindings.push_back(iter.domain.min);
  return Alone(function, Realize(std::move(bindings), True(), block));
}

const std::vector<const BlockNode*>* ProvenParts::Find(const Stmt& nest) const {
  const auto found = nests_.find(nest);
  return found == nests_.end() ? nullptr : &found->second;
}

void ProvenParts::Add(const Stmt& nest, std::vector<const BlockNode*> repeating) {
  if (nests_.size() >= kMostNests) nests_.clear();
  nests_.emplace(nest, std::move(repeating));
}

void ProvenParts::Add(const Block& block) {
  if (blocks_.size() >= kMostBlocks) blocks_.clear();
  blocks_.insert(block);
}

}  // namespace tilewright
