#include "autoschedule/sketch/cpu/plain_plan.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "autoschedule/cost/machine_costs.h"
#include "autoschedule/movement/cpu/bypass_caches.h"
#include "autoschedule/program/block_loops.h"
#include "autoschedule/program/sizes.h"
#include "base/status_macros.h"
#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/functor.h"
#include "ir/substitute.h"

namespace tilewright {
namespace {

// The widest type that the block computes with, in bits.
int ElementBits(const BlockNode& block) {
  int bits = 8;
  PreOrderExprs(block.body, [&](const Expr& e) {
    if (isa<LoadNode>(e) || isa<CastNode>(e)) bits = std::max(bits, e.dtype().bits());
    return true;
  });
  return std::max(bits, block.writes.empty() ? bits : block.writes[0].buffer->dtype.bits());
}

// Whether `lanes` adjacent values of the iterator load from at most as many adjacent elements, as with c // 4 * 4 + 1.
bool IsPicked(const Access& load, const Var& iterator, int lanes) {
  for (size_t d = 0; d + 1 < load.indices.size(); ++d) {
    if (UsesVar(load.indices[d], iterator)) return false;
  }
  arith::Analyzer analyzer;
  const Var vector("vector", iterator.dtype());
  const auto at = [&](int lane) { return Substitute(load.indices.back(), VarMap{{iterator, vector * lanes + lane}}); };
  for (int lane = 1; lane < lanes; ++lane) {
    const std::optional<int64_t> distance = AsInt(analyzer.Simplify(at(lane) - at(0)));
    if (!distance || *distance < 0 || *distance >= lanes) return false;
  }
  return true;
}

// Whether vectors along the iterator store adjacent elements, and load adjacent elements or lanes picked from such.
bool IsVectorAxis(const PlainPlan& plan, const BlockNode& block, int iterator) {
  const auto place = static_cast<size_t>(iterator);
  return std::ranges::all_of(plan.accesses, [&](const Access& access) {
    const std::optional<int64_t> stride = access.strides[place];
    if (access.store || stride) return stride == 1 || (!access.store && stride == 0);
    return IsPicked(access, block.iter_vars[place].var, plan.lanes);
  });
}

// Counts loads whose lanes are picked as loads of vectors.
void FindPicked(PlainPlan& plan) {
  for (size_t i = 0; i < plan.accesses.size(); ++i) {
    std::optional<int64_t>& stride = plan.accesses[i].strides[static_cast<size_t>(plan.vector)];
    if (plan.accesses[i].store || stride) continue;
    stride = 1;
    plan.picked.push_back(i);
  }
}

// Only the outermost loop, if its extent is symbolic and its iterations are short: threads share many of them or none.
// Dividing a fused index costs more than uneven parts.
size_t PreferredParallelLoops(const Schedule& sch, const PlainPlan& plan, const std::vector<LoopRv>& loops,
                              const Target& target) {
  const int64_t of_each = plan.work / LikelyExtent(sch, loops[0]);
  const bool alone = !ExtentOf(sch, loops[0]) && !IsWorthThreads(target.cores * of_each, target);
  return alone ? 1 : ParallelLoops(sch, loops, target.cores);
}

}  // namespace

Outcome<PlainPlan> MakePlainPlan(const Schedule& sch, BlockRv block, const Target& target) {
  const BlockRealizeNode& realize = RealizeOf(sch, block);
  const BlockNode& node = *realize.block;
  PlainPlan plan{.name = node.name, .accesses = AccessesOf(node), .lanes = target.lanes(ElementBits(node))};
  plan.work = 1;
  const LikelySizes sizes = LikelySizes::Of(FunctionOf(sch, block));
  for (size_t i = 0; i < node.iter_vars.size(); ++i) {
    const IterVar& iter = node.iter_vars[i];
    plan.extents.push_back(ExtentOf(iter));
    plan.likely.push_back(sizes.Likely(iter.domain.extent));
    plan.work *= plan.likely.back();
    if (iter.kind != IterKind::kSpatial && iter.kind != IterKind::kReduce) {
      return Refusal{"plain_rule", "an iterator of {block0} is neither spatial nor reduce", {node.id}};
    }
    (iter.kind == IterKind::kSpatial ? plan.spatial : plan.reduce).push_back(static_cast<int>(i));
  }
  if (plan.spatial.empty()) return Refusal{"plain_rule", "{block0} has no spatial iterator", {node.id}};
  int strided = -1;  // stored along, and loaded with small strides
  for (int iterator : plan.spatial) {
    if (plan.extents[static_cast<size_t>(iterator)] == 1) continue;
    if (IsVectorAxis(plan, node, iterator)) plan.vector = iterator;
    if (IsStridedAxis(plan.accesses, static_cast<size_t>(iterator))) strided = iterator;
    const bool next = std::all_of(plan.accesses.begin(), plan.accesses.end(), [&](const Access& access) {
      return !access.store || access.strides[static_cast<size_t>(iterator)] == 1;
    });
    if (next) plan.stored = iterator;
  }
  if (plan.vector < 0) plan.vector = plan.reduce.empty() ? plan.stored : strided;
  if (plan.vector >= 0) {
    if (!plan.reduce.empty()) FindPicked(plan);
    const std::optional<int64_t> length = plan.extents[static_cast<size_t>(plan.vector)];
    if (length && *length > 1 && *length < plan.lanes) {
      plan.lanes = static_cast<int>(std::bit_ceil(static_cast<uint64_t>(*length)));
    }
  }
  return plan;
}

Outcome<std::monostate> RunInParallel(Schedule& sch, const PlainPlan& plan, std::vector<LoopRv> loops,
                                      const Target& target, Choices& choices) {
  if (std::ranges::all_of(loops, [&](LoopRv loop) { return ExtentOf(sch, loop) == 1; })) return std::monostate();
  const int64_t preferred =
      IsWorthThreads(plan.work, target) ? static_cast<int64_t>(PreferredParallelLoops(sch, plan, loops, target)) : 0;
  std::vector<int64_t> candidates(LoopsToFuse(sch, loops) + 1);
  std::iota(candidates.begin(), candidates.end(), 0);
  TW_ASSIGN_OR_RETURN(const Choices::Pick parallel,
                      choices.Take(sch, plan.name + ".parallel_loops", candidates, static_cast<size_t>(preferred)));
  if (parallel.value == 0) return std::monostate();
  TW_ASSIGN_OR_RETURN(const LoopRv threads, FuseFirst(sch, loops, static_cast<size_t>(parallel.value)));
  TW_RETURN_IF_ERROR(ChooseStreaming(sch, threads, plan.name, target, choices));
  return sch.Parallel(threads);
}

}  // namespace tilewright
