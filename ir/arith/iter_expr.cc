#include "ir/arith/iter_expr.h"

#include "ir/arith/sum.h"

namespace tilewright::arith {
namespace {

// `source % (lower * extent) // lower * scale`, without the parts that do nothing, in `dtype` or a wider type.
Expr SplitExpr(const IterSplit& split, DataType dtype) {
  Expr e = MarkExpr(*split.source);
  e = CastTo(WiderType(dtype, e.dtype()), e);
  Monomial reach = split.lower_factor * split.extent;
  bool from_zero = !split.source->sum.base || IsInt(split.source->sum.base, 0);
  if (!(from_zero && reach == split.source->extent)) e = FloorMod(e, reach.ToExpr(e.dtype()));
  if (!split.lower_factor.IsOne()) e = FloorDiv(e, split.lower_factor.ToExpr(e.dtype()));
  return split.scale.IsOne() ? e : e * split.scale.ToExpr(e.dtype());
}

}  // namespace

Expr MarkExpr(const IterMark& mark) { return mark.var ? Expr(mark.var) : SumExpr(mark.sum.args, mark.sum.base); }

Expr SumExpr(const std::vector<IterSplit>& args, const Expr& base) {
  Expr result;
  for (const IterSplit& split : args) {
    Expr e = SplitExpr(split, base.dtype());
    result = result ? result + e : e;
  }
  if (!result) return base;
  return IsInt(base, 0) ? result : result + base;
}

}  // namespace tilewright::arith
