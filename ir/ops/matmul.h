// Matrix multiplication.
#pragma once

#include "ir/builder.h"
#include "ir/ops/operand_types.h"

namespace tilewright::ops {

// C[m, n] = sum over k of A[m, k] * B[k, n]; `transposed`: B is [n, k]. Extents may be variables, here and below: the
// shapes of the arguments give them their values.
Function Matmul(Expr m, Expr n, Expr k, const OperandTypes& types = OperandTypes::Float32(), bool transposed = false);

// Adds the multiplication of two buffers to a function and returns C.
Buffer AddMatmul(FunctionBuilder& f, const Buffer& a, const Buffer& b, DataType output, bool transposed);

// C[b, m, n] = sum over k of A[b, m, k] * B[b, k, n]; `transposed`: B is [b, n, k].
Function BatchMatmul(Expr batch, Expr m, Expr n, Expr k, const OperandTypes& types = OperandTypes::Float32(),
                     bool transposed = false);

// The scores of attention: query and value are [batch, sequence, heads, dim]; both are transposed to heads first, then
// C[b, h, i, j] = sum over k of query_T[b, h, i, k] * value_T[b, h, k, j].
Function TransposeBatchMatmul(Expr batch, Expr sequence, Expr heads, Expr dim,
                              const OperandTypes& types = OperandTypes::Float32());

}  // namespace tilewright::ops
