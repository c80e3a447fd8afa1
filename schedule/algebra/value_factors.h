// A value as a product of two: what varies, and what one number decides.
//
//   exp(x - m) * v                 rest: exp(x) * v            factor: exp(-m)
//   (x * 0.5) / sqrt(m)            rest: x * 0.5               factor: 1 / sqrt(m)
//   if_then_else(c, exp(x - m), 0) rest: if_then_else(c, exp(x), 0), factor: exp(-m)
//   select(m == 0, 0, x / m)       rest: x                 factor: select(m == 0, 0, 1 / m)
//   exp(x) - m                     none
//
// Found by algebra over the expression: products, quotients, sums of terms with the same factor, choices, exp and exp2
// of sums, their coefficients included. Equal in exact arithmetic; each operation rounds as docs/numerics.md says.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ir/expr.h"

namespace tilewright {

// What a variable m decides of a product: the product of the exponentials and of `over`, divided by that of `under`.
struct ValueFactor {
  struct Addend {
    Expr value;
    bool negative = false;
  };
  // exp or exp2 of the sum of the addends, all of which use m. `others`: the rest of the exponent.
  struct Exponential {
    std::string function;
    std::vector<Addend> addends, others;
  };
  std::vector<Exponential> exponentials;
  std::vector<Expr> over, under;  // expressions of m and of what is fixed

  bool IsOne() const { return exponentials.empty() && over.empty() && under.empty(); }
};
bool SameFactor(const ValueFactor& a, const ValueFactor& b);  // but for the rests of exponents

struct FactoredValue {
  Expr rest;
  ValueFactor factor;
};
// The part of the value that has no such form.
struct NoFactor {
  Expr part;
};
// `is_fixed`: whether an expression without m has the same value for all terms, so that it may stand beside m.
std::variant<FactoredValue, NoFactor> FactorOut(const Expr& value, const Var& m,
                                                const std::function<bool(const Expr&)>& is_fixed);

// The factor with `value` for m, in the given type.
Expr FactorAt(const ValueFactor& factor, const Var& m, const Expr& value, DataType type);
// What turns a sum that was made with `from` for m into one made with `to`: the quotient of the two factors.
// Differences of exponents are taken before the exponential.
Expr FactorRatio(const ValueFactor& factor, const Var& m, const Expr& from, const Expr& to, DataType type);
// Whether the factor can be inverted where m has that value: exponents are finite, and the others finite and not zero.
Expr IsInvertible(const ValueFactor& factor, const Var& m, const Expr& value);
// A number for m with which the factor can be inverted, where one is known.
std::optional<double> InvertibleAt(const ValueFactor& factor, const Var& m);

}  // namespace tilewright
