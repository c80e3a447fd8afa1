// The parts of a condition that all have to hold.
//
//   i < 4 and (j < 8 and k < n)   is   i < 4,  j < 8,  k < n
#pragma once

#include <vector>

#include "ir/expr.h"

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

}  // namespace tilewright
