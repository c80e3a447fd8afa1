#include "autoschedule/sketch/cpu/plain_rule.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <vector>

#include "autoschedule/cost/machine_costs.h"
#include "autoschedule/program/access_strides.h"
#include "autoschedule/program/block_loops.h"
#include "autoschedule/program/computed_places.h"
#include "autoschedule/program/fuse_consumers.h"
#include "autoschedule/sketch/cpu/elementwise_rule.h"
#include "autoschedule/sketch/cpu/plain_plan.h"
#include "autoschedule/sketch/cpu/window_rule.h"
#include "base/status_macros.h"

namespace tilewright {
namespace {

// Whether the block reduces few elements per result, which vectors along its results gather.
bool GathersFew(const PlainPlan& plan, const std::vector<bool>& decides) {
  if (decides.empty() || plan.stored < 0 || !decides[static_cast<size_t>(plan.stored)] || plan.lanes < 2) return false;
  int64_t terms = 1;
  for (int iterator : plan.reduce) terms *= plan.extents[static_cast<size_t>(iterator)].value_or(kMostWrittenOut);
  return terms * plan.lanes <= kMostWrittenOut && plan.extents[static_cast<size_t>(plan.stored)] != 1;
}

// Keeps vectors of results in registers and unrolls their terms. Loops that the places do not depend on are inside of
// those that they depend on.
Outcome<std::monostate> ScheduleGathered(Schedule& sch, BlockRv block, const PlainPlan& plan,
                                         const std::vector<bool>& decides, const Target& target, Choices& choices) {
  TW_ASSIGN_OR_RETURN(const BlockRv write_back, sch.CacheWrite(block, 0, "register"));
  FuseConsumers(sch, write_back);
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, LoopsByIterator(sch, block, "plain_rule"));
  const auto along = static_cast<size_t>(plan.stored);
  const auto length = static_cast<uint64_t>(plan.extents[along].value_or(plan.lanes));
  const int64_t lanes = std::min<int64_t>(plan.lanes, static_cast<int64_t>(std::bit_ceil(length)));
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> vector, sch.Split(loops[along], {Value(), Value(lanes)}));
  std::vector<LoopRv> outer, same, reduce;
  for (int iterator : plan.spatial) {
    if (iterator == plan.stored) continue;
    (decides[static_cast<size_t>(iterator)] ? outer : same).push_back(loops[static_cast<size_t>(iterator)]);
  }
  outer.push_back(vector[0]);
  outer.insert(outer.end(), same.begin(), same.end());
  for (int iterator : plan.reduce) reduce.push_back(loops[static_cast<size_t>(iterator)]);
  std::vector<LoopRv> order = outer;
  order.insert(order.end(), reduce.begin(), reduce.end());
  order.push_back(vector[1]);
  TW_RETURN_IF_ERROR(sch.Reorder(order));
  TW_RETURN_IF_ERROR(sch.ReverseComputeAt(write_back, outer.back()));
  TW_ASSIGN_OR_RETURN(const BlockRv init, sch.DecomposeReduction(block, reduce[0]));
  for (const BlockRv& stage : {init, write_back, block}) TW_RETURN_IF_ERROR(WriteOut(sch, stage, outer.back(), true));
  return RunInParallel(sch, plan, outer, target, choices);
}

// As many adjacent walks as a vector has lanes take each step together, so that their loads overlap. They are unrolled,
// since scalar loads are as fast as gathers.
Outcome<std::monostate> ScheduleWalks(Schedule& sch, BlockRv block, const PlainPlan& plan, const Target& target,
                                      Choices& choices) {
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, LoopsByIterator(sch, block, "plain_rule"));
  int along = plan.spatial.back();
  for (const int iterator : plan.spatial) {
    if (plan.likely[static_cast<size_t>(iterator)] > 1) along = iterator;
  }
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> side,
                      sch.Split(loops[static_cast<size_t>(along)], {Value(), Value(plan.lanes)}));
  std::vector<LoopRv> spatial;
  for (const int iterator : plan.spatial) {
    spatial.push_back(iterator == along ? side[0] : loops[static_cast<size_t>(iterator)]);
  }
  std::vector<LoopRv> order = spatial;
  for (const int iterator : plan.reduce) order.push_back(loops[static_cast<size_t>(iterator)]);
  order.push_back(side[1]);
  TW_RETURN_IF_ERROR(sch.Reorder(order));
  TW_RETURN_IF_ERROR(sch.DecomposeReduction(block, loops[static_cast<size_t>(plan.reduce[0])]));
  TW_RETURN_IF_ERROR(sch.Unroll(side[1]));
  return RunInParallel(sch, plan, spatial, target, choices);
}

