#include "ir/analysis.h"

#include <cmath>

#include "ir/functor.h"

namespace tilewright {

bool UsesVar(const Expr& e, const std::function<bool(const VarNode*)>& predicate) {
  if (!e) return false;
  bool found = false;
  PreOrder(e, [&](const Expr& part) {
    if (const auto* var = dyn_cast<VarNode>(part)) found |= predicate(var);
    return !found;
  });
  return found;
}
bool UsesVar(const Expr& e, const Var& var) {
  // What nearly all indices consist of.
  if (!e || isa<IntImmNode>(e)) return false;
  if (isa<VarNode>(e)) return e.get() == var.get();
  if (const auto* op = dyn_cast<BinaryNode>(e)) return UsesVar(op->a, var) || UsesVar(op->b, var);
  return UsesVar(e, [&](const VarNode* used) { return used == var.get(); });
}
bool UsesVar(const Range& range, const Var& var) { return UsesVar(range.min, var) || UsesVar(range.extent, var); }
bool UsesVar(const Stmt& s, const Var& var) {
  bool found = false;
  PreOrderExprs(s, [&](const Expr& part) {
    found |= part.get() == var.get();
    return !found;
  });
  return found;
}

bool IsZero(const Expr& e) {
  if (const auto* cast_node = dyn_cast<CastNode>(e)) return IsZero(cast_node->value);
  if (const auto* broadcast = dyn_cast<BroadcastNode>(e)) return IsZero(broadcast->value);
  const auto* number = dyn_cast<FloatImmNode>(e);
  // A negative zero is another number: it has another quotient.
  return number != nullptr ? number->value == 0 && !std::signbit(number->value) : IsInt(e, 0);
}

}  // namespace tilewright
