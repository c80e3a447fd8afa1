// The value of an expression of a narrow floating-point type, computed in a wider one.
//
//   A[vi] * (T.Cast("float16", W[vi]) - z)                 in float16, W: int8
//   T.Cast("float32", A[vi]) * (T.Cast("float32", W[vi]) - T.Cast("float32", z))
//
// Sums, differences, products, quotients, minima and maxima of the narrow type, and those that a select, an
// if_then_else or a let chooses, are computed in the wider type and not rounded to the narrow one. So are integers that
// the narrow type holds exactly. All else is computed as it is and then widened, which is exact: conversions to the
// narrow type from numbers that it may have to round, whose rounding is what the program says, conditions, and
// functions.
#pragma once

#include "ir/expr.h"

namespace tilewright {

// `wide`: a scalar type that holds every value of the type of `e`.
Expr WideValue(const Expr& e, DataType wide);

}  // namespace tilewright
