#include "ir/arith/int_set.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <optional>

#include "ir/arith/context.h"
#include "ir/arith/same_expr.h"
#include "ir/arith/uses.h"

namespace tilewright::arith {
namespace {

// An interval whose ends are sums; a missing end is unbounded.
struct Interval {
  std::optional<Sum> min, max;
  int64_t stride = 1;

  bool IsPoint() const { return stride == 0; }
};

Interval PointInterval(Sum sum) { return {sum, sum, 0}; }

IntSet ToSet(const Interval& x, Context* context) {
  IntSet set;
  if (x.min) set.min = context->FromSum(*x.min);
  if (x.max) set.max = context->FromSum(*x.max);
  set.stride = x.stride;
  if (set.min && set.max && set.stride != 0 && SameExpr(set.min, set.max)) set.stride = 0;
  if (!set.min || !set.max) set.stride = 1;
  return set;
}

class SetEvaluator {
 public:
  SetEvaluator(const Domain& relaxed, Context* context) : context_(*context) {
    ranges_.reserve(relaxed.size());
    for (const auto& [var, range] : relaxed) {
      ranges_.push_back({var.get(), range});
      context_.BindRange(var, range);
    }
  }

  IntSet SetOf(const Expr& e) { return ToSet(Eval(e), &context_); }
  IntSet SetOf(const Range& range) {
    if (IsInt(range.extent, 1)) return SetOf(range.min);
    Interval first = Eval(range.min), last = Eval(range.min + range.extent - Const(range.min.dtype(), 1));
    return ToSet({std::move(first.min), std::move(last.max), 1}, &context_);
  }

 private:
  Interval Eval(const Expr& e) { return Tighten(context_.ToSum(e)); }

  bool IsRelaxed(const Expr& e) const {
    return UsesVar(e, [&](const VarNode* var) {
      return std::any_of(ranges_.begin(), ranges_.end(), [&](const auto& r) { return r.first == var; });
    });
  }
  bool IsRelaxed(const Sum& sum) const {
    return std::any_of(sum.terms.begin(), sum.terms.end(), [&](const Term& t) { return IsRelaxed(t.atom); });
  }

  Interval EvalSum(const Sum& sum) {
    if (sum.overflow) return {};
    Interval result = PointInterval(Sum::Constant(sum.dtype, sum.base));
    for (const Term& term : sum.terms) {
      if (!IsRelaxed(term.atom)) {
        if (result.min) context_.AddTerm(&*result.min, term);
        if (result.max) context_.AddTerm(&*result.max, term);
      } else if (!AddConstantRange(term, &result)) {
        Accumulate(&result, EvalTerm(term));
      }
    }
    return result;
  }

  // Adds a term that is a variable with a constant range: the most frequent case.
  bool AddConstantRange(const Term& term, Interval* result) {
    const auto* var = term.IsSplit() ? nullptr : dyn_cast<VarNode>(term.atom);
    if (var == nullptr || !result->min || !result->max) return false;
    auto it = std::find_if(ranges_.rbegin(), ranges_.rend(), [&](const auto& r) { return r.first == var; });
    const auto first = it->second.min ? AsInt(it->second.min) : 0, extent = AsInt(it->second.extent);
    if (!first || !extent) return false;
    // The binding is the range, or narrower.
    const Bounds ends = context_.BoundsOf(term);
    if (!ends.IsFinite()) return false;
    result->min->AddBase(ends.min);
    result->max->AddBase(ends.max);
    result->stride = std::gcd(result->stride, term.scale);
    return true;
  }

  void Accumulate(Interval* result, const Interval& other) {
    auto add = [&](std::optional<Sum>* to, const std::optional<Sum>& from) {
      if (!*to || !from) {
        to->reset();
      } else {
        context_.AddSum(&**to, *from, 1);
      }
    };
    add(&result->min, other.min);
    add(&result->max, other.max);
    result->stride = std::gcd(result->stride, other.stride);
  }

  Sum TermSum(const Term& term) {
    Sum sum = Sum::Constant(term.atom.dtype(), 0);
    sum.terms.push_back(term);
    return sum;
  }

