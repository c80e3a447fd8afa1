// A constant times symbolic factors: 16, n, 4 * n * m. Extents and scales of iterators are monomials: nearly always
// constants, and exact division and equality stay decidable when they are symbolic.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/container/inlined_vector.h"
#include "ir/expr.h"

namespace tilewright::arith {

struct Monomial {
  int64_t scale = 1;
  absl::InlinedVector<Expr, 2> factors;  // not constants, not products

  Monomial() = default;
  explicit Monomial(int64_t value) : scale(value) {}
  // Any expression: products are taken apart, what is not a product is one factor.
  static Monomial Of(const Expr& e);

  bool IsConstant() const { return factors.empty(); }
  bool IsOne() const { return factors.empty() && scale == 1; }
  Expr ToExpr(DataType dtype) const;
};

bool operator==(const Monomial& a, const Monomial& b);  // factors in any order
Monomial operator*(const Monomial& a, const Monomial& b);
// a / b when b divides a: constants divide, and a has all factors of b.
std::optional<Monomial> DivideExactly(const Monomial& a, const Monomial& b);
Monomial CommonDivisor(const Monomial& a, const Monomial& b);

}  // namespace tilewright::arith
