#include "schedule/program/loop_ranges.h"

#include "ir/analysis.h"
#include "ir/substitute.h"

namespace tilewright {

void BindLoop(arith::Analyzer& analyzer, const Var& var, const Expr& min, const Expr& extent,
              bool preserve_unit_iters) {
  if (preserve_unit_iters && IsInt(extent, 1)) return;
  analyzer.Bind(var, {min, extent});
}

void BindLoops(arith::Analyzer& analyzer, const std::vector<const ForNode*>& loops, bool preserve_unit_iters) {
  for (const ForNode* loop : loops) BindLoop(analyzer, loop->var, loop->min, loop->extent, preserve_unit_iters);
}

bool HoldsAtStart(const Expr& condition, const std::vector<const ForNode*>& loops,
                  const std::vector<const ForNode*>& at_start) {
  arith::Analyzer analyzer;
  VarMap start;
  for (const ForNode* loop : at_start) start[loop->var] = loop->min;
  BindLoops(analyzer, loops);
  return IsTrue(analyzer.Simplify(Substitute(condition, start)));
}

bool PredicateHoldsAtStart(const BlockRealizeNode& realize, const std::vector<const ForNode*>& loops,
                           const std::vector<const ForNode*>& below) {
  if (!realize.block->init) return false;
  std::vector<const ForNode*> reducing;
  for (const ForNode* loop : below) {
    bool spatial = false;
    for (size_t i = 0; i < realize.bindings.size(); ++i) {
      spatial |= realize.block->iter_vars[i].kind != IterKind::kReduce && UsesVar(realize.bindings[i], loop->var);
    }
    if (!spatial) reducing.push_back(loop);
  }
  return HoldsAtStart(realize.predicate, loops, reducing);
}

arith::Domain DomainOf(const std::vector<const ForNode*>& loops) {
  arith::Domain domain;
  domain.reserve(loops.size());
  for (const ForNode* loop : loops) domain.push_back({loop->var, {loop->min, loop->extent}});
  return domain;
}
arith::Domain DomainOf(const BlockNode& block) {
  arith::Domain domain;
  domain.reserve(block.iter_vars.size());
  for (const IterVar& iter : block.iter_vars) domain.push_back({iter.var, iter.domain});
  return domain;
}

}  // namespace tilewright
