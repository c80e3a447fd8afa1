#include "ir/arith/exact.h"

#include <algorithm>
#include <limits>

#include "ir/arith/bounds.h"

namespace tilewright::arith {

std::optional<int64_t> EvaluateExactly(BinaryOp op, int64_t a, int64_t b) {
  const bool divides =
      op == BinaryOp::kDiv || op == BinaryOp::kMod || op == BinaryOp::kFloorDiv || op == BinaryOp::kFloorMod;
  if (divides && (b == 0 || (b == -1 && a == std::numeric_limits<int64_t>::min()))) return std::nullopt;
  int64_t result = 0;
  switch (op) {
    case BinaryOp::kAdd:
      return __builtin_add_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case BinaryOp::kSub:
      return __builtin_sub_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case BinaryOp::kMul:
      return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional(result);
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
    case BinaryOp::kAnd:
      return a != 0 && b != 0;
    case BinaryOp::kOr:
      return a != 0 || b != 0;
    default:
      return Compare(op, a, b);
  }
}

}  // namespace tilewright::arith
