// Loops that begin where a binding says, instead of a binding that adds their beginning:
//
//   for i in range(8):                             for i in range(8):
//       for j in range(T.min(3, 8 - i)):      ->       for j in range(i, i + T.min(3, 8 - i)):
//           ... vi = i, vj = i + j                         ... vi = i, vj = j
//
// Why: as quasi-affine maps of i and j, i and i + j overlap; those of the loops on the right are told apart.
#pragma once

#include <vector>

#include "ir/arith/analyzer.h"
#include "ir/arith/domain.h"
#include "ir/expr.h"

namespace tilewright {

struct ShiftedLoops {
  arith::Domain loops;  // outermost first
  std::vector<Expr> bindings;
  bool any = false;  // whether a loop was shifted
};

// Shifts loops of which one binding among `may_shift` depends: it is the loop plus a value of the loops around it.
ShiftedLoops ShiftLoops(const arith::Domain& loops, const std::vector<Expr>& bindings,
                        const std::vector<bool>& may_shift, arith::Analyzer* analyzer);

}  // namespace tilewright
