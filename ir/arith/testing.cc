#include "ir/arith/testing.h"

#include <algorithm>
#include <cstdlib>

#include "base/check.h"
#include "ir/arith/bounds.h"

namespace tilewright::arith {
namespace {

std::optional<int64_t> InType(DataType dtype, int64_t value) {
  if (dtype.is_uint() && dtype.bits() < 64) return value & MaxValue(dtype);
  if (dtype.is_int() && dtype.bits() < 64 && (value < MinValue(dtype) || value > MaxValue(dtype))) return std::nullopt;
  return value;
}

std::optional<int64_t> EvaluateBinary(BinaryOp op, int64_t a, int64_t b) {
  bool divides = op >= BinaryOp::kDiv && op <= BinaryOp::kFloorMod;
  if (divides && b == 0) return std::nullopt;
  switch (op) {
    case BinaryOp::kAdd:
      return a + b;
    case BinaryOp::kSub:
      return a - b;
    case BinaryOp::kMul:
      return a * b;
    case BinaryOp::kDiv:
      return a / b;
    case BinaryOp::kMod:
      return a % b;
    case BinaryOp::kFloorDiv:
      return FloorDivInt(a, b);
    case BinaryOp::kFloorMod:
      return FloorModInt(a, b);
    case BinaryOp::kMin:
      return std::min(a, b);
    case BinaryOp::kMax:
      return std::max(a, b);
    case BinaryOp::kEQ:
      return a == b;
    case BinaryOp::kNE:
      return a != b;
    case BinaryOp::kLT:
      return a < b;
    case BinaryOp::kLE:
      return a <= b;
    case BinaryOp::kGT:
      return a > b;
    case BinaryOp::kGE:
      return a >= b;
    case BinaryOp::kAnd:
      return a != 0 && b != 0;
    case BinaryOp::kOr:
      return a != 0 || b != 0;
  }
  return std::nullopt;
}

}  // namespace

std::optional<int64_t> Evaluate(const Expr& e, const Assignment& values) {
  switch (e->kind()) {
    case Kind::kIntImm:
      return cast<IntImmNode>(e)->value;
    case Kind::kVar:
      for (const auto& [var, value] : values) {
        if (var.get() == e.get()) return value;
      }
      TW_CHECK(false) << "no value for " << cast<VarNode>(e)->name;
      return std::nullopt;
    case Kind::kBinary: {
      const auto* op = cast<BinaryNode>(e);
      auto a = Evaluate(op->a, values), b = Evaluate(op->b, values);
      if (!a || !b) return std::nullopt;
      auto result = EvaluateBinary(op->op, *a, *b);
      return result ? InType(e.dtype(), *result) : std::nullopt;
    }
    case Kind::kNot: {
      auto a = Evaluate(cast<NotNode>(e)->a, values);
      return a ? std::optional<int64_t>(*a == 0) : std::nullopt;
    }
    case Kind::kSelect: {
      const auto* op = cast<SelectNode>(e);
      auto c = Evaluate(op->condition, values);
      auto a = Evaluate(op->true_value, values), b = Evaluate(op->false_value, values);
      if (!c || !a || !b) return std::nullopt;
      return *c != 0 ? a : b;
    }
    case Kind::kCast: {
      auto a = Evaluate(cast<CastNode>(e)->value, values);
      return a ? InType(e.dtype(), *a) : std::nullopt;
    }
    default:
      TW_CHECK(false) << "kind " << static_cast<int>(e->kind());
      return std::nullopt;
  }
}

int64_t FromEnvironment(const char* name, int64_t value) {
  const char* text = std::getenv(name);
  return text == nullptr ? value : std::strtoll(text, nullptr, 10);
}

}  // namespace tilewright::arith
