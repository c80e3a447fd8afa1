// The parts of a condition that all have to hold.
//
//   i < 4 and (j < 8 and k < n)   is   i < 4,  j < 8,  k < n
#pragma once

#include <algorithm>
#include <vector>

#include "ir/expr.h"
#include "ir/functor.h"

namespace tilewright {

inline void AppendConjuncts(const Expr& condition, std::vector<Expr>* conjuncts) {
  if (const auto* both = dyn_cast<BinaryNode>(condition); both != nullptr && both->op == BinaryOp::kAnd) {
    AppendConjuncts(both->a, conjuncts);
    AppendConjuncts(both->b, conjuncts);
  } else {
    conjuncts->push_back(condition);
  }
}
inline std::vector<Expr> Conjuncts(const Expr& condition) {
  std::vector<Expr> conjuncts;
  AppendConjuncts(condition, &conjuncts);
  return conjuncts;
}

// Both conditions. `guard` stands behind the conjuncts that can always be evaluated, and before those that it may have
// to guard: the ones that load, divide by something that is not a number, or call.
//
//   i < 4 and D[i_0 * 7 + i_1] != 0   with   i_0 * 7 + i_1 < 65   is   i < 4 and i_0 * 7 + i_1 < 65 and D[...] != 0
inline Expr WithGuard(const Expr& condition, const Expr& guard) {
  if (IsTrue(condition)) return guard;
  const auto may_fail = [](const Expr& conjunct) {
    bool found = false;
    PreOrder(conjunct, [&](const Expr& e) {
      const auto* op = dyn_cast<BinaryNode>(e);
      const bool divides = op != nullptr && op->op >= BinaryOp::kDiv && op->op <= BinaryOp::kFloorMod;
      found |= isa<LoadNode>(e) || isa<CallNode>(e) || (divides && !isa<IntImmNode>(op->b));
      return !found;
    });
    return found;
  };
  std::vector<Expr> conjuncts = Conjuncts(condition);
  const auto first = std::ranges::find_if(conjuncts, may_fail);
  if (first == conjuncts.end()) return And(condition, guard);
  conjuncts.insert(first, guard);
  Expr all = conjuncts[0];
  for (size_t i = 1; i < conjuncts.size(); ++i) all = And(all, conjuncts[i]);
  return all;
}

}  // namespace tilewright
