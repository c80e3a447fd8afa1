// Requantization: of matrix multiplication and convolution of 8-bit integers, and of any function's output.
#pragma once

#include "ir/ops/conv.h"

namespace tilewright::ops {

// From int32 (or float32) to 8 bits: clamp(round-half-to-even(float32(x + bias) * scale) + zero_point) to the range of
// `to`.
struct Requantization {
  double scale = 1;
  int zero_point = 0;
  DataType to = DataType::UInt(8);
};

// The formula for one value.
Expr Requantize(const Expr& value, const Requantization& how);

// Matmul and Conv as in their headers with another input "bias" (int32, one per output column or channel) and the
// output requantized by a block "requantize".
Function MatmulRequantize(Expr m, Expr n, Expr k, const OperandTypes& types, const Requantization& how,
                          bool transposed = false);
Function ConvRequantize(const ConvShape& shape, const OperandTypes& types, const Requantization& how);

// The function, whose last parameter is an int32 or float32 output, with that output requantized (without a bias) by a
// block "requantize". Its elements become an intermediate buffer:
//
//   main(A, B, C: int32):  C = ...          ->    main(A, B, requantize: uint8):  C = ...; requantize = clamp(C *
//   scale)
Function WithRequantization(const Function& function, const Requantization& how);

}  // namespace tilewright::ops
