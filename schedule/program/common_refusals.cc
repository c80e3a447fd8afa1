#include "schedule/program/common_refusals.h"

#include <utility>

#include "ir/changes/may_change.h"
#include "schedule/program/loop_tree.h"
#include "verify/structure/instance_order.h"

namespace tilewright {

Outcome<Path> PathToLoop(const char* primitive, const Function& function, uint32_t id) {
  Path path = FindPath(function, id);
  if (path.empty()) return Refusal{primitive, "the loop no longer exists", {id}};
  if (!isa<ForNode>(path.back())) return Refusal{primitive, "{block0} is a block, not a loop", {id}};
  return path;
}

Outcome<Path> PathToBlock(const char* primitive, const Function& function, uint32_t id) {
  Path path = FindPath(function, id);
  if (path.empty()) return Refusal{primitive, "the block no longer exists", {id}};
  if (!isa<BlockRealizeNode>(path.back())) return Refusal{primitive, "{loop0} is a loop, not a block", {id}};
  return path;
}

Outcome<Path> PathToInnerBlock(const char* primitive, const Function& function, uint32_t id) {
  Outcome<Path> path = PathToBlock(primitive, function, id);
  if (path.ok() && path->size() == 1) return Refusal{primitive, "{block0} is the root block", {id}};
  return path;
}

std::optional<Refusal> WhyNotReplaceable(const char* primitive, const ForNode& loop) {
  if (!loop.annotations.empty()) {
    return Refusal{primitive, "{loop0} has the annotation {text0}", {loop.id}, {}, {loop.annotations.begin()->first}};
  }
  if (loop.kind == ForKind::kThreadBound) {
    return Refusal{primitive, "{loop0} is bound to {text0}", {loop.id}, {}, {loop.thread_tag}};
  }
  if (!IsInt(loop.min, 0)) return Refusal{primitive, "{loop0} starts at {expr0}, not at 0", {loop.id}, {loop.min}};
  return WhyRangeMayChange(primitive, loop);
}

std::optional<Refusal> WhyRangeMayChange(const char* primitive, const ForNode& loop) {
  for (const Expr& end : {loop.min, loop.extent}) {
    if (!MayChange(end, loop.body)) continue;
    return Refusal{primitive, "the body of {loop0} may change {expr0}, on which its range depends", {loop.id}, {end}};
  }
  return std::nullopt;
}

std::optional<Refusal> WhyInstancesDepend(const char* primitive, const BlockNode& block) {
  const OrderedInstances ordered = FindOrderedInstances(block);
  if (ordered.none()) return std::nullopt;
  return Refusal{primitive,
                 ordered.by_elements ? "instances of {block0} depend on each other by {text0}"
                                     : "the updates of {text0} by {block0} do not commute",
                 {block.id},
                 {},
                 {ordered.buffer->name}};
}

}  // namespace tilewright
