// What a name stands for, where it stays in results: `x` of `x: T.int32 = A[i]` or of a let.
#pragma once

#include "ir/arith/analyzer.h"
#include "ir/expr.h"

namespace tilewright::arith {

// `var` has the value of `value` until the analyzer's scope ends: its bounds, and whether it is made of numbers from
// memory, which may be so large that their sums overflow.
void BindName(const Var& var, const Expr& value, Analyzer* analyzer);

}  // namespace tilewright::arith
