// Arithmetic of float16 on machines that convert it to f32 and back for every operation, and of the narrower types:
// what is not rounded is not converted.
//
//   (T.Cast("float16", w & T.uint32(15)) - T.float16(7)) * scale    the difference is a whole number: the product alone
//                                                                   is rounded
#include "codegen/llvm/emitter.h"
#include "ir/arith/whole_numbers.h"
#include "ir/builtin.h"
#include "target/native_types.h"

namespace tilewright::codegen {
namespace {

bool IsHalf(DataType type) { return type.element() == DataType::Float(16); }

// A half that is looked up among floats (codegen/lower/cpu/tabulate.h); null when `e` is no such thing.
const CallNode* LookedUpHalf(const Expr& e) {
  const auto* half = IsHalf(e.dtype()) ? dyn_cast<CastNode>(e) : nullptr;
  const auto* lookup = half == nullptr ? nullptr : dyn_cast<CallNode>(half->value);
  const auto* table = lookup == nullptr || lookup->op != kLookup ? nullptr : dyn_cast<CastNode>(lookup->args[0]);
  return table != nullptr && IsHalf(table->value.dtype()) ? lookup : nullptr;
}

// A half that is made as a float and then converted.
bool IsFloatFirst(const Expr& e) { return WholeMagnitude(e) || LookedUpHalf(e) != nullptr; }

}  // namespace

bool FunctionEmitter::HasHalves() const { return HasArithmeticOf(context_.target, "float16"); }

llvm::Value* FunctionEmitter::EmitWide(const Expr& e) {
  const DataType type = e.dtype(), wide = DataType::Float(32, type.lanes());
  if (!IsHalf(type)) return Emit(e);
  if (const CallNode* lookup = LookedUpHalf(e)) return Emit(Expr(lookup));
  if (const auto* broadcast = dyn_cast<BroadcastNode>(e); broadcast != nullptr && WholeMagnitude(e)) {
    return builder_.CreateVectorSplat(static_cast<unsigned>(type.lanes()), EmitWide(broadcast->value));
  }
  if (const auto* op = dyn_cast<BinaryNode>(e); op != nullptr && WholeMagnitude(e)) {
    llvm::Value* a = EmitWide(op->a);
    return EmitFloatBinary(op->op, a, EmitWide(op->b));
  }
  const auto* cast_node = dyn_cast<CastNode>(e);
  if (cast_node != nullptr && WholeMagnitude(e)) return EmitWhole(cast_node, wide);
  return Convert(builder_, type, wide, Emit(e));
}

// The same number in a wider type than the cast's own.
llvm::Value* FunctionEmitter::EmitWhole(const CastNode* op, DataType type) {
  if (IsHalf(op->value.dtype())) return EmitWide(op->value);
  return Convert(builder_, op->value.dtype(), type, Emit(op->value));
}

llvm::Value* FunctionEmitter::EmitNarrowCast(const CastNode* op) {
  const DataType from = op->value.dtype(), to = op->dtype();
  if (IsHalf(from) && to.element() == DataType::Float(32) && !HasHalves()) return EmitWide(op->value);
  if (IsNarrowFloat(to) && WholeMagnitude(Expr(op))) return EmitWhole(op, DataType::Float(32, to.lanes()));
  return nullptr;
}

llvm::Value* FunctionEmitter::EmitNarrowBinary(const BinaryNode* op) {
  const DataType type = op->a.dtype();
  if (IsComparison(op->op)) return nullptr;
  if (IsNarrowFloat(type) && WholeMagnitude(Expr(op))) {
    llvm::Value* a = Emit(op->a);
    return EmitFloatBinary(op->op, a, Emit(op->b));
  }
  // LLVM makes the conversions, all of which are needed where neither operand is a float first.
  if (!IsHalf(type) || HasHalves() || !(IsFloatFirst(op->a) || IsFloatFirst(op->b))) return nullptr;
  if (op->op != BinaryOp::kAdd && op->op != BinaryOp::kSub && op->op != BinaryOp::kMul) return nullptr;
  llvm::Value* a = EmitWide(op->a);
  llvm::Value* result = EmitFloatBinary(op->op, a, EmitWide(op->b));
  return builder_.CreateFPTrunc(result, RegisterType(context_.llvm, type));
}

}  // namespace tilewright::codegen
