#include "ir/arith/expr_text.h"

#include <string_view>

namespace tilewright::arith {
namespace {

struct Operator {
  std::string_view text;
  int precedence;
};

Operator OperatorOf(BinaryOp op) {
  switch (op) {
    case BinaryOp::kAdd:
      return {" + ", 5};
    case BinaryOp::kSub:
      return {" - ", 5};
    case BinaryOp::kMul:
      return {" * ", 6};
    case BinaryOp::kFloorDiv:
      return {" // ", 6};
    case BinaryOp::kFloorMod:
      return {" % ", 6};
    case BinaryOp::kDiv:
      return {" truncdiv ", 6};
    case BinaryOp::kMod:
      return {" truncmod ", 6};
    case BinaryOp::kEQ:
      return {" == ", 4};
    case BinaryOp::kNE:
      return {" != ", 4};
    case BinaryOp::kLT:
      return {" < ", 4};
    case BinaryOp::kLE:
      return {" <= ", 4};
    case BinaryOp::kGT:
      return {" > ", 4};
    case BinaryOp::kGE:
      return {" >= ", 4};
    case BinaryOp::kAnd:
      return {" and ", 2};
    case BinaryOp::kOr:
      return {" or ", 1};
    default:
      return {"", 7};  // min and max are written as calls
  }
}

std::string Print(const Expr& e, int precedence) {
  if (!e) return "null";
  switch (e->kind()) {
    case Kind::kIntImm: {
      int64_t value = cast<IntImmNode>(e)->value;
      if (e.dtype().is_bool()) return value != 0 ? "True" : "False";
      return std::to_string(value);
    }
    case Kind::kFloatImm:
      return std::to_string(cast<FloatImmNode>(e)->value);
    case Kind::kVar:
      return cast<VarNode>(e)->name;
    case Kind::kBinary: {
      const auto* op = cast<BinaryNode>(e);
      if (op->op == BinaryOp::kMin || op->op == BinaryOp::kMax) {
        return (op->op == BinaryOp::kMin ? "min(" : "max(") + Print(op->a, 0) + ", " + Print(op->b, 0) + ")";
      }
      Operator text = OperatorOf(op->op);
      std::string result = Print(op->a, text.precedence) + std::string(text.text) + Print(op->b, text.precedence + 1);
      return text.precedence < precedence ? "(" + result + ")" : result;
    }
    case Kind::kNot:
      return "not (" + Print(cast<NotNode>(e)->a, 0) + ")";
    case Kind::kSelect: {
      const auto* op = cast<SelectNode>(e);
      return "select(" + Print(op->condition, 0) + ", " + Print(op->true_value, 0) + ", " + Print(op->false_value, 0) +
             ")";
    }
    case Kind::kCast:
      return e.dtype().ToString() + "(" + Print(cast<CastNode>(e)->value, 0) + ")";
    default:
      return "<kind " + std::to_string(static_cast<int>(e->kind())) + ">";
  }
}

}  // namespace

std::string ToText(const Expr& e) { return Print(e, 0); }

}  // namespace tilewright::arith
