#include "schedule/algebra/conditional_factor.h"

#include "ir/analysis.h"
#include "ir/builtin.h"

namespace tilewright {
namespace {

void AddConditions(const Expr& condition, std::vector<Expr>* conditions) {
  const auto* both = dyn_cast<BinaryNode>(condition);
  if (both == nullptr || both->op != BinaryOp::kAnd) return conditions->push_back(condition);
  AddConditions(both->a, conditions);
  AddConditions(both->b, conditions);
}

}  // namespace

Expr WithoutConditions(const Expr& factor, std::vector<Expr>* conditions) {
  if (const auto* cast_node = dyn_cast<CastNode>(factor)) {
    return CastTo(factor.dtype(), WithoutConditions(cast_node->value, conditions));
  }
  const auto* call = dyn_cast<CallNode>(factor);
  if (call == nullptr || call->op != kIfThenElse || !IsZero(call->args[2])) return factor;
  AddConditions(call->args[0], conditions);
  return WithoutConditions(call->args[1], conditions);
}

Expr AllOf(const std::vector<Expr>& conditions) {
  Expr all;
  for (const Expr& condition : conditions) all = all ? And(all, condition) : condition;
  return all;
}

}  // namespace tilewright
