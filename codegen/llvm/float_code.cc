#include "codegen/llvm/float_code.h"

namespace tilewright::codegen {

FloatCode::FloatCode(Builder& builder, llvm::Type* type)
    : b_(builder), type_(type), bits_type_(type->getWithNewType(b_.getIntNTy(type->getScalarSizeInBits()))) {}

llvm::Value* FloatCode::Polynomial(llvm::Value* x, std::initializer_list<double> coefficients) {
  const double* c = coefficients.end() - 1;
  llvm::Value* sum = Number(*c);
  while (c != coefficients.begin()) sum = Fma(sum, x, Number(*--c));
  return sum;
}

llvm::Value* FloatCode::AtMost(llvm::Value* x, double high) {
  return b_.CreateSelect(b_.CreateFCmpOGT(x, Number(high)), Number(high), x);
}

llvm::Value* FloatCode::ClampTo(llvm::Value* x, double low, double high) {
  return AtMost(b_.CreateSelect(b_.CreateFCmpOLT(x, Number(low)), Number(low), x), high);
}

}  // namespace tilewright::codegen
