// Loops that take the place of others: their ranges, and the bindings and predicates of the blocks below them.
#pragma once

#include <vector>

#include "ir/function.h"
#include "ir/substitute.h"

namespace tilewright {

// Whether the product of the factors, those that are constants, is a value of the type: a loop variable must count to
// it.
bool ProductFits(DataType type, const std::vector<Expr>& factors);

// `nest` with other values for loop variables, also inside of blocks that have no iterators and use loops around them.
Stmt ReplaceLoopVars(const Stmt& nest, const VarMap& values);

// `nest` with the bindings of the blocks below it, and the extents of loops on the way, simplified; predicates stay as
// they are written, as they do in TVM. `above`: the loops around it, up to its scope.
Stmt SimplifyNest(const Stmt& nest, const std::vector<const ForNode*>& above, bool preserve_unit_iters);

}  // namespace tilewright
