// Division by expressions: (i * n + j) // n is i where 0 <= j < n.
#include <utility>

#include "ir/arith/context.h"
#include "ir/arith/monomial.h"
#include "ir/arith/same_expr.h"

namespace tilewright::arith {
namespace {

std::optional<Monomial> ToMonomial(const Term& term) {
  Expr e = TermToExpr(term, 1, term.atom.dtype());
  if (!e) return std::nullopt;
  Monomial monomial = Monomial::Of(e);
  monomial.scale = term.scale;
  return monomial;
}

std::optional<Monomial> DivideTerm(const Term& term, const Monomial& divisor) {
  auto monomial = ToMonomial(term);
  return monomial ? DivideExactly(*monomial, divisor) : std::nullopt;
}

}  // namespace

bool Context::ProveBelow(const Sum& sum, const Sum& limit) {
  Sum room = limit;
  AddSum(&room, sum, -1);
  room.AddBase(-1);
  return ProveNonNegative(sum) && ProveNonNegative(room);
}

bool Context::IsPositive(const Sum& sum) {
  if (BoundsOf(sum).min > 0) return true;
  Sum less = sum;
  less.AddBase(-1);
  return ProveNonNegative(less);
}

bool Context::DivideDivision(const Sum& a, const Sum& b, const Monomial& divisor, bool modulo, Sum* result) {
  if (a.terms.size() != 1 || a.base != 0 || a.terms[0].IsSplit() || a.terms[0].scale != 1) return false;
  const auto* op = dyn_cast<BinaryNode>(a.terms[0].atom);
  // x % m % b is x % b when b divides m.
  if (modulo && op != nullptr && op->op == BinaryOp::kFloorMod && DivideExactly(Monomial::Of(op->b), divisor)) {
    AddSum(result, DivideByProduct(ToSum(op->a), b, true), 1);
    return true;
  }
  // x // m // b is x // (m * b) for positive b.
  if (!modulo && op != nullptr && op->op == BinaryOp::kFloorDiv && IsPositive(b)) {
    const Sum product = Multiply(ToSum(op->b), b);
    if (!product.overflow && product.terms.size() == 1 && product.base == 0) {
      AddSum(result, DivideByProduct(ToSum(op->a), product, false), 1);
      return true;
    }
  }
  return false;
}

bool Context::DivideByRadix(const Sum& a, const Monomial& divisor, bool modulo, Sum* result) {
  const auto add_monomial = [&](Sum* sum, const Monomial& m) { AddExpr(sum, m.ToExpr(a.dtype), 1); };
  for (const Term& candidate : a.terms) {
    auto m = ToMonomial(candidate);
    if (!m) continue;
    Monomial radix = CommonDivisor(*m, divisor);
    auto outer = DivideExactly(divisor, radix);
    if (radix.IsOne() || !outer) continue;
    Sum high = Sum::Constant(a.dtype, 0), low = Sum::Constant(a.dtype, a.base);
    for (const Term& term : a.terms) {
      if (auto quotient = DivideTerm(term, radix)) {
        add_monomial(&high, *quotient);
      } else {
        low.terms.push_back(term);
      }
    }
    Sum radix_sum = Sum::Constant(a.dtype, 0), outer_sum = Sum::Constant(a.dtype, 0);
    add_monomial(&radix_sum, radix);
    add_monomial(&outer_sum, *outer);
    if (BoundsOf(outer_sum).min <= 0 || !ProveBelow(low, radix_sum)) continue;
    Sum divided = Sum::Constant(a.dtype, 0);
    if (outer_sum.IsConstant()) {
      DivMod(high, outer_sum.base, modulo ? nullptr : &divided, modulo ? &divided : nullptr);
    } else {
      divided = DivideByProduct(high, outer_sum, modulo);
    }
    if (modulo) {
      AddSum(result, Multiply(divided, radix_sum), 1);
      AddSum(result, low, 1);
    } else {
      AddSum(result, divided, 1);
    }
    return true;
  }
  return false;
}

Sum Context::DivideByProduct(const Sum& a, const Sum& b, bool modulo) {
  Sum result = Sum::Constant(a.dtype, 0);
  auto divisor = ToMonomial(b.terms[0]);
  if (!divisor) {
    result.overflow = true;
    return result;
  }
  auto add_monomial = [&](Sum* sum, const Monomial& m) { AddExpr(sum, m.ToExpr(a.dtype), 1); };
  // What the divisor divides leaves the division.
  Sum rest = Sum::Constant(a.dtype, a.base);
  for (const Term& term : a.terms) {
    auto quotient = DivideTerm(term, *divisor);
    if (!quotient) {
      rest.terms.push_back(term);
    } else if (!modulo) {
      add_monomial(&result, *quotient);
    }
  }
  if (rest.IsConstant() && rest.base == 0) return result;
  for (int64_t k : {0, -1, 1}) {
    // k * b <= rest < (k + 1) * b
    Sum shifted = rest;
    AddSum(&shifted, b, -k);
    if (!ProveBelow(shifted, b)) continue;
    if (modulo) {
      AddSum(&result, shifted, 1);
    } else {
      result.AddBase(k);
    }
    return result;
  }
  if (DivideDivision(rest, b, *divisor, modulo, &result) || DivideByRadix(rest, *divisor, modulo, &result)) {
    return result;
  }
  Expr left = SumToAtom(rest), right = SumToAtom(b);
  if (!left || !right) {
    result.overflow = true;
    return result;
  }
  AddTerm(&result, {modulo ? FloorMod(left, right) : FloorDiv(left, right)});
  return result;
}

Sum Context::SymbolicDivision(const Sum& a, const Sum& b, bool modulo, const Expr& self) {
  if (HasEffect(self)) return Opaque(self);
  if (b.terms.size() == 1 && b.base == 0) {
    Sum result = DivideByProduct(a, b, modulo);
    return result.overflow ? Opaque(self) : result;
  }
  // A divisor that is a sum: its multiples leave the dividend one by one, as long as that makes it shorter.
  auto lead = ToMonomial(b.terms[0]);
  if (!lead) return Opaque(self);
  Sum rest = a, quotient = Sum::Constant(a.dtype, 0);
  for (bool progress = true; progress && !rest.overflow;) {
    progress = false;
    for (const Term& term : rest.terms) {
      auto ratio = DivideTerm(term, *lead);
      if (!ratio) continue;
      Sum multiple = Sum::Constant(a.dtype, 0), shorter = rest;
      AddExpr(&multiple, ratio->ToExpr(a.dtype), 1);
      AddSum(&shorter, Multiply(multiple, b), -1);
      if (shorter.overflow || shorter.terms.size() >= rest.terms.size()) continue;
      rest = std::move(shorter);
      AddSum(&quotient, multiple, 1);
      progress = true;
      break;
    }
  }
  if (!rest.overflow && ((rest.IsConstant() && rest.base == 0) || ProveBelow(rest, b))) {
    return modulo ? rest : quotient;
  }
  Expr left = SumToAtom(a), right = SumToAtom(b);
  if (!left || !right) return Opaque(self);
  return Opaque(modulo ? FloorMod(left, right) : FloorDiv(left, right));
}

bool Context::MergeSymbolicSplits(Sum* sum, const Term& term) {
  if (term.IsSplit()) return false;
  const auto* op = dyn_cast<BinaryNode>(term.atom);
  if (op == nullptr || !(op->op == BinaryOp::kMul || op->op == BinaryOp::kFloorMod)) return false;
  // `low` is x % n; `high` the term that must be (x // n) * n.
  auto completes = [&](const Term& low, const Term& high) {
    const auto* mod = dyn_cast<BinaryNode>(low.atom);
    if (mod == nullptr || mod->op != BinaryOp::kFloorMod || low.IsSplit() || high.IsSplit()) return false;
    const auto is_high = [&](const Expr& quotient) {
      const Sum product = Multiply(Opaque(quotient), ToSum(mod->b));
      if (product.terms.size() != 1 || product.base != 0 || product.overflow) return false;
      int64_t scale;
      return SameAtom(product.terms[0].atom, high.atom) &&
             !__builtin_mul_overflow(product.terms[0].scale, low.scale, &scale) && scale == high.scale;
    };
    if (is_high(FloorDiv(mod->a, mod->b))) return true;
    // x // c // n may stand there as x // (n * c).
    const auto* inner = dyn_cast<BinaryNode>(mod->a);
    if (inner == nullptr || inner->op != BinaryOp::kFloorDiv || !AsInt(inner->b)) return false;
    const Sum divisor = Multiply(ToSum(mod->b), ToSum(inner->b));
    const Expr by = divisor.overflow ? Expr() : SumToAtom(divisor);
    return by && is_high(FloorDiv(inner->a, by));
  };
  for (size_t i = 0; i < sum->terms.size(); ++i) {
    const Term other = sum->terms[i];
    bool is_low = completes(other, term);
    if (!is_low && !completes(term, other)) continue;
    const Term& low = is_low ? other : term;
    Expr whole = cast<BinaryNode>(low.atom)->a;
    int64_t scale = low.scale;
    sum->terms.erase(sum->terms.begin() + i);
    AddExpr(sum, whole, scale);
    return true;
  }
  return false;
}

}  // namespace tilewright::arith
