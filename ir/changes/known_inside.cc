#include "ir/changes/known_inside.h"

#include "ir/changes/may_change.h"

namespace tilewright {

void BindInside(const ForNode& loop, arith::Analyzer* analyzer) {
  if (!MayChange(loop.min, loop.body) && !MayChange(loop.extent, loop.body)) {
    return analyzer->Bind(loop.var, Range{loop.min, loop.extent});
  }
  const arith::Bounds first = analyzer->ConstBounds(loop.min);
  const arith::Bounds last = analyzer->ConstBounds(loop.min + loop.extent - Const(loop.extent.dtype(), 1));
  const DataType type = loop.var.dtype();
  if (first.min == arith::kNegInf) return;
  if (last.max != arith::kPosInf && last.max >= first.min) {
    return analyzer->Bind(loop.var, Range{Const(type, first.min), Const(type, last.max - first.min + 1)});
  }
  analyzer->Assume(Const(type, first.min) <= loop.var);
}

void AssumeInside(const Expr& condition, const Stmt& inside, arith::Analyzer* analyzer) {
  const auto* both = dyn_cast<BinaryNode>(condition);
  if (both != nullptr && both->op == BinaryOp::kAnd) {
    AssumeInside(both->a, inside, analyzer);
    AssumeInside(both->b, inside, analyzer);
  } else if (!MayChange(condition, inside)) {
    analyzer->Assume(condition);
  }
}

}  // namespace tilewright