  Interval EvalTerm(const Term& term) {
    if (!IsRelaxed(term.atom)) return PointInterval(TermSum(term));
    Interval x = EvalAtom(term.atom);
    if (term.upper != kNoUpper) x = Modulo(x, term.upper);
    if (term.lower != 1) {
      Divide(&x.min, term.lower);
      Divide(&x.max, term.lower);
      x.stride = x.stride % term.lower == 0 ? x.stride / term.lower : 1;
    }
    // Constant bounds know more than the ends of the atom: predicates, and where the modulo ends.
    Term unscaled = term;
    unscaled.scale = 1;
    Intersect(&x, context_.BoundsOf(unscaled));
    return Scale(std::move(x), term.scale);
  }

  // Replaces constant or missing ends by tighter constants.
  void Intersect(Interval* x, Bounds bounds) {
    if (x->IsPoint()) return;
    DataType dtype = x->min ? x->min->dtype : x->max ? x->max->dtype : DataType::Int(32);
    if (bounds.min != kNegInf && (!x->min || (x->min->IsConstant() && x->min->base < bounds.min))) {
      x->min = Sum::Constant(dtype, bounds.min);
      x->stride = 1;
    }
    if (bounds.max != kPosInf && (!x->max || (x->max->IsConstant() && x->max->base > bounds.max))) {
      x->max = Sum::Constant(dtype, bounds.max);
    }
  }

  Interval Scale(Interval x, int64_t scale) {
    auto multiply = [&](std::optional<Sum>* end) {
      if (!*end) return;
      Sum product = Sum::Constant((*end)->dtype, 0);
      context_.AddSum(&product, **end, scale);
      *end = product;
    };
    multiply(&x.min);
    multiply(&x.max);
    if (scale < 0) std::swap(x.min, x.max);
    x.stride = SaturatingMul(x.stride, std::llabs(scale));
    return x;
  }

  void Divide(std::optional<Sum>* end, int64_t divisor) {
    if (!*end) return;
    Sum quotient = Sum::Constant((*end)->dtype, 0);
    context_.DivMod(**end, divisor, &quotient, nullptr);
    *end = quotient;
  }

  Interval Modulo(const Interval& x, int64_t modulus) {
    DataType dtype = x.min ? x.min->dtype : x.max ? x.max->dtype : DataType::Int(32);
    if (x.min && x.max) {
      // Both ends lie between the same two multiples of the modulus.
      Sum block_min = Sum::Constant(dtype, 0), block_max = block_min, least = block_min, most = block_min;
      context_.DivMod(*x.min, modulus, &block_min, &least);
      context_.DivMod(*x.max, modulus, &block_max, &most);
      context_.AddSum(&block_max, block_min, -1);
      if (block_max.IsConstant() && block_max.base == 0) return {least, most, x.stride};
    }
    int64_t stride = std::gcd(x.stride, modulus);
    bool aligned = x.min && x.min->IsConstant();
    if (!aligned) stride = 1;
    int64_t first = aligned ? FloorModInt(x.min->base, stride) : 0;
    return {Sum::Constant(dtype, first), Sum::Constant(dtype, modulus - 1), stride};
  }

  Interval EvalAtom(const Expr& atom) {
    if (const auto* var = dyn_cast<VarNode>(atom)) return EvalVar(var);
    if (const auto* op = dyn_cast<BinaryNode>(atom)) {
      switch (op->op) {
        case BinaryOp::kAdd:
        case BinaryOp::kSub:
          return EvalSum(context_.ToSum(atom));
        case BinaryOp::kMul: {
          Interval product = EvalProduct(atom);
          Intersect(&product, context_.BoundsOf(atom));
          return product;
        }
        case BinaryOp::kMin:
        case BinaryOp::kMax: {
          Interval a = Tighten(context_.ToSum(op->a)), b = Tighten(context_.ToSum(op->b));
          bool is_min = op->op == BinaryOp::kMin;
          return {Choose(is_min, a.min, b.min, is_min), Choose(is_min, a.max, b.max, !is_min), 1};
        }
        case BinaryOp::kFloorDiv:
        case BinaryOp::kFloorMod: {
          if (AsInt(op->b)) break;
          if (IsRelaxed(op->b) || context_.BoundsOf(op->b).min <= 0) return Constant(atom);
          Sum divisor = context_.ToSum(op->b);
          if (op->op == BinaryOp::kFloorMod) {
            divisor.AddBase(-1);
            return {Sum::Constant(atom.dtype(), 0), divisor, 1};
          }
          Interval x = Tighten(context_.ToSum(op->a));
          auto quotient = [&](const std::optional<Sum>& end) -> std::optional<Sum> {
            Expr e = end ? context_.FromSum(*end) : Expr();
            return e ? std::optional<Sum>(context_.ToSum(FloorDiv(e, op->b))) : std::nullopt;
          };
          return {quotient(x.min), quotient(x.max), 1};
        }
        default:
          break;
      }
      Sum sum = context_.ToSum(atom);
      bool same = sum.terms.size() == 1 && !sum.terms[0].IsSplit() && SameExpr(sum.terms[0].atom, atom);
      return same ? Constant(atom) : EvalSum(sum);
    }
    if (const auto* select = dyn_cast<SelectNode>(atom)) {
      Interval a = Tighten(context_.ToSum(select->true_value)), b = Tighten(context_.ToSum(select->false_value));
      return {Choose(true, a.min, b.min, true), Choose(false, a.max, b.max, true), 1};
    }
    return Constant(atom);
  }

