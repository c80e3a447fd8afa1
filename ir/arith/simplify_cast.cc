// Casts between integers of index type in linear normal form.
#include <utility>

#include "ir/arith/context.h"
#include "ir/arith/same_expr.h"

namespace tilewright::arith {
namespace {

// `e` (int32) computed in a wider type: the cast goes down to what is not arithmetic.
Expr Widen(DataType dtype, const Expr& e) {
  const auto* op = dyn_cast<BinaryNode>(e);
  if (op == nullptr || op->op > BinaryOp::kMax) return CastTo(dtype, e);
  return MakeBinary(op->op, Widen(dtype, op->a), Widen(dtype, op->b));
}

// The expression of type `dtype` that was widened to `e`, or null when there is none or a part of it might not fit.
Expr Narrow(const Context& context, DataType dtype, const Expr& e) {
  if (!context.BoundsOf(e).Within(MinValue(dtype), MaxValue(dtype))) return {};
  if (isa<IntImmNode>(e)) return Const(dtype, *AsInt(e));
  if (const auto* op = dyn_cast<CastNode>(e)) return op->value.dtype() == dtype ? op->value : Expr();
  const auto* op = dyn_cast<BinaryNode>(e);
  if (op == nullptr || op->op > BinaryOp::kMax) return {};
  Expr a = Narrow(context, dtype, op->a), b = a ? Narrow(context, dtype, op->b) : Expr();
  return b ? MakeBinary(op->op, a, b) : Expr();
}

}  // namespace

Sum Context::CastToSum(const CastNode* op, const Expr& self) {
  DataType to = self.dtype(), from = op->value.dtype();
  if (!from.is_index()) {
    Expr value = Simplify(op->value);
    if (auto constant = AsInt(value); constant && !from.is_uint()) return Sum::Constant(to, *constant);
    return Opaque(SameExpr(value, op->value) ? self : CastTo(to, value));
  }
  Sum inner = ToSum(op->value);
  if (inner.overflow) return Opaque(self);
  Sum sum;
  sum.dtype = to;
  if (to.bits() >= from.bits()) {
    sum.base = inner.base;
    for (Term term : inner.terms) {
      if (isa<BinaryNode>(term.atom)) term.atom = Simplify(Widen(to, term.atom));
      AddTerm(&sum, std::move(term));
    }
    return sum;
  }
  // A narrowing cast goes away when the value and all that it is added up of surely fit.
  if (PartsFit(inner, to)) {
    sum.base = inner.base;
    for (Term term : inner.terms) {
      if (Expr narrow = Narrow(*this, to, term.atom)) term.atom = std::move(narrow);
      AddTerm(&sum, std::move(term));
    }
    return sum;
  }
  Expr value = FromSum(inner);
  return Opaque(value && !SameExpr(value, op->value) ? CastTo(to, value) : self);
}

bool Context::PartsFit(const Sum& sum, DataType dtype) {
  const Bounds type{MinValue(dtype), MaxValue(dtype)};
  Bounds magnitude = Bounds::Point(sum.base);
  const bool had_type_limits = has_type_limits_;
  has_type_limits_ = true;
  for (const Term& term : sum.terms) {
    magnitude = magnitude + Union(Bounds::Point(0), BoundsOf(term));
    if (term.scale < type.min || term.scale > type.max) magnitude = {};
  }
  has_type_limits_ = had_type_limits;
  return magnitude.Within(type.min, type.max);
}

}  // namespace tilewright::arith