// Parallel spatial loops around those of the sum. Spatial loops that computed places do not depend on are innermost, so
// that a place is computed once for all of their results; these are initialized before the sum then.
Outcome<std::monostate> ScheduleOtherReduction(Schedule& sch, BlockRv block, const PlainPlan& plan,
                                               const Target& target, Choices& choices) {
  const std::vector<bool> decides = IteratorsOfPlaces(*RealizeOf(sch, block).block);
  if (GathersFew(plan, decides)) return ScheduleGathered(sch, block, plan, decides, target, choices);
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, LoopsByIterator(sch, block, "plain_rule"));
  std::vector<LoopRv> spatial, inner;
  for (int iterator : plan.spatial) {
    const auto i = static_cast<size_t>(iterator);
    const bool same = !decides.empty() && !decides[i] && plan.likely[i] > 1;
    (same ? inner : spatial).push_back(loops[i]);
  }
  if (spatial.empty()) spatial.swap(inner);
  std::vector<LoopRv> order = spatial;
  for (int iterator : plan.reduce) order.push_back(loops[static_cast<size_t>(iterator)]);
  order.insert(order.end(), inner.begin(), inner.end());
  if (order.size() > 1) TW_RETURN_IF_ERROR(sch.Reorder(order));
  if (!inner.empty()) {
    TW_RETURN_IF_ERROR(sch.DecomposeReduction(block, loops[static_cast<size_t>(plan.reduce[0])]));
  }
  return RunInParallel(sch, plan, spatial, target, choices);
}

}  // namespace

Outcome<std::monostate> SchedulePlain(Schedule& sch, BlockRv block, const Target& target, Choices& choices) {
  TW_ASSIGN_OR_RETURN(const PlainPlan plan, MakePlainPlan(sch, block, target));
  if (plan.reduce.empty()) return ScheduleElementwise(sch, block, plan, target, choices);
  if (plan.vector >= 0 && plan.lanes > 1) return ScheduleWindows(sch, block, plan, target, choices);
  if (const std::optional<StagedPhases> phases = StagePhases(sch, block, target)) {
    TW_ASSIGN_OR_RETURN(const PlainPlan of_phases, MakePlainPlan(sch, block, target));
    return ScheduleWindows(sch, block, of_phases, target, choices, phases);
  }
  if (ReadsAcross(plan)) {
    TW_ASSIGN_OR_RETURN(const PlainPlan turned, TurnOperand(sch, block, plan, target));
    return ScheduleWindows(sch, block, turned, target, choices);
  }
  if (WalksByResult(*RealizeOf(sch, block).block)) return ScheduleWalks(sch, block, plan, target, choices);
  return ScheduleOtherReduction(sch, block, plan, target, choices);
}

void KeepLoops(Schedule& sch, BlockRv block, const Target& target) {
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
  // Threads begin anew in each iteration of the loops around.
  int64_t work = 1;
  for (const LoopRv& loop : *loops) work *= LikelyExtent(sch, loop);
  for (const LoopRv& loop : *loops) {
    if (LoopOf(sch, loop).kind != ForKind::kSerial || !IsWorthThreads(work, target) || sch.Parallel(loop).ok()) return;
    work /= std::max<int64_t>(LikelyExtent(sch, loop), 1);
  }
}

}  // namespace tilewright
