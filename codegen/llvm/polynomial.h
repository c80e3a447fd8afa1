// Elementary functions of f32 as straight-line code over polynomials, for scalars and vectors alike. Private to
// codegen/llvm.
//
// The coefficients minimize the greatest relative error over the interval of each polynomial; math_test.cc compares
// every function with the C library over its whole range.
#pragma once

#include "codegen/llvm/types.h"
#include "target/target.h"

namespace tilewright::codegen {

// 2 units in the last place; infinities and NaN as usual.
llvm::Value* EmitExp(Builder& builder, llvm::Value* x, const Target& target);
llvm::Value* EmitExp2(Builder& builder, llvm::Value* x, const Target& target);
// 2 units; log(0) is -infinity, negative numbers give NaN.
llvm::Value* EmitLog(Builder& builder, llvm::Value* x, const Target& target);
// 3 units.
llvm::Value* EmitTanh(Builder& builder, llvm::Value* x, const Target& target);
llvm::Value* EmitErf(Builder& builder, llvm::Value* x, const Target& target);
// 1 / (1 + exp(-x)), 3 units.
llvm::Value* EmitSigmoid(Builder& builder, llvm::Value* x, const Target& target);

// Computed in f64 (wide_functions.cc), for vectors: 0.6 units for every f32, with infinities, NaN and signed zeros as
// the C library has them.
llvm::Value* EmitSin(Builder& builder, llvm::Value* x, const Target& target);
llvm::Value* EmitCos(Builder& builder, llvm::Value* x, const Target& target);
llvm::Value* EmitTan(Builder& builder, llvm::Value* x, const Target& target);
llvm::Value* EmitAsin(Builder& builder, llvm::Value* x, const Target& target);
llvm::Value* EmitAcos(Builder& builder, llvm::Value* x, const Target& target);
llvm::Value* EmitAtan(Builder& builder, llvm::Value* x, const Target& target);
llvm::Value* EmitSinh(Builder& builder, llvm::Value* x, const Target& target);
llvm::Value* EmitCosh(Builder& builder, llvm::Value* x, const Target& target);
llvm::Value* EmitAsinh(Builder& builder, llvm::Value* x, const Target& target);
llvm::Value* EmitAcosh(Builder& builder, llvm::Value* x, const Target& target);
llvm::Value* EmitAtanh(Builder& builder, llvm::Value* x, const Target& target);
llvm::Value* EmitExp10(Builder& builder, llvm::Value* x, const Target& target);
llvm::Value* EmitLog2(Builder& builder, llvm::Value* x, const Target& target);
llvm::Value* EmitLog10(Builder& builder, llvm::Value* x, const Target& target);
llvm::Value* EmitLog1p(Builder& builder, llvm::Value* x, const Target& target);
llvm::Value* EmitAtan2(Builder& builder, llvm::Value* y, llvm::Value* x, const Target& target);
llvm::Value* EmitHypot(Builder& builder, llvm::Value* x, llvm::Value* y, const Target& target);
// x^n for a constant whole n from 1 to 8, of any f32 value; null for other exponents.
llvm::Value* EmitWholePower(Builder& builder, llvm::Value* x, llvm::Value* y);
llvm::Value* EmitPow(Builder& builder, llvm::Value* x, llvm::Value* y, const Target& target);

}  // namespace tilewright::codegen
