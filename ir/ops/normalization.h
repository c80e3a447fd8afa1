// Operators that reduce each row of a matrix and then use the result in all of the row.
#pragma once

#include "ir/function.h"
#include "ir/ops/operand_types.h"

namespace tilewright::ops {

// exp(A[i, j] - max of row i) / sum of these over row i. Blocks T_softmax_maxelem, T_softmax_exp, T_softmax_expsum,
// T_softmax_norm.
Function Softmax(Expr rows, Expr columns, const RowTypes& types = {});

// norm[i] = square root of the sum of squares of row i. Blocks C, norm.
Function RowNorm(Expr rows, Expr columns, const RowTypes& types = {});

// (A[i, j] - mean) * rsqrt(variance + epsilon) * gamma[j] + beta[j], mean and variance of row i. Blocks total, mean,
// squares, inverse_deviation, layer_norm: the variance is taken of differences from the mean, not as a difference of
// sums. gamma and beta are in the type of computing.
Function LayerNorm(Expr rows, Expr columns, double epsilon = 1e-5, const RowTypes& types = {});

}  // namespace tilewright::ops
