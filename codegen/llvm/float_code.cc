#include "codegen/llvm/float_code.h"

#include <vector>

namespace tilewright::codegen {
namespace {

// From as many terms on the operations that Horner's rule has one after the other take longer than further products.
constexpr size_t kPaired = 6;

}  // namespace

FloatCode::FloatCode(Builder& builder, llvm::Type* type)
    : b_(builder), type_(type), bits_type_(type->getWithNewType(b_.getIntNTy(type->getScalarSizeInBits()))) {}

llvm::Value* FloatCode::Polynomial(llvm::Value* x, std::initializer_list<double> coefficients) {
  std::vector<llvm::Value*> terms;
  for (const double coefficient : coefficients) terms.push_back(Number(coefficient));
  // Pairs of terms are one term of x^2.
  for (; terms.size() >= kPaired; x = b_.CreateFMul(x, x)) {
    std::vector<llvm::Value*> pairs;
    for (size_t i = 0; i < terms.size(); i += 2) {
      pairs.push_back(i + 1 < terms.size() ? Fma(terms[i + 1], x, terms[i]) : terms[i]);
    }
    terms.swap(pairs);
  }
  llvm::Value* sum = terms.back();
  for (size_t i = terms.size() - 1; i-- > 0;) sum = Fma(sum, x, terms[i]);
  return sum;
}

llvm::Value* FloatCode::AtMost(llvm::Value* x, double high) {
  return b_.CreateSelect(b_.CreateFCmpOGT(x, Number(high)), Number(high), x);
}

llvm::Value* FloatCode::ClampTo(llvm::Value* x, double low, double high) {
  return AtMost(b_.CreateSelect(b_.CreateFCmpOLT(x, Number(low)), Number(low), x), high);
}

}  // namespace tilewright::codegen
