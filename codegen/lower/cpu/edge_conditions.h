// Conditions that say where tiles of a loop end; internal to symbolic_edges.cc.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/stmt.h"

namespace tilewright {

// A comparison below a loop: coefficient * var + inner < size, or its negation.
struct EdgeCondition {
  const BinaryNode* comparison = nullptr;
  bool negated = false;
  int64_t coefficient = 0;          // positive
  Expr inner;                       // of loops inside of the loop
  int64_t least = 0, greatest = 0;  // its values
  Expr size;                        // the same in all iterations
  bool unrolled = true;             // all loops in `inner` are written out

  // A condition at the end of the loop depends on a size, one at the beginning on a constant.
  bool at_end() const { return !AsInt(size); }
  // The comparison where coefficient * var is `at`.
  Expr At(const Expr& left) const {
    const Expr inside = inner < CastTo(inner.dtype(), left);
    return negated ? Not(inside) : inside;
  }
  // The number of leading iterations in which the sum is below the size: for all values of the inner loops if `extreme`
  // is their greatest value, for some values if it is their least.
  Expr Iterations(int64_t extreme) const {
    const Expr step = Const(size.dtype(), coefficient);
    return FloorDiv(size + Const(size.dtype(), coefficient - 1 - extreme), step);
  }
};

// Conditions below a loop that change with its variable and with loops of constant extents inside of it.
std::vector<EdgeCondition> FindEdgeConditions(const Var& var, const Stmt& body);

}  // namespace tilewright
