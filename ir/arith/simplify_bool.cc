// Comparisons and negations.
#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "ir/arith/context.h"
#include "ir/arith/exact.h"
#include "ir/arith/same_expr.h"
#include "ir/arith/uses.h"

namespace tilewright::arith {
namespace {

Sum Negated(Sum sum) {
  sum.Negate();
  return sum;
}

int64_t CommonScale(const Sum& sum) {
  int64_t divisor = 0;
  for (const Term& term : sum.terms) divisor = std::gcd(divisor, term.scale);
  return divisor;
}

int64_t CeilDivInt(int64_t a, int64_t b) { return a == kNegInf ? FloorDivInt(a, b) : -FloorDivInt(-a, b); }

Expr Bool(bool value) { return value ? True() : False(); }

// min(x, 512) is 1 where x is: what replaces the one term of a sum that is compared with zero; null where nothing does.
Expr WithoutBound(const Sum& sum) {
  if (sum.terms.size() != 1 || sum.terms[0].IsSplit() || std::abs(sum.terms[0].scale) != 1) return {};
  const auto* op = dyn_cast<BinaryNode>(sum.terms[0].atom);
  if (op == nullptr || (op->op != BinaryOp::kMin && op->op != BinaryOp::kMax)) return {};
  int64_t value = 0;
  if (__builtin_mul_overflow(sum.base, -sum.terms[0].scale, &value)) return {};
  for (const auto& [bound, x] : {std::pair(op->a, op->b), std::pair(op->b, op->a)}) {
    const auto* limit = dyn_cast<IntImmNode>(bound);
    if (limit == nullptr || limit->value == value) continue;
    if ((op->op == BinaryOp::kMin) == (value < limit->value)) return x;
  }
  return {};
}

}  // namespace

Expr Context::SimplifyBool(const Expr& e) {
  if (isa<IntImmNode>(e)) return e;
  Expr result;
  if (const auto* op = dyn_cast<BinaryNode>(e)) {
    result = IsLogic(op->op) ? SimplifyLogic(op, e) : IsComparison(op->op) ? SimplifyComparison(op, e) : e;
  } else if (const auto* negation = dyn_cast<NotNode>(e)) {
    result = SimplifyNot(Simplify(negation->a), e);
  } else {
    result = SimplifyOther(e);
  }
  if (!known_.empty() && !isa<IntImmNode>(result)) {
    if (auto holds = Lookup(result)) return Bool(*holds);
  }
  return SameExpr(result, e) ? e : result;
}

Expr Context::SimplifyComparison(const BinaryNode* op, const Expr& self) {
  DataType dtype = op->a.dtype();
  if (dtype.is_index()) {
    if (op->op == BinaryOp::kGT || op->op == BinaryOp::kGE) {
      Expr swapped = MakeBinary(op->op == BinaryOp::kGT ? BinaryOp::kLT : BinaryOp::kLE, op->b, op->a);
      return SimplifyComparison(cast<BinaryNode>(swapped), swapped);
    }
    Sum difference = ToSum(op->a);
    AddExpr(&difference, op->b, -1);
    // At the ends of 64 bits a base would be taken for no bound.
    const bool at_end = difference.base <= kNegInf + 1 || difference.base >= kPosInf - 1;
    if (difference.overflow || (at_end && !difference.IsConstant())) return self;
    // Int32(x // 8) < 1 is x < 8 of what x is in its own type.
    for (const Term& term : difference.terms) difference.dtype = WiderType(difference.dtype, term.atom.dtype());
    Expr result;
    if (op->op == BinaryOp::kEQ || op->op == BinaryOp::kNE) {
      if (const Expr x = WithoutBound(difference)) {
        Sum unbound = Sum::Constant(difference.dtype, difference.base);
        AddExpr(&unbound, x, difference.terms[0].scale);
        difference = std::move(unbound);
      }
      if (auto zero = DecideZero(difference)) return Bool(*zero == (op->op == BinaryOp::kEQ));
      result = EqualityToExpr(std::move(difference), op->op == BinaryOp::kNE);
    } else {
      // at_most <= 0 is the condition; its opposite is at_most >= 1.
      Sum at_most = difference;
      if (op->op == BinaryOp::kLT) at_most.AddBase(1);
      if (at_most.overflow) return self;
      if (ProveNonNegative(Negated(at_most))) return True();
      Sum at_least_one = at_most;
      at_least_one.AddBase(-1);
      if (ProveNonNegative(at_least_one)) return False();
      result = InequalityToExpr(std::move(at_most), op->op == BinaryOp::kLT);
    }
    return result ? result : Rebuild(op, self, Simplify(op->a), Simplify(op->b));
  }
  Expr a = Simplify(op->a), b = Simplify(op->b);
  if (dtype.is_scalar()) {
    // 64-bit unsigned values are stored as signed ones, which compare otherwise.
    const auto *x = dyn_cast<IntImmNode>(a), *y = dyn_cast<IntImmNode>(b);
    if (x != nullptr && y != nullptr) {
      if (dtype.is_uint()) {
        return Bool(Compare(op->op, static_cast<uint64_t>(x->value), static_cast<uint64_t>(y->value)));
      }
      return Bool(Compare(op->op, x->value, y->value));
    }
    const auto *u = dyn_cast<FloatImmNode>(a), *v = dyn_cast<FloatImmNode>(b);
    if (u != nullptr && v != nullptr) return Bool(Compare(op->op, u->value, v->value));
    if (dtype.is_integer()) {
      if (SameExpr(a, b)) return Bool(Compare(op->op, 0, 0));
      Bounds l = BoundsOf(a), r = BoundsOf(b);
      if (l.max != kPosInf && r.min != kNegInf && l.max < r.min) return Bool(Compare(op->op, 0, 1));
      if (r.max != kPosInf && l.min != kNegInf && r.max < l.min) return Bool(Compare(op->op, 1, 0));
    }
  }
  return Rebuild(op, self, a, b);
}

bool Context::IsNumber(const Expr& e) const {
  return ReadsMemory(e) || UsesVar(e, [&](const VarNode* var) {
           const Binding* binding = Find(var);
           return binding != nullptr && (binding->is_number || (binding->value && ReadsMemory(binding->value)));
         });
}

bool Context::MayOverflow(const Sum& sum) {
  if (sum.terms.empty() || (sum.terms.size() == 1 && sum.base == 0 && sum.terms[0].scale == 1)) return false;
  return std::any_of(sum.terms.begin(), sum.terms.end(), [&](const Term& term) { return IsNumber(term.atom); }) &&
         !PartsFit(sum, sum.dtype);
}

bool Context::Sides(const Sum& sum, Expr* left, Expr* right) {
  Sum pos = Sum::Constant(sum.dtype, 0), neg = Sum::Constant(sum.dtype, 0);
  for (const Term& term : sum.terms) (term.scale > 0 ? pos : neg).terms.push_back(term);
  neg = Negated(neg);
  if (sum.base == kNegInf) return false;
  bool base_left = pos.terms.empty() || (sum.base > 0 && !neg.terms.empty());
  if (base_left) {
    pos.base = sum.base;
  } else {
    neg.base = -sum.base;
  }
  if (MayOverflow(pos) || MayOverflow(neg)) return false;
  *left = SumToExpr(pos);
  *right = SumToExpr(neg);
  return *left && *right;
}

Expr Context::InequalityToExpr(Sum sum, bool strict) {
  // `sum` <= 0 throughout; `strict` only chooses between `x < 4` and `x <= 3`.
  while (true) {
    bool changed = false;
    auto radix_candidates = [&] {
      absl::InlinedVector<int64_t, 8> radices;
      for (const Term& term : sum.terms) {
        int64_t scale = std::llabs(term.scale);
        if (scale > 1 && std::find(radices.begin(), radices.end(), scale) == radices.end()) radices.push_back(scale);
      }
      int64_t common = CommonScale(sum);
      if (common > 1) radices.push_back(common);
      std::sort(radices.begin(), radices.end(), std::greater<>());
      return radices;
    };
    for (int64_t radix : radix_candidates()) {
      // radix * high + low <= 0 is high + ceil(low / radix) <= 0.
      Sum high = Sum::Constant(sum.dtype, 0), low = Sum::Constant(sum.dtype, sum.base);
      for (const Term& term : sum.terms) {
        (term.scale % radix == 0 ? high : low).terms.push_back(term);
      }
      Bounds bounds = BoundsOf(low);
      if (!bounds.IsFinite() || CeilDivInt(bounds.min, radix) != CeilDivInt(bounds.max, radix)) continue;
      for (Term& term : high.terms) term.scale /= radix;
      high.base = CeilDivInt(bounds.min, radix);
      sum = std::move(high);
      changed = true;
      break;
    }
    // x // c <= k is x <= k * c + c - 1; x // c >= k is x >= k * c.
    if (!changed && sum.terms.size() == 1 && std::llabs(sum.terms[0].scale) == 1 && sum.terms[0].lower > 1) {
      Term term = sum.terms[0];
      Sum whole = Sum::Constant(sum.dtype, 0);
      int64_t base;
      if (!__builtin_mul_overflow(sum.base, term.lower, &base)) {
        whole.base = base;
        if (term.scale > 0) whole.AddBase(1 - term.lower);
        if (term.upper == kNoUpper) {
          AddExpr(&whole, term.atom, term.scale);
        } else {
          whole.terms.push_back({term.atom, term.upper, 1, term.scale});
        }
        if (!whole.overflow) {
          sum = std::move(whole);
          changed = true;
        }
      }
    }
    if (!changed) break;
  }
  // Only the least value fulfils it.
  if (!strict && BoundsOf(sum).min == 0) return EqualityToExpr(std::move(sum), false);
  bool mixed = std::any_of(sum.terms.begin(), sum.terms.end(), [](const Term& t) { return t.scale > 0; }) &&
               std::any_of(sum.terms.begin(), sum.terms.end(), [](const Term& t) { return t.scale < 0; });
  // x <= n - 1 is x < n.
  if (mixed && (sum.base == 0 || sum.base == 1)) strict = sum.base == 1;
  if (strict) sum.AddBase(-1);
  Expr left, right;
  if (sum.overflow || !Sides(sum, &left, &right)) return {};
  return strict ? left < right : left <= right;
}

Expr Context::EqualityToExpr(Sum sum, bool negated) {
  int64_t common = CommonScale(sum);
  if (common > 1) {
    if (sum.base % common != 0) return Bool(negated);
    for (Term& term : sum.terms) term.scale /= common;
    sum.base /= common;
  }
  if (sum.terms[0].scale < 0) sum = Negated(sum);
  Expr left, right;
  if (sum.overflow || !Sides(sum, &left, &right)) return {};
  return negated ? left != right : left == right;
}

Expr Context::SimplifyNot(const Expr& a, const Expr& self) {
  if (isa<IntImmNode>(a)) return Bool(IsFalse(a));
  if (const auto* op = dyn_cast<NotNode>(a)) return op->a;
  if (const auto* op = dyn_cast<BinaryNode>(a)) {
    // A comparison of floats is false for NaN, and so may be its opposite.
    bool exact = !op->a.dtype().is_float();
    switch (op->op) {
      case BinaryOp::kEQ:
        return op->a != op->b;
      case BinaryOp::kNE:
        return op->a == op->b;
      case BinaryOp::kLT:
        if (exact) return op->b <= op->a;
        break;
      case BinaryOp::kLE:
        if (exact) return op->b < op->a;
        break;
      case BinaryOp::kAnd:
        return Or(SimplifyNot(op->a, Expr()), SimplifyNot(op->b, Expr()));
      case BinaryOp::kOr:
        return And(SimplifyNot(op->a, Expr()), SimplifyNot(op->b, Expr()));
      default:
        break;
    }
  }
  if (self && SameExpr(cast<NotNode>(self)->a, a)) return self;
  return Not(a);
}

}  // namespace tilewright::arith
