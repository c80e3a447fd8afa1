#include "verify/structure/proven_parts.h"

#include <utility>

#include "ir/arith/same_expr.h"
#include "ir/functor.h"

namespace tilewright {
namespace {

// Whether evaluating it may go wrong, which depends on what stands around: it reads memory, or divides by what is no
// constant.
bool MayFail(const Expr& e) {
  if (arith::ReadsMemory(e)) return true;
  bool divides = false;
  if (!e) return false;
  PreOrder(e, [&](const Expr& part) {
    const auto* op = dyn_cast<BinaryNode>(part);
    divides |= op != nullptr && op->op >= BinaryOp::kDiv && op->op <= BinaryOp::kFloorMod && !AsInt(op->b);
    return !divides;
  });
  return divides;
}

// Collects blocks without entering them.
class OutermostBlocks : public StmtVisitor {
 public:
  using StmtVisitor::Visit;
  void Visit(const Stmt& s) override {
    switch (s->kind()) {
      case Kind::kFor: {
        const auto* loop = cast<ForNode>(s);
        may_fail_ |= MayFail(loop->min) || MayFail(loop->extent);
        return StmtVisitor::Visit(s);
      }
      case Kind::kIf:
        may_fail_ |= MayFail(cast<IfNode>(s)->condition);
        return StmtVisitor::Visit(s);
      case Kind::kSeq:
        return StmtVisitor::Visit(s);
      case Kind::kBlockRealize: {
        const auto* realize = cast<BlockRealizeNode>(s);
        may_fail_ |= MayFail(realize->predicate);
        for (const Expr& binding : realize->bindings) may_fail_ |= MayFail(binding);
        blocks_.push_back(realize->block);
        return;
      }
      default:
        may_fail_ = true;
    }
  }
  std::optional<std::vector<Block>> Take() {
    if (may_fail_) return std::nullopt;
    return std::move(blocks_);
  }

 private:
  std::vector<Block> blocks_;
  bool may_fail_ = false;
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
