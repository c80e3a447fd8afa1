// Conversions that round to nearest, where x86 has an instruction.
//
// Numbers that are rounded, clamped and converted to integers, as requantization does it:
//
//   int(min(max(nearbyint(x), -128), 127))    ->    lrint(min(max(x, -128), 127))
//
// A limit that is an integer may be applied before rounding or after it. One instruction converts and rounds, where
// rounding alone takes two.
//
// f32 to bfloat16, which takes seven operations on the bits. The instruction takes denormals for zeros: a vector that
// has one goes the long way.
#include <cmath>

#include "codegen/llvm/emitter.h"
#include "codegen/llvm/types.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/IR/MDBuilder.h"

namespace tilewright::codegen {
namespace {

bool IsIntegerConstant(const Expr& e) {
  const auto* broadcast = dyn_cast<BroadcastNode>(e);
  const auto* number = dyn_cast<FloatImmNode>(broadcast ? broadcast->value : e);
  return number != nullptr && std::nearbyint(number->value) == number->value;
}

// What gives `e` when it is rounded to nearest; null where `e` is nothing that is rounded.
Expr BeforeRounding(const Expr& e) {
  if (const auto* call = dyn_cast<CallNode>(e)) {
    return call->op == "nearbyint" || call->op == "round" ? call->args[0] : Expr();
  }
  const auto* limit = dyn_cast<BinaryNode>(e);
  if (limit == nullptr || (limit->op != BinaryOp::kMin && limit->op != BinaryOp::kMax)) return {};
  if (!IsIntegerConstant(limit->b)) return {};
  const Expr value = BeforeRounding(limit->a);
  return value ? MakeBinary(limit->op, value, limit->b) : Expr();
}

}  // namespace

llvm::Value* FunctionEmitter::EmitRoundingOfX86(const CastNode* op) {
  const DataType from = op->value.dtype(), to = op->dtype();
  if (context_.target.kind != TargetKind::kX86) return nullptr;
  if (to == DataType::BFloat16().with_lanes(16) && context_.target.has("avx512bf16") &&
      context_.target.has("avx512dq")) {
    return EmitBFloat16(to, Emit(op->value));
  }
  // The instruction gives an i32.
  if (to.is_bool() || !to.is_integer() || (to.bits() >= 32 && to.element() != DataType::Int(32))) return nullptr;
  const Expr value = BeforeRounding(op->value);
  if (!value) return nullptr;
  llvm::Value* number = Emit(value);
  const DataType i32 = DataType::Int(32).with_lanes(from.lanes());
  llvm::Value* rounded =
      builder_.CreateIntrinsic(llvm::Intrinsic::lrint, {RegisterType(context_.llvm, i32), number->getType()}, {number});
  return Convert(builder_, i32, to, rounded);
}

llvm::Value* FunctionEmitter::EmitBFloat16(DataType type, llvm::Value* value) {
  constexpr int kDenormal = 0x20;  // of the classes of numbers
  llvm::Value* denormals =
      builder_.CreateIntrinsic(llvm::Intrinsic::x86_avx512_fpclass_ps_512, {}, {value, builder_.getInt32(kDenormal)});
  llvm::Value* any = builder_.CreateOrReduce(denormals);
  llvm::Value* converted =
      builder_.CreateBitCast(builder_.CreateIntrinsic(llvm::Intrinsic::x86_avx512bf16_cvtneps2bf16_512, {}, {value}),
                             MemoryType(context_.llvm, type));
  llvm::BasicBlock* before = builder_.GetInsertBlock();
  llvm::BasicBlock* round = NewBlock("round");
  llvm::BasicBlock* done = NewBlock("rounded");
  builder_.CreateCondBr(any, round, done, llvm::MDBuilder(context_.llvm).createBranchWeights(1, 2000));
  builder_.SetInsertPoint(round);
  llvm::Value* rounded = ToMemory(builder_, type, RoundNarrow(builder_, type, value));
  builder_.CreateBr(done);
  builder_.SetInsertPoint(done);
  llvm::PHINode* result = builder_.CreatePHI(converted->getType(), 2);
  result->addIncoming(converted, before);
  result->addIncoming(rounded, round);
  return FromMemory(builder_, type, result);
}

}  // namespace tilewright::codegen
