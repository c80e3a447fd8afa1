#include "ir/arith/monomial.h"

#include <algorithm>
#include <numeric>

#include "ir/arith/bounds.h"
#include "ir/arith/sum.h"

namespace tilewright::arith {
namespace {

void Collect(const Expr& written, Monomial* monomial) {
  const Expr& e = WithoutWidening(written);
  const auto* op = dyn_cast<BinaryNode>(e);
  if (auto value = AsInt(e)) {
    monomial->scale = SaturatingMul(monomial->scale, *value);
  } else if (op != nullptr && op->op == BinaryOp::kMul) {
    Collect(op->a, monomial);
    Collect(op->b, monomial);
  } else {
    monomial->factors.push_back(e);
  }
}

// Removes one factor equal to `factor`.
bool Take(Monomial* monomial, const Expr& factor) {
  auto it = std::find_if(monomial->factors.begin(), monomial->factors.end(),
                         [&](const Expr& other) { return SameAtom(factor, other); });
  if (it == monomial->factors.end()) return false;
  monomial->factors.erase(it);
  return true;
}

}  // namespace

Monomial Monomial::Of(const Expr& e) {
  Monomial monomial;
  Collect(e, &monomial);
  return monomial;
}

Expr Monomial::ToExpr(DataType dtype) const {
  if (factors.empty()) return Const(dtype, scale);
  Expr product = MakeProduct({factors.begin(), factors.end()}, dtype);
  return scale == 1 ? product : product * Const(product.dtype(), scale);
}

bool operator==(const Monomial& a, const Monomial& b) {
  if (a.scale != b.scale || a.factors.size() != b.factors.size()) return false;
  Monomial rest = b;
  return std::all_of(a.factors.begin(), a.factors.end(), [&](const Expr& factor) { return Take(&rest, factor); });
}

Monomial operator*(const Monomial& a, const Monomial& b) {
  Monomial product = a;
  product.scale = SaturatingMul(a.scale, b.scale);
  product.factors.insert(product.factors.end(), b.factors.begin(), b.factors.end());
  return product;
}

std::optional<Monomial> DivideExactly(const Monomial& a, const Monomial& b) {
  if (b.scale == 0 || a.scale % b.scale != 0) return std::nullopt;
  Monomial quotient = a;
  quotient.scale = a.scale / b.scale;
  for (const Expr& factor : b.factors) {
    if (!Take(&quotient, factor)) return std::nullopt;
  }
  return quotient;
}

Monomial CommonDivisor(const Monomial& a, const Monomial& b) {
  Monomial common(std::gcd(a.scale, b.scale));
  Monomial rest = b;
  for (const Expr& factor : a.factors) {
    if (Take(&rest, factor)) common.factors.push_back(factor);
  }
  return common;
}

}  // namespace tilewright::arith
