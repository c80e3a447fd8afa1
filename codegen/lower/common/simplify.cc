#include "codegen/lower/common/simplify.h"

#include "codegen/lower/common/scoped_mutator.h"
#include "ir/substitute.h"

namespace tilewright {
namespace {

class Simplifier : public ScopedMutator {
 public:
  Expr Mutate(const Expr& e) override { return analyzer_.Simplify(e); }
  using ScopedMutator::Mutate;

 protected:
  Stmt MutateFor(const ForNode* op, const Stmt& self) override {
    Expr extent = analyzer_.Simplify(op->extent);
    if (const std::optional<int64_t> value = AsInt(extent)) {
      if (*value <= 0) return Evaluate(Expr(0));
      if (*value == 1 && op->kind != ForKind::kThreadBound) {
        return Mutate(Substitute(op->body, {{op->var, analyzer_.Simplify(op->min)}}));
      }
    }
    Stmt mutated = ScopedMutator::MutateFor(op, self);
    return IsNoOp(cast<ForNode>(mutated)->body) ? Evaluate(Expr(0)) : mutated;
  }
  Stmt MutateIf(const IfNode* op, const Stmt& self) override {
    Expr condition = analyzer_.Simplify(op->condition);
    if (IsTrue(condition)) return Mutate(op->then_case);
    if (IsFalse(condition)) return op->else_case ? Mutate(op->else_case) : Evaluate(Expr(0));
    Stmt mutated = ScopedMutator::MutateIf(op, self);
    const auto* branch = cast<IfNode>(mutated);
    if (branch->else_case && IsNoOp(branch->else_case)) {
      mutated = If(branch->condition, branch->then_case);
      branch = cast<IfNode>(mutated);
    }
    return IsNoOp(branch->then_case) && !branch->else_case ? Evaluate(Expr(0)) : mutated;
  }
  Stmt MutateAllocate(const AllocateNode* op, const Stmt& self) override {
    Stmt mutated = ScopedMutator::MutateAllocate(op, self);
    return IsNoOp(cast<AllocateNode>(mutated)->body) ? Evaluate(Expr(0)) : mutated;
  }
  Stmt MutateStore(const StoreNode* op, const Stmt& self) override {
    Expr predicate = analyzer_.Simplify(op->predicate);
    if (predicate && IsFalse(predicate)) return Evaluate(Expr(0));
    return ScopedMutator::MutateStore(op, self);
  }
  // What callers keep is not computed.
  Stmt MutateEvaluate(const EvaluateNode* op, const Stmt& self) override {
    const auto* call = dyn_cast<CallNode>(op->value);
    if (call != nullptr && call->op == "assume") return Evaluate(Expr(0));
    return ScopedMutator::MutateEvaluate(op, self);
  }
};

}  // namespace

Function SimplifyFunction(const Function& function) {
  return function.WithBody(Simplifier().Mutate(function->body), function->next_id);
}

}  // namespace tilewright
