// Code for operations on one floating-point type, float or double, scalar or vector: what polynomial.cc and
// wide_functions.cc are written in. Private to codegen/llvm.
#pragma once

#include <initializer_list>

#include "codegen/llvm/types.h"

namespace tilewright::codegen {

class FloatCode {
 public:
  FloatCode(Builder& builder, llvm::Type* type);
  // The type `element` with as many lanes as the values have.
  llvm::Type* Like(llvm::Type* element) { return type_->getWithNewType(element); }
  llvm::Constant* Number(double value) { return llvm::ConstantFP::get(type_, value); }
  llvm::Constant* Bits(uint64_t value) { return llvm::ConstantInt::get(bits_type_, value); }
  llvm::Value* ToBits(llvm::Value* x) { return b_.CreateBitCast(x, bits_type_); }
  llvm::Value* FromBits(llvm::Value* bits) { return b_.CreateBitCast(bits, type_); }
  llvm::Value* ToFloat(llvm::Value* integer) { return b_.CreateSIToFP(integer, type_); }
  // Fused where the target has an instruction for it.
  llvm::Value* Fma(llvm::Value* x, llvm::Value* y, llvm::Value* z) { return b_.CreateFAdd(b_.CreateFMul(x, y), z); }
  llvm::Value* Abs(llvm::Value* x) { return b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x); }
  llvm::Value* Sqrt(llvm::Value* x) { return b_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x); }
  llvm::Value* CopySign(llvm::Value* x, llvm::Value* sign) {
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, x, sign);
  }
  // Coefficients of x^0, x^1, ... by Horner's rule; where they are many, of pairs of them (Estrin's scheme).
  llvm::Value* Polynomial(llvm::Value* x, std::initializer_list<double> coefficients);
  // NaN stays NaN: a comparison with it is false.
  llvm::Value* AtMost(llvm::Value* x, double high);
  llvm::Value* ClampTo(llvm::Value* x, double low, double high);

 private:
  Builder& b_;
  llvm::Type* type_;
  llvm::Type* bits_type_;
};

}  // namespace tilewright::codegen
