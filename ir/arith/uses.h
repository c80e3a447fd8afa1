// Whether an expression contains variables of some sort.
#pragma once

#include "ir/expr.h"
#include "ir/functor.h"

namespace tilewright::arith {

// `is_wanted` takes a const VarNode*.
template <class IsWanted>
bool UsesVar(const Expr& e, const IsWanted& is_wanted) {
  if (const auto* var = dyn_cast<VarNode>(e)) return is_wanted(var);
  if (isa<IntImmNode>(e)) return false;
  if (const auto* op = dyn_cast<BinaryNode>(e)) return UsesVar(op->a, is_wanted) || UsesVar(op->b, is_wanted);
  bool uses = false;
  PreOrder(e, [&](const Expr& x) {
    if (const auto* var = dyn_cast<VarNode>(x)) uses |= is_wanted(var);
    return !uses;
  });
  return uses;
}

}  // namespace tilewright::arith
