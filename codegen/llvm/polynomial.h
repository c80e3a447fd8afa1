// Elementary functions of f32 as straight-line code over polynomials, for scalars and vectors alike. Private to
// codegen/llvm.
//
// The coefficients minimize the greatest relative error over the interval of each polynomial; polynomial_test.cc
// compares every function with the C library over its whole range.
#pragma once

#include "codegen/llvm/types.h"
#include "target/target.h"

namespace tilewright::codegen {

// 2 units in the last place; infinities and NaN as usual.
llvm::Value* EmitExp(Builder& builder, llvm::Value* x, const Target& target);
// 2 units; log(0) is -infinity, negative numbers give NaN.
llvm::Value* EmitLog(Builder& builder, llvm::Value* x, const Target& target);
// 3 units.
llvm::Value* EmitTanh(Builder& builder, llvm::Value* x, const Target& target);
llvm::Value* EmitErf(Builder& builder, llvm::Value* x, const Target& target);
// 1 / (1 + exp(-x)), 3 units.
llvm::Value* EmitSigmoid(Builder& builder, llvm::Value* x, const Target& target);

}  // namespace tilewright::codegen
