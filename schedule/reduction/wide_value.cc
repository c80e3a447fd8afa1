#include "schedule/reduction/wide_value.h"

#include "ir/arith/whole_numbers.h"
#include "ir/builtin.h"

namespace tilewright {
namespace {

bool IsComputedWide(BinaryOp op) {
  switch (op) {
    case BinaryOp::kAdd:
    case BinaryOp::kSub:
    case BinaryOp::kMul:
    case BinaryOp::kDiv:
    case BinaryOp::kMin:
    case BinaryOp::kMax:
      return true;
    default:
      return false;
  }
}

// Whether the conversion rounds no number that it is given.
bool IsExact(const CastNode& op) {
  const DataType from = op.value.dtype();
  return from.is_float() ? from.bits() < op.dtype().bits() : WholeMagnitude(Expr(&op)).has_value();
}

}  // namespace

Expr WideValue(const Expr& e, DataType wide) {
  if (const auto* op = dyn_cast<BinaryNode>(e); op != nullptr && IsComputedWide(op->op)) {
    return MakeBinary(op->op, WideValue(op->a, wide), WideValue(op->b, wide));
  }
  if (const auto* op = dyn_cast<SelectNode>(e)) {
    return Select(op->condition, WideValue(op->true_value, wide), WideValue(op->false_value, wide));
  }
  if (const auto* op = dyn_cast<CallNode>(e); op != nullptr && op->op == kIfThenElse) {
    return IfThenElse(op->args[0], WideValue(op->args[1], wide), WideValue(op->args[2], wide));
  }
  if (const auto* op = dyn_cast<LetNode>(e)) return Expr(new LetNode(op->var, op->value, WideValue(op->body, wide)));
  if (const auto* op = dyn_cast<CastNode>(e); op != nullptr && IsExact(*op)) return CastTo(wide, op->value);
  return CastTo(wide, e);
}

}  // namespace tilewright
