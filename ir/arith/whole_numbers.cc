#include "ir/arith/whole_numbers.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace tilewright {
namespace {

// Sums of two numbers of this magnitude do not overflow the types that are asked for.
constexpr int64_t kMostAdded = int64_t{1} << 24;

// Up to which magnitude a type holds every integer; 0 for other types.
int64_t HoldsUpTo(DataType type) {
  if (!type.is_float()) return 0;
  switch (type.code()) {
    case TypeCode::kFloat:
      return type.bits() == 16 ? int64_t{1} << 11 : int64_t{1} << 24;
    case TypeCode::kBFloat:
      return int64_t{1} << 8;
    case TypeCode::kE4M3:
      return int64_t{1} << 4;
    case TypeCode::kE5M2:
      return int64_t{1} << 3;
    default:
      return 0;
  }
}

std::optional<int64_t> Held(DataType type, std::optional<int64_t> magnitude) {
  return magnitude && *magnitude <= HoldsUpTo(type) ? magnitude : std::nullopt;
}

const Expr& Element(const Expr& e) {
  const auto* broadcast = dyn_cast<BroadcastNode>(e);
  return broadcast == nullptr ? e : Element(broadcast->value);
}

// Whether the integer is known not to be negative: by its type, or by the bits that a mask keeps.
bool IsNotNegative(const Expr& e) {
  if (e.dtype().is_uint()) return true;
  if (const auto value = AsInt(Element(e))) return *value >= 0;
  const auto* call = dyn_cast<CallNode>(e);
  return call != nullptr && call->op == "bitwise_and" &&
         std::ranges::any_of(call->args, [](const Expr& side) { return AsInt(Element(side)).value_or(-1) >= 0; });
}

// The magnitude of an integer, by its type, by the bits that a mask keeps, and of sums by that of what is added.
std::optional<int64_t> IntegerMagnitude(const Expr& e) {
  if (const auto value = AsInt(Element(e))) return *value > INT64_MIN ? std::optional(std::abs(*value)) : std::nullopt;
  const DataType type = e.dtype();
  std::optional<int64_t> most;
  if (type.bits() < 32)
    most = (int64_t{1} << (type.is_int() ? type.bits() - 1 : type.bits())) - (type.is_int() ? 0 : 1);
  if (const auto* call = dyn_cast<CallNode>(e); call != nullptr && call->op == "bitwise_and") {
    for (const Expr& side : call->args) {
      const auto mask = AsInt(Element(side));
      if (mask && *mask >= 0) most = std::min(most.value_or(*mask), *mask);
    }
  }
  if (const auto* op = dyn_cast<CastNode>(e); op != nullptr && op->value.dtype().is_integer()) {
    const std::optional<int64_t> value = IntegerMagnitude(op->value);
    // A negative number wraps where the type is unsigned.
    const bool stays = value && *value <= MaxValue(type.element()) && (type.is_int() || IsNotNegative(op->value));
    if (stays) most = std::min(most.value_or(*value), *value);
  }
  const auto* op = dyn_cast<BinaryNode>(e);
  // Unsigned differences wrap.
  if (op != nullptr && (op->op == BinaryOp::kAdd || op->op == BinaryOp::kSub) && type.is_int() && type.bits() >= 32) {
    const std::optional<int64_t> a = IntegerMagnitude(op->a), b = a ? IntegerMagnitude(op->b) : std::nullopt;
    if (b && *a <= kMostAdded && *b <= kMostAdded) most = *a + *b;
  }
  return most;
}

}  // namespace

std::optional<int64_t> WholeMagnitude(const Expr& e) {
  if (const auto* broadcast = dyn_cast<BroadcastNode>(e)) return WholeMagnitude(broadcast->value);
  const DataType type = e.dtype();
  if (const auto* number = dyn_cast<FloatImmNode>(e)) {
    const bool whole = std::abs(number->value) <= 0x1p24 && std::nearbyint(number->value) == number->value;
    return whole ? Held(type, static_cast<int64_t>(std::abs(number->value))) : std::nullopt;
  }
  if (const auto* op = dyn_cast<CastNode>(e)) {
    return Held(type, op->value.dtype().is_float() ? WholeMagnitude(op->value) : IntegerMagnitude(op->value));
  }
  const auto* op = dyn_cast<BinaryNode>(e);
  if (op == nullptr || !type.is_float()) return std::nullopt;
  const std::optional<int64_t> a = WholeMagnitude(op->a), b = a ? WholeMagnitude(op->b) : std::nullopt;
  if (!b) return std::nullopt;
  switch (op->op) {
    case BinaryOp::kAdd:
    case BinaryOp::kSub:
      return Held(type, *a + *b);
    case BinaryOp::kMul:
      return Held(type, *a * *b);
    case BinaryOp::kMin:
    case BinaryOp::kMax:
      return std::max(*a, *b);
    default:
      return std::nullopt;
  }
}

}  // namespace tilewright
