#include "codegen/lower/common/guard_selects.h"

#include <utility>

#include "codegen/lower/common/scoped_mutator.h"
#include "ir/builtin.h"

namespace tilewright {
namespace {

class Guard : public ScopedMutator {
 public:
  using ScopedMutator::Mutate;

 protected:
  Stmt MutateBlockRealize(const BlockRealizeNode* op, const Stmt& self) override {
    arith::Analyzer::Scope inside(&analyzer_);
    for (const IterVar& iter : op->block->iter_vars) analyzer_.Bind(iter.var, iter.domain);
    return ScopedMutator::MutateBlockRealize(op, self);
  }
  Expr MutateSelect(const SelectNode* op, const Expr& self) override {
    Expr result = ScopedMutator::MutateSelect(op, self);
    const auto* select = dyn_cast<SelectNode>(result);
    if (select == nullptr || !select->condition.dtype().is_scalar()) return result;
    if (IsSafe(select->true_value) && IsSafe(select->false_value)) return result;
    return IfThenElse(select->condition, select->true_value, select->false_value);
  }

 private:
  bool IsSafe(const Expr& value) {
    bool safe = true;
    PreOrder(value, [&](const Expr& e) {
      if (const auto* load = dyn_cast<LoadNode>(e)) safe = safe && IsInside(*load);
      const auto* op = dyn_cast<BinaryNode>(e);
      const bool divides = op != nullptr && op->op >= BinaryOp::kDiv && op->op <= BinaryOp::kFloorMod;
      if (divides && op->dtype().is_integer()) safe = safe && IsNotZero(op->b);
      const auto* call = dyn_cast<CallNode>(e);
      if (call != nullptr && call->op == kIfThenElse && call->args[0].dtype().is_scalar()) {
        safe = safe && IsSafe(call->args[0]) && IsSafeWhere(call->args[0], call->args[1]) &&
               IsSafeWhere(Not(call->args[0]), call->args[2]);
        return false;
      }
      safe = safe && (call == nullptr || EffectOf(call->op) == CallEffect::kPure);
      return safe;
    });
    return safe;
  }
  // Whether the value, which is evaluated where the condition holds, is safe there.
  bool IsSafeWhere(const Expr& condition, const Expr& value) {
    arith::Analyzer::Scope inside(&analyzer_);
    analyzer_.Assume(condition);
    return IsSafe(value);
  }
  bool IsNotZero(const Expr& e) {
    const auto value = AsInt(e);
    if (value || !e.dtype().is_scalar()) return value.value_or(0) != 0;
    return analyzer_.CanProveLess(Const(e.dtype(), 0), e);
  }
  bool IsInside(const LoadNode& load) {
    for (size_t d = 0; d < load.indices.size(); ++d) {
      Expr least = load.indices[d], greatest = load.indices[d];
      if (const auto* ramp = dyn_cast<RampNode>(load.indices[d])) {
        least = ramp->base;
        greatest = ramp->base + ramp->stride * Const(ramp->base.dtype(), load.indices[d].dtype().lanes() - 1);
        if (const auto stride = AsInt(ramp->stride); stride && *stride < 0) std::swap(least, greatest);
      } else if (!least.dtype().is_scalar()) {
        return false;
      }
      const Expr& extent = load.buffer->shape[d];
      if (!analyzer_.CanProveLessEqual(Const(least.dtype(), 0), least) ||
          !analyzer_.CanProveLess(greatest, CastTo(greatest.dtype(), extent))) {
        return false;
      }
    }
    return true;
  }
};

}  // namespace

Function GuardSelects(const Function& function) {
  return function.WithBody(Guard().Mutate(function->body), function->next_id);
}

}  // namespace tilewright
