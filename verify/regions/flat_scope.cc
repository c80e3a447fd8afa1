#include "verify/regions/flat_scope.h"

#include "ir/functor.h"
#include "ir/substitute.h"

namespace tilewright {
namespace {

bool HoldsBlocksOnly(const Stmt& body) {
  bool blocks = false, other = false;
  PreOrder(body, [&](const Stmt& s) {
    blocks |= isa<BlockRealizeNode>(s);
    other |= !isa<BlockRealizeNode>(s) && !isa<ForNode>(s) && !isa<SeqNode>(s);
    return !other && !isa<BlockRealizeNode>(s);
  });
  return blocks && !other;
}

// The body of a block in the place of the block: the blocks inside have its iterators too, and its predicate.
class Inliner : public Mutator {
 public:
  explicit Inliner(const BlockRealizeNode& outer) : outer_(outer) {
    for (size_t i = 0; i < outer.bindings.size(); ++i) values_[outer.block->iter_vars[i].var] = outer.bindings[i];
  }
  using Mutator::Mutate;
  Expr Mutate(const Expr& e) override { return Substitute(e, values_); }

 protected:
  Stmt MutateBlockRealize(const BlockRealizeNode* op, const Stmt&) override {
    std::vector<Expr> bindings = outer_.bindings;
    for (const Expr& binding : op->bindings) bindings.push_back(Mutate(binding));
    BlockNode::Fields fields = op->block->fields();
    fields.iter_vars.insert(fields.iter_vars.begin(), outer_.block->iter_vars.begin(), outer_.block->iter_vars.end());
    Expr predicate = Mutate(op->predicate);
    if (!IsTrue(outer_.predicate)) predicate = And(outer_.predicate, predicate);
    return Realize(std::move(bindings), std::move(predicate), Block(std::move(fields)));
  }

 private:
  const BlockRealizeNode& outer_;
  VarMap values_;
};

class Flattener : public Mutator {
 public:
  using Mutator::Mutate;
  Expr Mutate(const Expr& e) override { return e; }

 protected:
  Stmt MutateBlockRealize(const BlockRealizeNode* op, const Stmt& self) override {
    const BlockNode& block = *op->block;
    if (block.init || !block.alloc_buffers.empty() || !block.match_buffers.empty() || !HoldsBlocksOnly(block.body)) {
      return self;
    }
    const Stmt body = Mutate(block.body);
    return Inliner(*op).Mutate(body);
  }
};

}  // namespace

Block FlatScope(const Block& block) {
  Stmt body = Flattener().Mutate(block->body);
  if (body.same_as(block->body)) return block;
  BlockNode::Fields fields = block->fields();
  fields.body = std::move(body);
  return Block(std::move(fields));
}

}  // namespace tilewright
