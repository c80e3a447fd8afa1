#include "ir/arith/sum.h"

#include <algorithm>
#include <cstdlib>

#include "ir/arith/same_expr.h"

namespace tilewright::arith {
namespace {

bool Fits(DataType dtype, int64_t value) { return value >= MinValue(dtype) && value <= MaxValue(dtype); }

void CollectFactors(const Expr& e, Factors* factors) {
  const Expr& value = WithoutWidening(e);
  const auto* op = dyn_cast<BinaryNode>(value);
  if (op != nullptr && op->op == BinaryOp::kMul) {
    CollectFactors(op->a, factors);
    CollectFactors(op->b, factors);
  } else {
    factors->push_back(value);
  }
}

// SameExpr, whatever index types parts of both are computed in.
bool SameValue(const Expr& a, const Expr& b) {
  const Expr &x = WithoutWidening(a), &y = WithoutWidening(b);
  if (x.same_as(y) && isa<VarNode>(x)) return true;
  if (x->kind() != y->kind()) return false;
  const auto *p = dyn_cast<BinaryNode>(x), *q = dyn_cast<BinaryNode>(y);
  if (p == nullptr || !x.dtype().is_index() || !y.dtype().is_index()) {
    return isa<IntImmNode>(x) ? cast<IntImmNode>(x)->value == cast<IntImmNode>(y)->value : SameExpr(x, y);
  }
  return p->op == q->op && SameValue(p->a, q->a) && SameValue(p->b, q->b);
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

// One part of a sum as it is written: a term, or the constant where `term` is null.
struct Summand {
  const Term* term;
  bool subtracted;
};

// The largest coefficients first, then a positive constant, then what is subtracted.
absl::InlinedVector<Summand, 8> InOrder(const Sum& sum) {
  absl::InlinedVector<Summand, 8> order;
  for (const Term& term : sum.terms) order.push_back({&term, term.scale < 0});
  if (order.size() > 1) {
    std::sort(order.begin(), order.end(), [](const Summand& x, const Summand& y) {
      const Term *a = x.term, *b = y.term;
      if (a->scale != b->scale) return a->scale > b->scale;
      if (a->lower != b->lower) return a->lower > b->lower;
      if (a->upper != b->upper) return a->upper > b->upper;
      return a < b;  // In the order of the terms.
    });
  }
  if (sum.base > 0) {
    const auto first_subtracted =
        std::find_if(order.begin(), order.end(), [](const Summand& summand) { return summand.subtracted; });
    order.insert(first_subtracted, {nullptr, false});
  } else if (sum.base < 0) {
    order.push_back({nullptr, true});
  }
  return order;
}

// The operand of `e` when `e` is `operand op value`, else null.
const Expr* OperandOf(const Expr* e, BinaryOp op, int64_t value) {
  const auto* binary = e == nullptr ? nullptr : dyn_cast<BinaryNode>(*e);
  return binary != nullptr && binary->op == op && IsInt(binary->b, value) ? &binary->a : nullptr;
}

// Whether `e` is what TermToExpr gives.
bool IsFormOf(const Term& term, int64_t scale, const Expr* e) {
  if (scale != 1) e = OperandOf(e, BinaryOp::kMul, scale);
  if (term.lower != 1) e = OperandOf(e, BinaryOp::kFloorDiv, term.lower);
  if (term.upper != kNoUpper) e = OperandOf(e, BinaryOp::kFloorMod, term.upper);
  if (e != nullptr && e->dtype() != term.atom.dtype()) e = &WithoutWidening(*e);
  return e != nullptr && SameExpr(*e, term.atom);
}

}  // namespace

void Sum::AddBase(int64_t value) {
  if (__builtin_add_overflow(base, value, &base)) overflow = true;
}

void Sum::Negate() {
  overflow |= base == kNegInf;
  if (!overflow) base = -base;
  for (Term& term : terms) {
    overflow |= term.scale == kNegInf;
    if (term.scale != kNegInf) term.scale = -term.scale;
  }
}

const Expr& WithoutWidening(const Expr& e) {
  const auto* op = dyn_cast<CastNode>(e);
  const bool widens = op != nullptr && e.dtype().is_index() && op->value.dtype().is_index() &&
                      op->value.dtype().bits() <= e.dtype().bits();
  return widens ? WithoutWidening(op->value) : e;
}

DataType WiderType(DataType a, DataType b) { return a.bits() >= b.bits() ? a : b; }

Factors ProductFactors(const Expr& e) {
  Factors factors;
  CollectFactors(e, &factors);
  return factors;
}

Expr MakeProduct(const Factors& factors, DataType dtype) {
  for (const Expr& factor : factors) dtype = WiderType(dtype, factor.dtype());
  Expr product = CastTo(dtype, factors[0]);
  for (size_t i = 1; i < factors.size(); ++i) product = product * CastTo(dtype, factors[i]);
  return product;
}

bool SameAtom(const Expr& a, const Expr& b) {
  if (a.same_as(b) && isa<VarNode>(a)) return true;
  if (SameValue(a, b)) return true;
  const auto *x = dyn_cast<BinaryNode>(WithoutWidening(a)), *y = dyn_cast<BinaryNode>(WithoutWidening(b));
  if (x == nullptr || y == nullptr || x->op != BinaryOp::kMul || y->op != BinaryOp::kMul) return false;
  Factors fa = ProductFactors(a), fb = ProductFactors(b);
  if (fa.size() != fb.size()) return false;
  for (const Expr& factor : fa) {
    auto it = std::find_if(fb.begin(), fb.end(), [&](const Expr& other) { return SameValue(factor, other); });
    if (it == fb.end()) return false;
    fb.erase(it);
  }
  return true;
}

Expr TermToExpr(const Term& term, int64_t scale, DataType dtype) {
  dtype = WiderType(dtype, term.atom.dtype());
  Expr e = CastTo(dtype, term.atom);
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
  Expr e = SumToAtom(sum);
  return e ? CastTo(sum.dtype, std::move(e)) : e;
}

Expr SumToAtom(const Sum& sum) {
  DataType dtype = sum.dtype;
  for (const Term& term : sum.terms) dtype = WiderType(dtype, term.atom.dtype());
  if (sum.overflow || !Fits(dtype, sum.base)) return {};
  if (sum.terms.empty()) return Const(dtype, sum.base);
  // What is subtracted is written as a positive number.
  if (sum.base == MinValue(dtype)) return {};
  for (const Term& term : sum.terms) {
    if (term.scale == kNegInf) return {};
  }
  if (sum.terms.size() == 1 && sum.base == 0) return TermToExpr(sum.terms[0], sum.terms[0].scale, dtype);
  Expr result;
  for (const Summand& summand : InOrder(sum)) {
    const Term* term = summand.term;
    Expr e = term == nullptr ? Const(dtype, std::abs(sum.base)) : TermToExpr(*term, std::abs(term->scale), dtype);
    if (!e) return {};
    if (summand.subtracted) {
      result = (result ? std::move(result) : Const(dtype, 0)) - std::move(e);
    } else {
      result = result ? std::move(result) + std::move(e) : std::move(e);
    }
  }
  return result;
}

bool IsFormOf(const Sum& sum, const Expr& e) {
  if (sum.overflow || sum.base == kNegInf || e.dtype() != sum.dtype) return false;
  if (sum.terms.empty()) return IsInt(e, sum.base);
  if (sum.terms.size() == 1 && sum.base == 0) return IsFormOf(sum.terms[0], sum.terms[0].scale, &e);
  const auto summands = InOrder(sum);
  const Expr* rest = &e;
  // ((first + second) + ...) - last
  for (size_t i = summands.size(); i-- > 0;) {
    const auto [term, subtracted] = summands[i];
    const Expr* part = rest;
    if (i > 0 || subtracted) {
      const auto* op = dyn_cast<BinaryNode>(*rest);
      if (op == nullptr || op->op != (subtracted ? BinaryOp::kSub : BinaryOp::kAdd)) return false;
      part = &op->b;
      rest = &op->a;
    }
    if (term == nullptr ? !IsInt(*part, std::abs(sum.base))
                        : term->scale == kNegInf || !IsFormOf(*term, std::abs(term->scale), part)) {
      return false;
    }
  }
  return !summands[0].subtracted || IsInt(*rest, 0);
}

bool MergeSplits(const Term& a, const Term& b, Term* merged) {
  return MergeHighLow(a, b, merged) || MergeHighLow(b, a, merged) || MergeDifference(a, b, merged) ||
         MergeDifference(b, a, merged);
}

}  // namespace tilewright::arith
