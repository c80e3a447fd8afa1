// Floating-point numbers that are rounded, clamped and converted to integers, as requantization does it:
//
//   int(min(max(nearbyint(x), -128), 127))    ->    lrint(min(max(x, -128), 127))
//
// A limit that is an integer may be applied before rounding or after it. x86 converts and rounds to nearest in one
// instruction, where rounding alone takes two.
#include <cmath>

#include "codegen/llvm/emitter.h"
#include "codegen/llvm/types.h"

namespace tilewright::codegen {
namespace {

bool IsIntegerConstant(const Expr& e) {
  const auto* broadcast = dyn_cast<BroadcastNode>(e);
  const auto* number = dyn_cast<FloatImmNode>(broadcast ? broadcast->value : e);
  return number != nullptr && std::nearbyint(number->value) == number->value;
}

// What gives `e` when it is rounded to nearest; null where `e` is nothing that is rounded.
Expr BeforeRounding(const Expr& e) {
  if (const auto* call = dyn_cast<CallNode>(e)) return call->op == "nearbyint" ? call->args[0] : Expr();
  const auto* limit = dyn_cast<BinaryNode>(e);
  if (limit == nullptr || (limit->op != BinaryOp::kMin && limit->op != BinaryOp::kMax)) return {};
  if (!IsIntegerConstant(limit->b)) return {};
  const Expr value = BeforeRounding(limit->a);
  return value ? MakeBinary(limit->op, value, limit->b) : Expr();
}

}  // namespace

llvm::Value* FunctionEmitter::EmitRounding(const CastNode* op) {
  const DataType from = op->value.dtype(), to = op->dtype();
  if (context_.target.kind != TargetKind::kX86 || from.element() != DataType::Float(32)) return nullptr;
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

}  // namespace tilewright::codegen
