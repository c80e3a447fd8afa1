#include "verify/structure/join_digits.h"

#include <optional>
#include <utility>

#include "ir/arith/same_expr.h"

namespace tilewright {
namespace {

// number // low % (high / low); high 0: no remainder is taken.
struct Digit {
  Expr number;
  int64_t low = 1, high = 0;
};

// The positive constant that a quotient or remainder is taken by.
std::optional<int64_t> Divisor(const Expr& e, BinaryOp op) {
  const auto* binary = dyn_cast<BinaryNode>(e);
  if (binary == nullptr || binary->op != op || !binary->a.dtype().is_int()) return std::nullopt;
  const std::optional<int64_t> by = AsInt(binary->b);
  return by && *by > 0 ? by : std::nullopt;
}
Expr Operand(const Expr& e) { return cast<BinaryNode>(e)->a; }

// m, m // l, m % h, m % h // l where l divides h, and m // l % r.
Digit DigitOf(const Expr& e) {
  if (const auto low = Divisor(e, BinaryOp::kFloorDiv)) {
    const Expr inner = Operand(e);
    const auto high = Divisor(inner, BinaryOp::kFloorMod);
    if (!high) return {inner, *low, 0};
    if (*high % *low == 0) return {Operand(inner), *low, *high};
  }
  if (const auto high = Divisor(e, BinaryOp::kFloorMod)) {
    const Expr inner = Operand(e);
    const auto low = Divisor(inner, BinaryOp::kFloorDiv);
    int64_t product = 0;
    if (!low) return {inner, 1, *high};
    if (!__builtin_mul_overflow(*low, *high, &product)) return {Operand(inner), *low, product};
  }
  return {e, 1, 0};
}

Expr ToExpr(const Digit& digit) {
  const auto number = [&](int64_t value) { return Const(digit.number.dtype(), value); };
  const Expr remainder = digit.high == 0 ? digit.number : FloorMod(digit.number, number(digit.high));
  return digit.low == 1 ? remainder : FloorDiv(remainder, number(digit.low));
}

}  // namespace

std::vector<Expr> JoinDigits(std::vector<Expr> indices) {
  std::vector<Digit> digits;
  for (const Expr& index : indices) digits.push_back(DigitOf(index));
  bool joined = false;
  for (size_t i = 0; i < digits.size(); ++i) {
    for (size_t j = 0; j < digits.size(); ++j) {
      // The digit j is the one next above the digit i.
      if (i == j || digits[i].high == 0 || digits[i].high != digits[j].low) continue;
      if (!arith::SameExpr(digits[i].number, digits[j].number)) continue;
      digits[i].high = digits[j].high;
      indices[i] = ToExpr(digits[i]);
      digits.erase(digits.begin() + static_cast<std::ptrdiff_t>(j));
      indices.erase(indices.begin() + static_cast<std::ptrdiff_t>(j));
      joined = true;
      break;
    }
    if (std::exchange(joined, false)) i = static_cast<size_t>(-1);  // from the beginning
  }
  return indices;
}

}  // namespace tilewright