  Interval Constant(const Expr& atom) {
    Interval x;
    Bounds bounds = context_.BoundsOf(atom);
    if (bounds.min != kNegInf) x.min = Sum::Constant(atom.dtype(), bounds.min);
    if (bounds.max != kPosInf) x.max = Sum::Constant(atom.dtype(), bounds.max);
    return x;
  }

  Interval EvalVar(const VarNode* var) {
    auto it = std::find_if(ranges_.rbegin(), ranges_.rend(), [&](const auto& r) { return r.first == var; });
    if (it == ranges_.rend()) return PointInterval(context_.ToSum(Var(var)));
    // The range of a variable may refer to variables before it, which are relaxed as well.
    Range range = it->second;
    if (!range.min) range.min = Const(var->dtype(), 0);
    Interval first = EvalSum(context_.ToSum(range.min));
    Interval last = EvalSum(context_.ToSum(range.min + range.extent - Const(var->dtype(), 1)));
    Interval x{first.min, last.max, 1};
    Intersect(&x, context_.BoundsOf(Var(var)));
    return x;
  }

  // A product with one relaxed factor; the sign of the rest must be known.
  Interval EvalProduct(const Expr& atom) {
    Factors factors = ProductFactors(atom), fixed;
    Expr relaxed;
    for (const Expr& factor : factors) {
      if (!IsRelaxed(factor)) {
        fixed.push_back(factor);
      } else if (relaxed) {
        return {};
      } else {
        relaxed = factor;
      }
    }
    Sum rest = context_.ToSum(MakeProduct(fixed, atom.dtype()));
    Interval x = EvalAtom(relaxed);
    Bounds sign = context_.BoundsOf(rest);
    if (sign.min < 0 && sign.max > 0) return {};
    if (x.min) x.min = context_.Multiply(*x.min, rest);
    if (x.max) x.max = context_.Multiply(*x.max, rest);
    if (sign.min < 0) std::swap(x.min, x.max);
    x.stride = 1;
    return x;
  }

  // The smaller or larger of two ends. When one is unbounded: `either` says whether the other one alone is still a
  // bound (the least element of min(a, b) needs both, its greatest needs one).
  std::optional<Sum> Choose(bool smaller, const std::optional<Sum>& a, const std::optional<Sum>& b, bool both) {
    if (!a || !b) {
      if (both) return std::nullopt;
      return a ? a : b;
    }
    Sum difference = *a;
    context_.AddSum(&difference, *b, -1);
    if (context_.ProveNonNegative(difference)) return smaller ? b : a;
    Sum opposite = Sum::Constant(a->dtype, 0);
    context_.AddSum(&opposite, difference, -1);
    if (context_.ProveNonNegative(opposite)) return smaller ? a : b;
    Expr x = context_.FromSum(*a), y = context_.FromSum(*b);
    if (!x || !y) return std::nullopt;
    return context_.ToSum(smaller ? Min(x, y) : Max(x, y));
  }

