#include "schedule/program/own_loops.h"

#include <algorithm>

#include "ir/structural.h"
#include "schedule/program/loop_tree.h"
#include "verify/structure/block_scope.h"

namespace tilewright {

std::optional<Refusal> WhyNotInOwnLoops(const char* primitive, const Path& path, LoopLoss loss) {
  const auto* realize = cast<BlockRealizeNode>(path.back());
  const uint32_t id = realize->block->id;
  const std::vector<const ForNode*> loops = LoopsAbove(path);
  if (!HasTrivialBindings(*realize, loops)) {
    return Refusal{primitive, "the iterators of {block0} are not loops, one each", {id}};
  }
  if (!IsTrue(realize->predicate)) {
    return Refusal{primitive, "{block0} has the predicate {expr0}", {id}, {realize->predicate}};
  }
  for (size_t i = 0; i < loops.size(); ++i) {
    const ForNode* loop = loops[i];
    const Stmt& inner = path[path.size() - loops.size() + i];
    if (loop->body.get() != inner.get()) {
      return Refusal{primitive, "{loop1} holds more than {block0}", {id, loop->id}};
    }
    if (loss == LoopLoss::kKinds && loop->kind == ForKind::kThreadBound) {
      return Refusal{primitive, "{loop1} is bound to a thread", {id, loop->id}};
    }
    if (loss == LoopLoss::kNone && (loop->kind != ForKind::kSerial || !loop->annotations.empty())) {
      return Refusal{primitive, "{loop1} is not serial or has annotations", {id, loop->id}};
    }
    const auto bound = std::find_if(realize->bindings.begin(), realize->bindings.end(),
                                    [&](const Expr& binding) { return binding.get() == loop->var.get(); });
    if (bound == realize->bindings.end()) {
      return Refusal{primitive, "{loop1} is not an iterator of {block0}", {id, loop->id}};
    }
    const Range& domain = realize->block->iter_vars[static_cast<size_t>(bound - realize->bindings.begin())].domain;
    if (!StructuralEqual(loop->min, domain.min) || !StructuralEqual(loop->extent, domain.extent)) {
      return Refusal{primitive, "{loop1} does not run over the domain of {block0}'s iterator", {id, loop->id}};
    }
  }
  return std::nullopt;
}

const StmtNode* OutermostOwnLoop(const Path& path) {
  const std::vector<const ForNode*> loops = LoopsAbove(path);
  return loops.empty() ? path.back().get() : static_cast<const StmtNode*>(loops[0]);
}

}  // namespace tilewright
