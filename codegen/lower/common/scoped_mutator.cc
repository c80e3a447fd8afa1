#include "codegen/lower/common/scoped_mutator.h"

#include <utility>

#include "ir/arith/bind_name.h"
#include "ir/changes/known_inside.h"

namespace tilewright {

Stmt ScopedMutator::MutateFor(const ForNode* op, const Stmt& self) {
  // The ends are evaluated outside of the loop: that the variable has a value says nothing about them.
  Expr min = Mutate(op->min), extent = Mutate(op->extent);
  Stmt body;
  {
    arith::Analyzer::Scope inside(&analyzer_);
    BindInside(*op, &analyzer_);
    body = Mutate(op->body);
  }
  if (min.same_as(op->min) && extent.same_as(op->extent) && body.same_as(op->body)) return self;
  ForNode::Fields fields = op->fields();
  fields.min = std::move(min);
  fields.extent = std::move(extent);
  fields.body = std::move(body);
  return For(std::move(fields));
}

Stmt ScopedMutator::MutateLetStmt(const LetStmtNode* op, const Stmt& self) {
  arith::Analyzer::Scope inside(&analyzer_);
  arith::BindName(op->var, op->value, &analyzer_);
  return Mutator::MutateLetStmt(op, self);
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
  std::vector<Expr> bindings;
  bool changed = false;
  for (const Expr& binding : op->bindings) {
    bindings.push_back(Mutate(binding));
    changed |= !bindings.back().same_as(binding);
  }
  Expr predicate = Mutate(op->predicate);
  arith::Analyzer::Scope inside(&analyzer_);
  AssumeInside(op->predicate, self, &analyzer_);
  Block block = MutateBlock(op->block);
  if (!changed && predicate.same_as(op->predicate) && block.same_as(op->block)) return self;
  return Realize(std::move(bindings), std::move(predicate), std::move(block));
}

}  // namespace tilewright