  // The interval of a sum, bounded also by the facts about its relaxed part: under i * 16 + j < n it ends before n.
  Interval Tighten(const Sum& sum) {
    Interval x = EvalSum(sum);
    if (x.IsPoint()) return x;
    Intersect(&x, context_.BoundsOf(sum));
    auto first = std::find_if(sum.terms.begin(), sum.terms.end(), [&](const Term& t) { return IsRelaxed(t.atom); });
    if (first == sum.terms.end()) return x;
    if (context_.facts().empty()) return x;
    const std::vector<Sum> facts = context_.facts();  // A copy: proofs may assume more for a while.
    for (const Sum& fact : facts) {
      for (const Term& term : fact.terms) {
        if (term.upper != first->upper || term.lower != first->lower || first->scale % term.scale != 0 ||
            !SameAtom(term.atom, first->atom)) {
          continue;
        }
        // sum = ratio * fact + end, and fact >= 0.
        int64_t ratio = first->scale / term.scale;
        Sum end = sum;
        context_.AddSum(&end, fact, -ratio);
        if (end.overflow || IsRelaxed(end)) continue;
        if (ratio > 0) {
          x.min = Choose(false, x.min, end, false);
          x.stride = 1;
        } else {
          x.max = Choose(true, x.max, end, false);
        }
      }
    }
    return x;
  }

  Context& context_;
  std::vector<std::pair<const VarNode*, Range>> ranges_;
};

}  // namespace

IntSet IntSet::FromRange(const Range& range) {
  if (IsInt(range.extent, 1)) return Point(range.min);
  return {range.min, range.min + range.extent - Const(range.min.dtype(), 1), 1};
}

Range IntSet::ToRange(Analyzer* analyzer) const {
  if (stride == 0) return {min, Const(min.dtype(), 1)};
  return {min, analyzer->Simplify(max - min + Const(min.dtype(), 1))};
}

IntSet EvalSet(const Expr& e, const Domain& relaxed, Analyzer* analyzer, const Expr& predicate) {
  Analyzer::Scope scope(analyzer);
  SetEvaluator evaluator(relaxed, &analyzer->context());
  analyzer->Assume(predicate);
  return evaluator.SetOf(e);
}

IntSet EvalSet(const Range& range, const Domain& relaxed, Analyzer* analyzer, const Expr& predicate) {
  Analyzer::Scope scope(analyzer);
  SetEvaluator evaluator(relaxed, &analyzer->context());
  analyzer->Assume(predicate);
  return evaluator.SetOf(range);
}

std::vector<IntSet> EvalSet(const std::vector<Range>& region, const Domain& relaxed, Analyzer* analyzer,
                            const Expr& predicate) {
  Analyzer::Scope scope(analyzer);
  SetEvaluator evaluator(relaxed, &analyzer->context());
  analyzer->Assume(predicate);
  std::vector<IntSet> sets;
  sets.reserve(region.size());
  for (const Range& range : region) sets.push_back(evaluator.SetOf(range));
  return sets;
}

IntSet Union(const IntSet& a, const IntSet& b, Analyzer* analyzer) {
  IntSet result;
  if (a.min && b.min) result.min = analyzer->Simplify(Min(a.min, b.min));
  if (a.max && b.max) result.max = analyzer->Simplify(Max(a.max, b.max));
  if (result.min && result.max && SameExpr(result.min, result.max)) return IntSet::Point(result.min);
  // One stride holds both when they start at the same element of it.
  int64_t stride = std::gcd(a.stride, b.stride);
  auto distance = a.min && b.min ? AsInt(analyzer->Simplify(a.min - b.min)) : std::nullopt;
  result.stride = distance ? std::max<int64_t>(1, std::gcd(stride, *distance)) : 1;
  return result;
}

IntSet Intersect(const IntSet& a, const IntSet& b, Analyzer* analyzer) {
  IntSet result;
  result.min = !a.min ? b.min : !b.min ? a.min : analyzer->Simplify(Max(a.min, b.min));
  result.max = !a.max ? b.max : !b.max ? a.max : analyzer->Simplify(Min(a.max, b.max));
  if (result.min && result.max && SameExpr(result.min, result.max)) return IntSet::Point(result.min);
  return result;
}

bool CanProveContains(const IntSet& outer, const IntSet& inner, Analyzer* analyzer) {
  if (outer.min && (!inner.min || !analyzer->CanProveLessEqual(outer.min, inner.min))) return false;
  return !outer.max || (inner.max && analyzer->CanProveLessEqual(inner.max, outer.max));
}

}  // namespace tilewright::arith
