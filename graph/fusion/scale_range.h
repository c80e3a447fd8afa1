// Whether scales may be multiplied ahead: numbers that a product of scales makes too large or too small are lost, where
// x / 1e-30 / 1e-30 * 1e-30 with x = 0 is 0 step by step and 0 * inf as one factor.
#pragma once

#include "graph/ir/value.h"
#include "ir/expr.h"
#include "ir/ndarray.h"

namespace tilewright::graph {

// A condition on an expression of f32 or f64: each sum, difference, product and quotient in it is finite, and no
// product or quotient is below the least normal number unless an operand is zero.
Expr StaysNormal(const Expr& e);

// Whether multiplying weights by factors[c], c their index along `dimension`, keeps the largest weight of each c a
// finite normal number. One that is below the least normal number before may be anything below it. f32 and f64.
bool WeightsStayNormal(const ConstantNode& weights, size_t dimension, const NDArray& factors);

}  // namespace tilewright::graph
