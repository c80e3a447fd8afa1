#include "autoschedule/measure/reference/fast_order.h"

#include <optional>
#include <utility>
#include <vector>

#include "schedule/recorder/schedule.h"
#include "verify/structure/block_scope.h"

namespace tilewright {
namespace {

// The kind of iterator that a loop is; nothing when it is none, or part of several.
std::optional<IterKind> KindOf(const ScopeChild& child, const ForNode* loop) {
  std::optional<IterKind> kind;
  for (size_t i = 0; i < child.realize->bindings.size(); ++i) {
    if (!child.realize->bindings[i].same_as(Expr(loop->var))) continue;
    if (kind) return std::nullopt;
    kind = child.realize->block->iter_vars[i].kind;
  }
  return kind;
}

// Applies what it can to one block; false when a primitive refused and `schedule` is to be thrown away.
bool OrderBlock(const ScopeChild& child, const std::string& function, Schedule& schedule) {
  const auto block = schedule.GetBlock(child.realize->block->name, function);
  if (!block.ok()) return false;
  const auto loops = schedule.GetLoops(*block);
  if (!loops.ok() || loops->size() != child.loops.size()) return false;
  std::vector<LoopRv> spatial, reduce;
  for (size_t i = 0; i < loops->size(); ++i) {
    const std::optional<IterKind> kind = KindOf(child, child.loops[i]);
    if (kind != IterKind::kSpatial && kind != IterKind::kReduce) return false;
    (kind == IterKind::kSpatial ? spatial : reduce).push_back((*loops)[i]);
  }
  if (spatial.empty()) return false;
  std::vector<LoopRv> outer = spatial;
  if (spatial.size() > 1) {
    outer.pop_back();
    std::vector<LoopRv> order = outer;
    order.insert(order.end(), reduce.begin(), reduce.end());
    order.push_back(spatial.back());
    if (!schedule.Reorder(order).ok()) return false;
    if (!reduce.empty() && !schedule.DecomposeReduction(*block, reduce[0]).ok()) return false;
  }
  LoopRv outermost = outer[0];
  if (outer.size() > 1) {
    const auto fused = schedule.Fuse(outer);
    if (!fused.ok()) return false;
    outermost = *fused;
  }
  return schedule.Parallel(outermost).ok();
}

}  // namespace

Function FastOrder(const Function& function) {
  const auto* root = dyn_cast<BlockRealizeNode>(function->body);
  if (root == nullptr) return function;
  Schedule schedule{Module(function)};
  const BlockScope scope = BlockScope::Of(root->block.get());
  for (const ScopeChild& child : scope.children()) {
    Schedule attempt = schedule;
    if (OrderBlock(child, function->name, attempt)) schedule = std::move(attempt);
  }
  return schedule.module().Find(function->name);
}

}  // namespace tilewright
