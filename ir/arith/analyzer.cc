#include "ir/arith/analyzer.h"

#include "ir/arith/context.h"
#include "ir/arith/same_expr.h"

namespace tilewright::arith {

Analyzer::Analyzer() : context_(std::make_unique<Context>()) {}
Analyzer::~Analyzer() = default;

void Analyzer::Bind(const Var& var, const Range& range) { context_->BindRange(var, range); }
void Analyzer::Bind(const Var& var, const Expr& value) { context_->BindValue(var, value); }
void Analyzer::Assume(const Expr& condition) { context_->Assume(condition); }

Analyzer::Scope::Scope(Analyzer* analyzer) : analyzer_(analyzer), mark_(analyzer->context_->mark()) {}
Analyzer::Scope::~Scope() { analyzer_->context_->Undo(mark_); }

Expr Analyzer::Simplify(const Expr& e) { return context_->Simplify(e); }
Range Analyzer::Simplify(const Range& range) {
  return {context_->Simplify(range.min), context_->Simplify(range.extent)};
}

bool Analyzer::CanProve(const Expr& condition) { return context_->Prove(condition); }

bool Analyzer::CanProveEqual(const Expr& a, const Expr& b) {
  if (SameExpr(a, b)) return true;
  if (a.dtype() != b.dtype() && !(a.dtype().is_index() && b.dtype().is_index())) return false;
  auto x = AsInt(a), y = AsInt(b);
  if (x && y) return *x == *y;
  return context_->Prove(a == b);
}
bool Analyzer::CanProveLess(const Expr& a, const Expr& b) { return context_->ProveInequality(a, b, true); }
bool Analyzer::CanProveLessEqual(const Expr& a, const Expr& b) { return context_->ProveInequality(a, b, false); }
bool Analyzer::CanProveInside(const Range& inner, const Range& outer) {
  const bool same_min = SameExpr(inner.min, outer.min);
  if (same_min && SameExpr(inner.extent, outer.extent)) return true;
  return (same_min || CanProveLessEqual(outer.min, inner.min)) &&
         CanProveLessEqual(inner.min + inner.extent, outer.min + outer.extent);
}
bool Analyzer::CanProveDivisible(const Expr& e, const Expr& divisor) {
  return context_->Prove(FloorMod(e, divisor) == Expr(0));
}

Bounds Analyzer::ConstBounds(const Expr& e) {
  if (!e.dtype().is_index()) return context_->BoundsOf(context_->Simplify(e));
  return context_->BoundsOf(context_->ToSum(e));
}

Expr Simplify(const Expr& e) { return Analyzer().Simplify(e); }

}  // namespace tilewright::arith
