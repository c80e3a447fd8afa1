// Simplifying the bindings and predicates of blocks after the loops around them changed.
#pragma once

#include <vector>

#include "ir/arith/analyzer.h"
#include "ir/function.h"

namespace tilewright {

// Tells the analyzer the ranges of the loops' variables. Loops of extent 1 are left unknown with
// `preserve_unit_iters`, so that simplification keeps their variables.
void BindLoops(arith::Analyzer& analyzer, const std::vector<const ForNode*>& loops, bool preserve_unit_iters = false);
void BindLoop(arith::Analyzer& analyzer, const Var& var, const Expr& min, const Expr& extent,
              bool preserve_unit_iters = false);

// `nest` with the bindings and predicates of the blocks below it, and the extents of loops on the way, simplified.
// `above`: the loops around it, up to its scope.
Stmt SimplifyNest(const Stmt& nest, const std::vector<const ForNode*>& above, bool preserve_unit_iters);

}  // namespace tilewright
