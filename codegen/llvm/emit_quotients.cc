// Vectors divided by one number. A division takes the units of a core ten times as long as a multiplication.
//
//   y = 1 / b                       once where b does not change in a loop
//   q = a * y
//   q + (a - q * b) * y             the remainder is exact
//
// Quotients that are exactly representable come out so, others within a unit in the last place, two below 2^-100. What
// this cannot compute gives NaN on the way: infinities, quotients that overflow, and divisors whose reciprocal is no
// normal number, for which y is made NaN. A vector with a NaN is divided.
#include <cmath>

#include "codegen/llvm/emitter.h"
#include "llvm/IR/MDBuilder.h"

namespace tilewright::codegen {
namespace {

// Divisors with a normal reciprocal, with room for remainders.
constexpr double kLeastDivisor = 0x1p-100, kGreatestDivisor = 0x1p100;
// The instructions saved must be more than those that look for NaN.
constexpr int kLeastLanes = 4;

}  // namespace

bool FunctionEmitter::DividesFastBy(const BinaryNode* op) const {
  const auto* broadcast = dyn_cast<BroadcastNode>(op->b);
  const DataType type = op->dtype();
  if (op->op != BinaryOp::kDiv || broadcast == nullptr) return false;
  // By a power of two LLVM multiplies.
  const auto* constant = dyn_cast<FloatImmNode>(broadcast->value);
  int exponent = 0;
  if (constant != nullptr && std::frexp(constant->value, &exponent) == 0.5) return false;
  return broadcast->value.dtype().is_scalar() && type.element() == DataType::Float(32) && type.lanes() >= kLeastLanes &&
         context_.target.has("fma");
}

llvm::Value* FunctionEmitter::EmitQuotients(llvm::Value* a, llvm::Value* b) {
  llvm::Type* type = a->getType();
  const unsigned lanes = llvm::cast<llvm::FixedVectorType>(type)->getNumElements();
  const auto number = [&](double value) { return llvm::ConstantFP::get(b->getType(), value); };
  const auto fma = [&](llvm::Value* x, llvm::Value* y, llvm::Value* z) {
    return builder_.CreateIntrinsic(llvm::Intrinsic::fma, {type}, {x, y, z});
  };
  llvm::Value* magnitude = builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, b);
  llvm::Value* fits = builder_.CreateAnd(builder_.CreateFCmpOGE(magnitude, number(kLeastDivisor)),
                                         builder_.CreateFCmpOLE(magnitude, number(kGreatestDivisor)));
  llvm::Value* reciprocal =
      builder_.CreateSelect(fits, builder_.CreateFDiv(number(1), b), llvm::ConstantFP::getNaN(b->getType()));
  llvm::Value* all_b = builder_.CreateVectorSplat(lanes, b);
  reciprocal = builder_.CreateVectorSplat(lanes, reciprocal);
  llvm::Value* first = builder_.CreateFMul(a, reciprocal);
  llvm::Value* remainder = fma(builder_.CreateFNeg(first), all_b, a);
  llvm::Value* corrected = fma(remainder, reciprocal, first);

  llvm::Value* failed = builder_.CreateOrReduce(builder_.CreateFCmpUNO(corrected, corrected));
  llvm::BasicBlock* before = builder_.GetInsertBlock();
  llvm::BasicBlock* divide = NewBlock("divide");
  llvm::BasicBlock* done = NewBlock("divided");
  builder_.CreateCondBr(failed, divide, done, llvm::MDBuilder(context_.llvm).createBranchWeights(1, 2000));
  builder_.SetInsertPoint(divide);
  llvm::Value* quotient = builder_.CreateFDiv(a, all_b);
  builder_.CreateBr(done);
  builder_.SetInsertPoint(done);
  llvm::PHINode* result = builder_.CreatePHI(type, 2);
  result->addIncoming(corrected, before);
  result->addIncoming(quotient, divide);
  return result;
}

}  // namespace tilewright::codegen
