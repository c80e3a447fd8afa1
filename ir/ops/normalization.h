// Operators that reduce each row of a matrix and then use the result in all of the row, as programs.
#pragma once

#include "ir/function.h"
#include "ir/ops/operand_types.h"

namespace tilewright::ops {

// exp(A[i, j] - max of row i) / sum of these over row i.
Function Softmax(Expr rows, Expr columns, const RowTypes& types = {});

// norm[i] = square root of the sum of squares of row i. Blocks squares, norm.
Function RowNorm(Expr rows, Expr columns, const RowTypes& types = {});

// (A[i, j] - mean) / sqrt(variance + epsilon) * gamma[j] + beta[j], mean and variance of row i: the variance is taken
// of differences from the mean, not as a difference of sums. gamma and beta are in the type of computing.
Function LayerNorm(Expr rows, Expr columns, double epsilon = 1e-5, const RowTypes& types = {});

}  // namespace tilewright::ops
