// Iterators as expressions of the iterators' variables, not simplified. Internal to iterator maps.
#pragma once

#include <vector>

#include "ir/arith/iter_map.h"

namespace tilewright::arith {

Expr MarkExpr(const IterMark& mark);
Expr SumExpr(const std::vector<IterSplit>& args, const Expr& base);

}  // namespace tilewright::arith
