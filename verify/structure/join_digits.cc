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

// Appends the index, or x and y of x * s + y where y is less than s and not negative.
void AppendParts(const Expr& index, arith::Analyzer* analyzer, std::vector<Expr>* parts) {
  const auto* sum = dyn_cast<BinaryNode>(index);
  if (sum != nullptr && sum->op == BinaryOp::kAdd) {
    for (const auto& [scaled, rest] : {std::pair(sum->a, sum->b), std::pair(sum->b, sum->a)}) {
      const auto* product = dyn_cast<BinaryNode>(scaled);
      if (product == nullptr || product->op != BinaryOp::kMul) continue;
      const std::optional<int64_t> scale = AsInt(product->b);
      if (!scale || *scale <= 0) continue;
      const bool is_rest = analyzer->ConstBounds(rest).Within(0, *scale - 1) ||
                           (analyzer->CanProve(rest < Const(rest.dtype(), *scale)) &&
                            analyzer->CanProve(Const(rest.dtype(), 0) <= rest));
      if (!is_rest) continue;
      AppendParts(product->a, analyzer, parts);
      AppendParts(rest, analyzer, parts);
      return;
    }
  }
  parts->push_back(index);
}

Expr ToExpr(const Digit& digit) {
  const auto number = [&](int64_t value) { return Const(digit.number.dtype(), value); };
  const Expr remainder = digit.high == 0 ? digit.number : FloorMod(digit.number, number(digit.high));
  return digit.low == 1 ? remainder : FloorDiv(remainder, number(digit.low));
}

}  // namespace

std::vector<Expr> JoinDigits(const std::vector<Expr>& of, arith::Analyzer* analyzer) {
  std::vector<Expr> indices;
  for (const Expr& index : of) AppendParts(index, analyzer, &indices);
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
