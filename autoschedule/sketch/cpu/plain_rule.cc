#include "autoschedule/sketch/cpu/plain_rule.h"

#include <algorithm>
#include <vector>

#include "autoschedule/program/access_strides.h"
#include "autoschedule/program/block_loops.h"
#include "autoschedule/sketch/cpu/elementwise_rule.h"
#include "autoschedule/sketch/cpu/plain_plan.h"
#include "autoschedule/sketch/cpu/window_rule.h"
#include "base/status_macros.h"

namespace tilewright {

Outcome<std::monostate> SchedulePlain(Schedule& sch, BlockRv block, const Target& target, Choices& choices) {
  TW_ASSIGN_OR_RETURN(const PlainPlan plan, MakePlainPlan(sch, block, target));
  if (plan.reduce.empty()) return ScheduleElementwise(sch, block, plan, target, choices);
  if (plan.vector >= 0 && plan.lanes > 1) return ScheduleWindows(sch, block, plan, target, choices);
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, LoopsByIterator(sch, block, "plain_rule"));
  std::vector<LoopRv> spatial;
  for (int iterator : plan.spatial) spatial.push_back(loops[static_cast<size_t>(iterator)]);
  std::vector<LoopRv> order = spatial;
  for (int iterator : plan.reduce) order.push_back(loops[static_cast<size_t>(iterator)]);
  if (order.size() > 1) TW_RETURN_IF_ERROR(sch.Reorder(order));
  return RunInParallel(sch, plan, spatial, target, choices);
}

void KeepLoops(Schedule& sch, BlockRv block) {
  const Outcome<std::vector<LoopRv>> loops = sch.GetLoops(block);
  if (!loops.ok() || loops->empty()) return;
  const std::vector<Access> accesses = AccessesOf(*RealizeOf(sch, block).block);
  const BlockRealizeNode& realize = RealizeOf(sch, block);
  const Var innermost = LoopOf(sch, loops->back()).var;
  for (size_t i = 0; i < realize.bindings.size(); ++i) {
    const bool along = std::all_of(accesses.begin(), accesses.end(), [&](const Access& access) {
      return access.strides[i] == 1 || (!access.store && access.strides[i] == 0);
    });
    if (along && realize.bindings[i].same_as(innermost)) {
      if (sch.Vectorize(loops->back()).ok()) break;
    }
  }
  for (const LoopRv& loop : *loops) {
    if (LoopOf(sch, loop).kind != ForKind::kSerial || sch.Parallel(loop).ok()) return;
  }
}

}  // namespace tilewright
