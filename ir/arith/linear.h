// Coefficients of an expression in given variables.
//
//   DetectLinear(i * 16 + j * n + 3, {i, j})   // coefficients {16, n}, base 3
//
// Used to find strides of accesses, and by whoever needs a compact view of an affine index.
#pragma once

#include <optional>
#include <vector>

#include "ir/arith/analyzer.h"
#include "ir/expr.h"

namespace tilewright::arith {

// e == coefficients[0] * vars[0] + ... + base, where neither the coefficients nor the base contain any of the
// variables.
struct LinearForm {
  std::vector<Expr> coefficients;
  Expr base;
};

// Nothing when `e` (an index expression) is not linear in the variables, as far as simplification shows.
std::optional<LinearForm> DetectLinear(const Expr& e, const std::vector<Var>& vars, Analyzer* analyzer);

// The largest constant known to divide `e`; 0 when `e` is zero.
int64_t KnownDivisor(const Expr& e, Analyzer* analyzer);

// A constant that divides `e` as it is written, without regrouping anything; 0 when `e` is zero. Finds what
// KnownDivisor takes apart: 16 for i // 16 * 16.
int64_t WrittenDivisor(const Expr& e);

}  // namespace tilewright::arith
