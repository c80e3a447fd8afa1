// The linear normal form of an index expression:
//
//   sum = scale_1 * (atom_1 % upper_1 // lower_1) + ... + base
//
// An atom is an expression that is not itself a sum: a variable, a load, a product n * m; under a split (an upper or a
// lower) it may also be a compound such as i * 12 + j. `x % 64 // 16` is how people and peers write the bits 4 and 5 of
// x, so one term stands for one split of an iterator, and splits of the same atom merge:
//
//   (x // 16) * 16 + x % 16    is    x
//
// Casts between index types vanish where the value fits: Cast(int64, i) * 4 is 4 times the atom i in a sum of int64. A
// sum is computed in the widest of its own type and its atoms' types, and cast to its own at the end.
//
// No two terms have the same atom and split. Arithmetic on coefficients is checked: a sum whose coefficients do not fit
// int64 is marked `overflow` and must not be used.
#pragma once

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "ir/arith/bounds.h"
#include "ir/expr.h"

namespace tilewright::arith {

inline constexpr int64_t kNoUpper = kPosInf;

struct Term {
  Expr atom;
  int64_t upper = kNoUpper;  // > 0
  int64_t lower = 1;         // > 0
  int64_t scale = 1;         // not 0

  bool IsSplit() const { return upper != kNoUpper || lower != 1; }
};

struct Sum {
  DataType dtype = DataType::Int(32);
  absl::InlinedVector<Term, 4> terms;
  int64_t base = 0;
  bool overflow = false;

  static Sum Constant(DataType dtype, int64_t value) { return {dtype, {}, value, false}; }
  bool IsConstant() const { return terms.empty() && !overflow; }
  void AddBase(int64_t value);
  void Negate();
};

// The value below casts to wider index types: i of Cast(int64, i).
const Expr& WithoutWidening(const Expr& e);
DataType WiderType(DataType a, DataType b);

// The factors of a product: n * m * 4 has n, m and 4; anything else is its own factor. Casts to wider types are
// dropped.
using Factors = absl::InlinedVector<Expr, 4>;
Factors ProductFactors(const Expr& e);
Expr MakeProduct(const Factors& factors, DataType dtype);  // at least one factor, in `dtype` or a wider type

// Whether both have the same value: SameExpr, whatever index types parts are computed in, and products in any order.
bool SameAtom(const Expr& a, const Expr& b);

// `atom % upper // lower * scale` in `dtype` or the atom's type when that is wider; null when a constant does not fit.
Expr TermToExpr(const Term& term, int64_t scale, DataType dtype);
// The sum as people write it: terms with the largest coefficients first, then a positive constant, then what is
// subtracted. Null when the sum overflowed or a constant does not fit its type.
Expr SumToExpr(const Sum& sum);
// The same in the widest of the types of the sum and its atoms.
Expr SumToAtom(const Sum& sum);
// Whether `e` is what SumToExpr gives, found without making that. May be false even so.
bool IsFormOf(const Sum& sum, const Expr& e);

// If two splits of one atom add up to one split (hi + lo = whole, or whole - hi = lo, or whole - lo = hi): that split.
bool MergeSplits(const Term& a, const Term& b, Term* merged);

}  // namespace tilewright::arith
