// Variables with the ranges they iterate over, outermost first: the loops around an expression, or the indices of a
// shape.
#pragma once

#include <utility>
#include <vector>

#include "ir/buffer.h"
#include "ir/expr.h"

namespace tilewright::arith {

// A range may refer to variables that stand before it.
using Domain = std::vector<std::pair<Var, Range>>;

}  // namespace tilewright::arith
