#include "verify/structure/repeating_loop.h"

#include <algorithm>

#include "ir/analysis.h"
#include "ir/arith/iter_map.h"
#include "ir/functor.h"
#include "ir/substitute.h"
#include "ir/thread_tags.h"
#include "verify/structure/instances.h"

namespace tilewright {
namespace {

// Whether some of the bindings is more than a sum of multiples, so that different values of its loops may agree in it.
bool TakesApart(const std::vector<Expr>& bindings) {
  bool found = false;
  for (const Expr& binding : bindings) {
    PreOrder(binding, [&](const Expr& e) {
      const auto* binary = dyn_cast<BinaryNode>(e);
      found |= isa<CallNode>(e) || isa<SelectNode>(e);
      found |= binary != nullptr && binary->op != BinaryOp::kAdd && binary->op != BinaryOp::kSub &&
               binary->op != BinaryOp::kMul;
      return !found;
    });
  }
  return found;
}

// Blocks of threads run iterations as other loops do; threads may all do the same.
bool IsOverThreads(const ForNode& loop) { return loop.kind == ForKind::kThreadBound && !IsBlockTag(loop.thread_tag); }

// Whether two of the instances have the same values: a loop runs one of them again.
bool HasTwice(std::vector<InstanceValues> instances) {
  std::ranges::sort(instances);
  return std::ranges::adjacent_find(instances) != instances.end();
}

// Whether iterations from loop `first` inwards, in the first iteration of those around it, repeat an instance. False
// where they cannot be counted.
bool RepeatsFirst(const BlockRealizeNode& realize, const std::vector<const ForNode*>& loops,
                  const std::vector<const ForNode*>& around, size_t first) {
  VarMap begin;
  for (const ForNode* loop : around) begin[loop->var] = Substitute(loop->min, begin);
  for (size_t l = 0; l < first; ++l) begin[loops[l]->var] = Substitute(loops[l]->min, begin);
  arith::Domain domain;
  for (size_t l = first; l < loops.size(); ++l) {
    const Expr min = Substitute(loops[l]->min, begin);
    if (IsOverThreads(*loops[l])) {
      begin[loops[l]->var] = min;
    } else {
      domain.push_back({loops[l]->var, {min, Substitute(loops[l]->extent, begin)}});
    }
  }
  auto instances = InstancesInOrder(domain, Substitute(realize.predicate, begin), Substitute(realize.bindings, begin));
  return instances && HasTwice(*std::move(instances));
}

}  // namespace

size_t InnermostRepeatingLoop(const BlockRealizeNode& realize, const std::vector<const ForNode*>& loops,
                              const std::vector<const ForNode*>& around) {
  arith::Analyzer analyzer;
  for (const ForNode* loop : around) analyzer.Bind(loop->var, {loop->min, loop->extent});
  for (const ForNode* loop : loops) analyzer.Bind(loop->var, {loop->min, loop->extent});
  // A loop of at most one iteration repeats nothing: t of range(i // 8) for i below 9.
  const auto counts = [&](const ForNode* loop) {
    return !IsOverThreads(*loop) && analyzer.ConstBounds(loop->extent).max > 1;
  };
  // Up to the innermost loop that nothing depends on.
  size_t unused = loops.size();
  bool by_predicate = false;
  for (size_t l = loops.size(); l-- > 0 && unused == loops.size();) {
    if (!counts(loops[l])) continue;
    const bool used = std::any_of(realize.bindings.begin(), realize.bindings.end(),
                                  [&](const Expr& binding) { return UsesVar(binding, loops[l]->var); });
    const bool in_predicate = !used && UsesVar(realize.predicate, loops[l]->var);
    by_predicate |= in_predicate;
    if (!used && !in_predicate) unused = l;
  }
  if (!by_predicate && !TakesApart(realize.bindings)) return unused;
  const auto map_from = [&](size_t first, arith::Domain domain = {}) {
    for (size_t l = first; l < loops.size(); ++l) {
      if (!IsOverThreads(*loops[l])) domain.push_back({loops[l]->var, {loops[l]->min, loops[l]->extent}});
    }
    return arith::DetectIterMap(realize.bindings, domain, realize.predicate, arith::IterMapLevel::kNone, &analyzer);
  };
  const size_t outermost = unused == loops.size() ? 0 : unused + 1;
  if (const auto all = map_from(outermost); all && all->injective) return unused;
  // Parts of a number that loops outside begin: f // 11 and f % 11 of f = a * 16 + b.
  arith::Domain outside;
  for (const ForNode* loop : around) {
    const auto uses = [&](const Expr& binding) { return UsesVar(binding, loop->var); };
    if (std::ranges::any_of(realize.bindings, uses)) outside.push_back({loop->var, {loop->min, loop->extent}});
  }
  if (!outside.empty()) {
    if (const auto all = map_from(outermost, outside); all && all->injective) return unused;
  }
  for (size_t l = loops.size(); l-- > outermost;) {
    if (!counts(loops[l])) continue;
    const auto map = map_from(l);
    if (map ? !map->injective : RepeatsFirst(realize, loops, around, l)) return l;
  }
  return unused;
}

}  // namespace tilewright
