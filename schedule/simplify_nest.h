// Loops that take the place of others: their ranges, and the bindings and predicates of the blocks below them.
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

// Whether the product of the factors, those that are constants, is a value of the type: a loop variable must count to
// it.
bool ProductFits(DataType type, const std::vector<Expr>& factors);

// `nest` with the bindings of the blocks below it, and the extents of loops on the way, simplified; predicates stay as
// they are written, as they do in TVM. `above`: the loops around it, up to its scope.
Stmt SimplifyNest(const Stmt& nest, const std::vector<const ForNode*>& above, bool preserve_unit_iters);

}  // namespace tilewright
