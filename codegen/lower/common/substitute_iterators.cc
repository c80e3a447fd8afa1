#include "codegen/lower/common/substitute_iterators.h"

#include "ir/functor.h"
#include "ir/substitute.h"

namespace tilewright {
namespace {

class IteratorSubstituter : public Mutator {
 protected:
  Expr MutateVar(const VarNode* op, const Expr& self) override {
    auto it = values_.find(Var(op));
    return it == values_.end() ? self : it->second;
  }
  Stmt MutateBlockRealize(const BlockRealizeNode* op, const Stmt&) override {
    BlockNode::Fields fields = op->block->fields();
    for (size_t i = 0; i < op->bindings.size(); ++i) {
      values_[fields.iter_vars[i].var] = CastTo(fields.iter_vars[i].var.dtype(), Mutate(op->bindings[i]));
    }
    Expr predicate = Mutate(op->predicate);
    fields.iter_vars.clear();
    fields.reads.clear();
    fields.writes.clear();
    for (MatchBuffer& match : fields.match_buffers) match.source = MutateRegion(match.source);
    fields.body = Mutate(fields.body);
    return Realize({}, std::move(predicate), Block(std::move(fields)));
  }

 private:
  VarMap values_;
};

}  // namespace

Function SubstituteIterators(const Function& function) {
  return function.WithBody(IteratorSubstituter().Mutate(function->body), function->next_id);
}

}  // namespace tilewright
