#include "verify/repeating_loop.h"

#include <algorithm>

#include "ir/analysis.h"
#include "ir/arith/iter_map.h"
#include "ir/functor.h"

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

}  // namespace

size_t InnermostRepeatingLoop(const BlockRealizeNode& realize, const std::vector<const ForNode*>& loops) {
  const bool takes_apart = TakesApart(realize.bindings);
  for (size_t l = loops.size(); l-- > 0;) {
    const ForNode& loop = *loops[l];
    if (IsInt(loop.extent, 1) || loop.kind == ForKind::kThreadBound) continue;
    const bool used = std::any_of(realize.bindings.begin(), realize.bindings.end(),
                                  [&](const Expr& binding) { return UsesVar(binding, loop.var); });
    if (!used && !UsesVar(realize.predicate, loop.var)) return l;
    if (used && !takes_apart) continue;
    arith::Analyzer analyzer;
    arith::Domain domain;
    for (size_t i = 0; i < loops.size(); ++i) {
      const ForNode& around = *loops[i];
      analyzer.Bind(around.var, {around.min, around.extent});
      if (i >= l && around.kind != ForKind::kThreadBound) domain.push_back({around.var, {around.min, around.extent}});
    }
    const auto map =
        arith::DetectIterMap(realize.bindings, domain, realize.predicate, arith::IterMapLevel::kNone, &analyzer);
    if (map && !map->injective) return l;
  }
  return loops.size();
}

}  // namespace tilewright
