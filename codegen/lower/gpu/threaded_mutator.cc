#include "codegen/lower/gpu/threaded_mutator.h"

#include <algorithm>

namespace tilewright {

Stmt ThreadedMutator::MutateFor(const ForNode* op, const Stmt& self) {
  const bool of_threads = op->kind == ForKind::kThreadBound && op->thread_tag.starts_with("threadIdx");
  if (of_threads) threads_.push_back(op);
  Stmt result = ScopedMutator::MutateFor(op, self);
  if (of_threads) threads_.pop_back();
  return result;
}

bool ThreadedMutator::IsFirstThread(const std::vector<Expr>& conditions) {
  arith::Analyzer::Scope inside(&analyzer_);
  for (const Expr& condition : conditions) analyzer_.Assume(condition);
  return std::ranges::all_of(threads_, [&](const ForNode* loop) {
    const arith::Bounds bounds = analyzer_.ConstBounds(loop->var);
    return bounds.min == 0 && bounds.max == 0;
  });
}

}  // namespace tilewright
