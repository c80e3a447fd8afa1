#include "verify/structure/join_digits.h"

#include <optional>
#include <utility>

#include "ir/arith/same_expr.h"

namespace tilewright {
namespace {

// number // low % (high / low); no low: 1, no high: no remainder is taken.
struct Digit {
  Expr number, low, high;
};

// What a quotient or remainder is taken by, where that is not negative: it is not zero either.
Expr Divisor(const Expr& e, BinaryOp op, arith::Analyzer* analyzer) {
  const auto* binary = dyn_cast<BinaryNode>(e);
  if (binary == nullptr || binary->op != op || !binary->a.dtype().is_int()) return {};
  const Expr& by = binary->b;
  if (const auto constant = AsInt(by)) return *constant > 0 ? by : Expr();
  return analyzer->CanProveLessEqual(Const(by.dtype(), 0), by) ? by : Expr();
}
const Expr& Operand(const Expr& e) { return cast<BinaryNode>(e)->a; }

Expr Product(const Expr& a, const Expr& b, arith::Analyzer* analyzer) {
  const auto x = AsInt(a), y = AsInt(b);
  int64_t product = 0;
  if (x && y) return __builtin_mul_overflow(*x, *y, &product) ? Expr() : Const(a.dtype(), product);
  return analyzer->Simplify(a * b);
}

// m, m // l, m % h, m % h // l where l divides h, and m // l % r.
Digit DigitOf(const Expr& e, arith::Analyzer* analyzer) {
  if (const Expr low = Divisor(e, BinaryOp::kFloorDiv, analyzer)) {
    const Expr& inner = Operand(e);
    const Expr high = Divisor(inner, BinaryOp::kFloorMod, analyzer);
    if (!high) return {inner, low, {}};
    if (analyzer->CanProveDivisible(high, low)) return {Operand(inner), low, high};
  }
  if (const Expr high = Divisor(e, BinaryOp::kFloorMod, analyzer)) {
    const Expr& inner = Operand(e);
    const Expr low = Divisor(inner, BinaryOp::kFloorDiv, analyzer);
    if (!low) return {inner, {}, high};
    if (const Expr product = Product(low, high, analyzer)) return {Operand(inner), low, product};
  }
  return {e, {}, {}};
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
  const Expr remainder = digit.high ? FloorMod(digit.number, digit.high) : digit.number;
  return digit.low ? FloorDiv(remainder, digit.low) : remainder;
}

}  // namespace

std::vector<Expr> JoinDigits(const std::vector<Expr>& of, arith::Analyzer* analyzer) {
  std::vector<Expr> indices;
  for (const Expr& index : of) AppendParts(index, analyzer, &indices);
  std::vector<Digit> digits;
  for (const Expr& index : indices) digits.push_back(DigitOf(index, analyzer));
  bool joined = false;
  for (size_t i = 0; i < digits.size(); ++i) {
    for (size_t j = 0; j < digits.size(); ++j) {
      // The digit j is the one next above the digit i.
      if (i == j || !digits[i].high || !digits[j].low) continue;
      if (!analyzer->CanProveEqual(digits[i].high, digits[j].low)) continue;
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
