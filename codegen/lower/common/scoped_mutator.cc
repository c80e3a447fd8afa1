#include "codegen/lower/common/scoped_mutator.h"

#include "ir/changes/known_inside.h"

namespace tilewright {

Stmt ScopedMutator::MutateFor(const ForNode* op, const Stmt& self) {
  arith::Analyzer::Scope inside(&analyzer_);
  BindInside(*op, &analyzer_);
  return Mutator::MutateFor(op, self);
}

Stmt ScopedMutator::MutateIf(const IfNode* op, const Stmt& self) {
  Expr condition = Mutate(op->condition);
  Stmt then_case, else_case;
  {
    arith::Analyzer::Scope inside(&analyzer_);
    AssumeInside(condition, op->then_case, &analyzer_);
    then_case = Mutate(op->then_case);
  }
  if (op->else_case) {
    arith::Analyzer::Scope inside(&analyzer_);
    AssumeInside(Not(condition), op->else_case, &analyzer_);
    else_case = Mutate(op->else_case);
  }
  if (condition.same_as(op->condition) && then_case.same_as(op->then_case) && else_case.same_as(op->else_case)) {
    return self;
  }
  return If(std::move(condition), std::move(then_case), std::move(else_case));
}

Stmt ScopedMutator::MutateBlockRealize(const BlockRealizeNode* op, const Stmt& self) {
  arith::Analyzer::Scope inside(&analyzer_);
  AssumeInside(op->predicate, self, &analyzer_);
  return Mutator::MutateBlockRealize(op, self);
}

}  // namespace tilewright
