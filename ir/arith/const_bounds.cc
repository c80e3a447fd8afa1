// Constant intervals of expressions and sums.
#include <algorithm>

#include "ir/arith/context.h"
#include "ir/arith/monomial.h"
#include "ir/arith/same_expr.h"
#include "ir/builtin.h"

namespace tilewright::arith {

Bounds Context::TypeBounds(DataType dtype) const {
  if (dtype.is_bool()) return {0, 1};
  if (dtype.is_uint()) return {dtype.bits() < 64 ? 0 : kNegInf, dtype.bits() < 64 ? MaxValue(dtype) : kPosInf};
  const int limited = has_type_limits_ ? 64 : 32;
  if (dtype.is_int() && dtype.bits() < limited) return {MinValue(dtype), MaxValue(dtype)};
  return {};
}

Bounds Context::WithAtomFacts(const Term& term, Bounds bounds) const {
  for (const AtomFact& fact : atom_facts_) {
    if (fact.term.upper == term.upper && fact.term.lower == term.lower && SameAtom(fact.term.atom, term.atom)) {
      bounds = Intersect(bounds, fact.bounds);
    }
  }
  return bounds;
}

int64_t Context::SymbolicQuotientMax(const Expr& a, const Expr& b) const {
  // `a` is below `end`: a variable of a symbolic range, or x % end.
  Expr end;
  if (const auto* var = dyn_cast<VarNode>(WithoutWidening(a))) {
    const Binding* binding = Find(var);
    if (binding == nullptr || !binding->symbolic) return kPosInf;
    const Sum& last = binding->symbolic->max;
    if (last.terms.size() != 1 || last.base != -1) return kPosInf;
    end = TermToExpr(last.terms[0], last.terms[0].scale, last.dtype);
  } else if (const auto* op = dyn_cast<BinaryNode>(a); op != nullptr && op->op == BinaryOp::kFloorMod) {
    end = op->b;
  }
  if (!end || BoundsOf(b).min <= 0) return kPosInf;
  auto quotient = DivideExactly(Monomial::Of(end), Monomial::Of(b));
  return quotient && quotient->IsConstant() && quotient->scale > 0 ? quotient->scale - 1 : kPosInf;
}

Bounds Context::BoundsOfBinary(const Expr& e) const {
  const DataType dtype = e.dtype();
  const auto* op = cast<BinaryNode>(e);
  if (!dtype.is_integer() || !dtype.is_scalar()) return TypeBounds(dtype);
  Bounds a = BoundsOf(op->a), b = BoundsOf(op->b), result;
  switch (op->op) {
    case BinaryOp::kAdd:
      result = a + b;
      break;
    case BinaryOp::kSub:
      result = a - b;
      break;
    case BinaryOp::kMul:
      result = a * b;
      break;
    case BinaryOp::kDiv:
      result = TruncDivBounds(a, b);
      break;
    case BinaryOp::kMod:
      result = TruncModBounds(a, b);
      break;
    case BinaryOp::kFloorDiv:
      result = FloorDivBounds(a, b);
      if (!b.IsPoint()) result.max = std::min(result.max, SymbolicQuotientMax(op->a, op->b));
      break;
    case BinaryOp::kFloorMod:
      result = FloorModBounds(a, b);
      break;
    case BinaryOp::kMin:
      result = {std::min(a.min, b.min), std::min(a.max, b.max)};
      break;
    case BinaryOp::kMax:
      result = {std::max(a.min, b.min), std::max(a.max, b.max)};
      break;
    default:
      return TypeBounds(dtype);
  }
  // Narrow and unsigned arithmetic may wrap.
  if (!dtype.is_index()) {
    Bounds type = TypeBounds(dtype);
    bool wraps = !result.Within(type.min, type.max) || (dtype.is_uint() && dtype.bits() == 64);
    return wraps ? type : result;
  }
  return atom_facts_.empty() ? result : WithAtomFacts({e}, result);
}

Bounds Context::BoundsOf(const Expr& e) const {
  DataType dtype = e.dtype();
  switch (e->kind()) {
    case Kind::kIntImm: {
      // Numbers of uint64 beyond those of int64 are held as negative ones.
      const int64_t value = cast<IntImmNode>(e)->value;
      return dtype.is_uint() && value < 0 ? TypeBounds(dtype) : Bounds::Point(value);
    }
    case Kind::kVar: {
      const Binding* binding = Find(cast<VarNode>(e));
      return binding != nullptr ? Intersect(binding->bounds, TypeBounds(dtype)) : TypeBounds(dtype);
    }
    case Kind::kBinary:
      return BoundsOfBinary(e);
    case Kind::kSelect: {
      const auto* op = cast<SelectNode>(e);
      return dtype.is_integer() ? Union(BoundsOf(op->true_value), BoundsOf(op->false_value)) : TypeBounds(dtype);
    }
    case Kind::kCast: {
      const auto* op = cast<CastNode>(e);
      DataType from = op->value.dtype();
      if (!dtype.is_integer() || !dtype.is_scalar() || !(from.is_integer() || from.is_bool())) {
        return TypeBounds(dtype);
      }
      Bounds value = BoundsOf(op->value);
      if (dtype.is_int() && from.is_int() && dtype.bits() >= from.bits()) return value;
      bool fits = value.IsFinite() && value.Within(MinValue(dtype), MaxValue(dtype));
      return fits ? value : TypeBounds(dtype);
    }
    case Kind::kCall: {
      const auto* op = cast<CallNode>(e);
      if (op->op == kIfThenElse && dtype.is_integer() && dtype.is_scalar()) {
        return Union(BoundsOf(op->args[1]), BoundsOf(op->args[2]));
      }
      break;
    }
    default:
      break;
  }
  return atom_facts_.empty() ? TypeBounds(dtype) : WithAtomFacts({e}, TypeBounds(dtype));
}

Bounds Context::BoundsOf(const Term& term) const {
  Bounds bounds = BoundsOf(term.atom);
  if (term.upper != kNoUpper) bounds = FloorModBounds(bounds, Bounds::Point(term.upper));
  if (term.lower != 1) bounds = FloorDivBounds(bounds, Bounds::Point(term.lower));
  if (!atom_facts_.empty() && term.IsSplit()) bounds = WithAtomFacts(term, bounds);
  return term.scale == 1 ? bounds : bounds * Bounds::Point(term.scale);
}

Bounds Context::BoundsOf(const Sum& sum) const {
  if (sum.overflow) return {};
  Bounds bounds = Bounds::Point(sum.base);
  for (const Term& term : sum.terms) bounds = bounds + BoundsOf(term);
  for (const Sum& fact : facts_) {
    if (fact.terms.size() > sum.terms.size()) continue;
    // All of the fact's terms occur in the sum, each `ratio` times: sum = ratio * fact + rest.
    int64_t numerator = 0, denominator = 1;
    Bounds rest = Bounds::Point(sum.base);
    size_t matched = 0;
    bool proportional = true;
    for (const Term& term : sum.terms) {
      const Term* partner = nullptr;
      for (const Term& other : fact.terms) {
        if (other.upper == term.upper && other.lower == term.lower && SameAtom(other.atom, term.atom)) {
          partner = &other;
          break;
        }
      }
      if (partner == nullptr) {
        rest = rest + BoundsOf(term);
        continue;
      }
      if (matched++ == 0) {
        numerator = term.scale;
        denominator = partner->scale;
      } else if (SaturatingMul(term.scale, denominator) != SaturatingMul(partner->scale, numerator)) {
        proportional = false;
        break;
      }
    }
    if (!proportional || matched != fact.terms.size()) continue;
    if (denominator < 0) {
      if (denominator == kNegInf || numerator == kNegInf) continue;
      numerator = -numerator;
      denominator = -denominator;
    }
    // fact's terms >= -fact.base, so ratio * terms >= -base * ratio for a positive ratio.
    int64_t end = SaturatingMul(SaturatingMul(fact.base, numerator), -1);
    if (end == kPosInf || end == kNegInf) continue;
    if (numerator > 0) {
      Bounds better{-FloorDivInt(-end, denominator), kPosInf};
      bounds.min = std::max(bounds.min, SaturatingAdd(better.min, rest.min));
    } else {
      Bounds better{kNegInf, FloorDivInt(end, denominator)};
      bounds.max = std::min(bounds.max, SaturatingAdd(better.max, rest.max));
    }
  }
  return bounds;
}

}  // namespace tilewright::arith
