// Scalar functions with the exact meaning that exchange formats give them, where it is not that of one expression node.
#pragma once

#include "ir/expr.h"

namespace tilewright::ops {

// The larger and the smaller operand; NaN where one of them is NaN. (`Max` and `Min` give the second operand then.)
Expr MaxOrNan(const Expr& a, const Expr& b);
Expr MinOrNan(const Expr& a, const Expr& b);
// The same by type: floats pass NaN on, booleans are "or" and "and".
Expr Larger(const Expr& a, const Expr& b);
Expr Smaller(const Expr& a, const Expr& b);

// -inf and +inf, or the least and greatest value of a type that does not have them; false and true of bool.
Expr Lowest(DataType dtype);
Expr Highest(DataType dtype);

// One argument, in its own type: Unary("exp", x). f16 and narrower types compute in f32.
Expr Unary(const char* builtin, const Expr& x);

// 1 / (1 + exp(-x)), without overflow.
Expr Sigmoid(const Expr& x);
// log(1 + exp(x)), without overflow.
Expr Softplus(const Expr& x);
// x < 0 ? -1 : x > 0 ? 1 : x, NaN for NaN.
Expr SignOf(const Expr& x);
// `base` to the power of `exponent`, in the type of `base`. Integers wrap.
Expr Power(const Expr& base, const Expr& exponent);
// Quotient of integers that rounds towards zero; 0 where the divisor is 0, and it wraps where it does not fit.
Expr IntegerQuotient(const Expr& a, const Expr& b);
// The remainder with the sign of the divisor; 0 where the divisor is 0.
Expr IntegerModulo(const Expr& a, const Expr& b);

// A conversion between numbers, defined for every value: to bool `x != 0`; floats to integers cut the fraction off, and
// what is outside of the range of int32 (for uint32 and results of 64 bits, of int64), or NaN, gives its least value;
// wider integers wrap.
Expr Convert(DataType to, const Expr& x);
// A float limited to the finite values of the floating-point type `to`; NaN stays.
Expr Limited(DataType to, const Expr& x);
// A float rounded half to even and limited to the range of the integer type `to`.
Expr RoundAndSaturate(DataType to, const Expr& x);

}  // namespace tilewright::ops
