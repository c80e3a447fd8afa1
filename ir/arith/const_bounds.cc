// Constant intervals of expressions and sums.
#include <algorithm>
#include <bit>
#include <string_view>

#include "ir/arith/context.h"
#include "ir/arith/monomial.h"
#include "ir/arith/same_expr.h"
#include "ir/builtin.h"

namespace tilewright::arith {
namespace {

// The number whose bits are ones as far as those of `value`, which is not negative, may be.
int64_t OnesUpTo(int64_t value) {
  return value == 0 ? 0 : static_cast<int64_t>(~uint64_t{0} >> std::countl_zero(static_cast<uint64_t>(value)));
}

// Arithmetic on bits of two numbers of a type. `otherwise`: what holds of each number of the type.
Bounds BitBounds(std::string_view op, DataType dtype, Bounds a, Bounds b, Bounds otherwise) {
  if (op == "bitwise_and") {
    if (a.min < 0 && b.min < 0) return otherwise;
    return {0, std::min(a.min < 0 ? kPosInf : a.max, b.min < 0 ? kPosInf : b.max)};
  }
  if (op == "bitwise_or" || op == "bitwise_xor") {
    if (a.min < 0 || b.min < 0) return otherwise;
    return {op == "bitwise_or" ? std::max(a.min, b.min) : 0, OnesUpTo(std::max(a.max, b.max))};
  }
  if (!b.Within(0, std::min(dtype.bits() - 1, 62))) return otherwise;
  const Bounds least = Bounds::Point(int64_t{1} << b.min), most = Bounds::Point(int64_t{1} << b.max);
  if (op == "shift_right") return Union(FloorDivBounds(a, least), FloorDivBounds(a, most));
  const Bounds moved = Union(a * least, a * most);
  return moved.IsFinite() && moved.Within(MinValue(dtype), MaxValue(dtype)) ? moved : otherwise;
}

// The magnitude of the least number of a type is not a number of the type.
Bounds MagnitudeBounds(DataType dtype, Bounds a, Bounds otherwise) {
  if (a.min >= 0) return a;
  if (a.min <= MinValue(dtype)) return otherwise;
  return {a.max < 0 ? -a.max : 0, std::max(-a.min, a.max)};
}

// Functions of integers that are not arithmetic of the language.
Bounds BoundsOfFunction(const Context& context, const CallNode& call, Bounds otherwise) {
  const DataType dtype = call.dtype();
  if (!dtype.is_integer() || !dtype.is_scalar() || (dtype.is_uint() && dtype.bits() == 64)) return otherwise;
  const bool one = call.op == "abs" || call.op == "bitwise_not" || call.op == "popcount";
  const bool two = call.op == "bitwise_and" || call.op == "bitwise_or" || call.op == "bitwise_xor" ||
                   call.op == "shift_left" || call.op == "shift_right";
  if (!one && !two) return otherwise;
  const Bounds a = context.BoundsOf(call.args[0]), b = two ? context.BoundsOf(call.args[1]) : a;
  // Facts that contradict each other leave no number.
  if (a.min > a.max || b.min > b.max) return otherwise;
  if (call.op == "popcount")
    return {0, a.min < 0 ? call.args[0].dtype().bits() : std::popcount(static_cast<uint64_t>(OnesUpTo(a.max)))};
  if (call.args[0].dtype() != dtype || (two && call.args[1].dtype() != dtype)) return otherwise;
  if (call.op == "bitwise_not") return dtype.is_int() ? Bounds::Point(-1) - a : otherwise;
  return two ? BitBounds(call.op, dtype, a, b, otherwise) : MagnitudeBounds(dtype, a, otherwise);
}

}  // namespace

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
      const Bounds bounds = Intersect(TypeBounds(dtype), BoundsOfFunction(*this, *op, TypeBounds(dtype)));
      return atom_facts_.empty() ? bounds : WithAtomFacts({e}, bounds);
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
