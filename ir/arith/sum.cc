#include "ir/arith/sum.h"

#include <algorithm>

#include "ir/arith/same_expr.h"

namespace tilewright::arith {
namespace {

bool Fits(DataType dtype, int64_t value) { return value >= MinValue(dtype) && value <= MaxValue(dtype); }

void CollectFactors(const Expr& e, Factors* factors) {
  const auto* op = dyn_cast<BinaryNode>(e);
  if (op != nullptr && op->op == BinaryOp::kMul) {
    CollectFactors(op->a, factors);
    CollectFactors(op->b, factors);
  } else {
    factors->push_back(e);
  }
}

// hi + lo = whole: (x % U // L) * (L / l) + x % L // l = x % U // l, when l divides L and L divides U.
bool MergeHighLow(const Term& hi, const Term& lo, Term* merged) {
  if (lo.upper != hi.lower || hi.lower % lo.lower != 0) return false;
  if (hi.upper != kNoUpper && hi.upper % hi.lower != 0) return false;
  int64_t scale;
  if (__builtin_mul_overflow(lo.scale, hi.lower / lo.lower, &scale) || scale != hi.scale) return false;
  *merged = {hi.atom, hi.upper, lo.lower, lo.scale};
  return true;
}

// whole - part, where the part is the high or the low end of the whole.
bool MergeDifference(const Term& whole, const Term& part, Term* merged) {
  int64_t scale;
  if (part.upper == whole.upper && part.lower > whole.lower && part.lower % whole.lower == 0) {
    if (whole.upper != kNoUpper && whole.upper % part.lower != 0) return false;
    if (__builtin_mul_overflow(whole.scale, part.lower / whole.lower, &scale) || part.scale != -scale) return false;
    *merged = {whole.atom, part.lower, whole.lower, whole.scale};
    return true;
  }
  if (part.lower == whole.lower && part.upper < whole.upper && part.upper % part.lower == 0 &&
      part.scale == -whole.scale) {
    if (whole.upper != kNoUpper && whole.upper % part.upper != 0) return false;
    if (__builtin_mul_overflow(whole.scale, part.upper / part.lower, &scale)) return false;
    *merged = {whole.atom, whole.upper, part.upper, scale};
    return true;
  }
  return false;
}

}  // namespace

void Sum::AddBase(int64_t value) {
  if (__builtin_add_overflow(base, value, &base)) overflow = true;
}

Factors ProductFactors(const Expr& e) {
  Factors factors;
  CollectFactors(e, &factors);
  return factors;
}

Expr MakeProduct(const Factors& factors) {
  Expr product = factors[0];
  for (size_t i = 1; i < factors.size(); ++i) product = product * factors[i];
  return product;
}

bool SameAtom(const Expr& a, const Expr& b) {
  if (a.same_as(b) && isa<VarNode>(a)) return true;
  if (a->kind() != b->kind()) return false;
  if (SameExpr(a, b)) return true;
  const auto *x = dyn_cast<BinaryNode>(a), *y = dyn_cast<BinaryNode>(b);
  if (x == nullptr || y == nullptr || x->op != BinaryOp::kMul || y->op != BinaryOp::kMul) return false;
  Factors fa = ProductFactors(a), fb = ProductFactors(b);
  if (fa.size() != fb.size()) return false;
  for (const Expr& factor : fa) {
    auto it = std::find_if(fb.begin(), fb.end(), [&](const Expr& other) { return SameExpr(factor, other); });
    if (it == fb.end()) return false;
    fb.erase(it);
  }
  return true;
}

Expr TermToExpr(const Term& term, int64_t scale) {
  DataType dtype = term.atom.dtype();
  Expr e = term.atom;
  if (term.upper != kNoUpper) {
    if (!Fits(dtype, term.upper)) return {};
    e = FloorMod(e, Const(dtype, term.upper));
  }
  if (term.lower != 1) {
    if (!Fits(dtype, term.lower)) return {};
    e = FloorDiv(e, Const(dtype, term.lower));
  }
  if (scale != 1) {
    if (!Fits(dtype, scale)) return {};
    e = e * Const(dtype, scale);
  }
  return e;
}

Expr SumToExpr(const Sum& sum) {
  if (sum.overflow || !Fits(sum.dtype, sum.base)) return {};
  if (sum.terms.empty()) return Const(sum.dtype, sum.base);
  absl::InlinedVector<const Term*, 8> order;
  for (const Term& term : sum.terms) order.push_back(&term);
  std::sort(order.begin(), order.end(), [](const Term* a, const Term* b) {
    if (a->scale != b->scale) return a->scale > b->scale;
    if (a->lower != b->lower) return a->lower > b->lower;
    if (a->upper != b->upper) return a->upper > b->upper;
    return a < b;  // In the order of the terms.
  });
  Expr result;
  for (const Term* term : order) {
    if (term->scale < 0) break;
    Expr e = TermToExpr(*term, term->scale);
    if (!e) return {};
    result = result ? result + e : e;
  }
  if (sum.base > 0) result = result ? result + Const(sum.dtype, sum.base) : Const(sum.dtype, sum.base);
  for (const Term* term : order) {
    if (term->scale > 0) continue;
    if (term->scale == kNegInf) return {};
    if (!result && sum.base == 0 && sum.terms.size() == 1) return TermToExpr(*term, term->scale);
    Expr e = TermToExpr(*term, -term->scale);
    if (!e) return {};
    result = result ? result - e : Const(sum.dtype, 0) - e;
  }
  if (sum.base < 0) {
    if (sum.base == MinValue(sum.dtype)) return {};
    result = result - Const(sum.dtype, -sum.base);
  }
  return result;
}

bool MergeSplits(const Term& a, const Term& b, Term* merged) {
  return MergeHighLow(a, b, merged) || MergeHighLow(b, a, merged) || MergeDifference(a, b, merged) ||
         MergeDifference(b, a, merged);
}

}  // namespace tilewright::arith
