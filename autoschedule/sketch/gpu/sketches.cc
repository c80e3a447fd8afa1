#include "autoschedule/sketch/gpu/sketches.h"

#include <algorithm>

#include "autoschedule/movement/gpu/bind_threads.h"
#include "autoschedule/program/block_loops.h"
#include "autoschedule/program/row_chain.h"
#include "autoschedule/sketch/chained/prepared_chain.h"
#include "autoschedule/sketch/gpu/bind_nest.h"
#include "autoschedule/sketch/gpu/chained/chained_fragments_rule.h"
#include "autoschedule/sketch/gpu/chained/chained_tiles_rule.h"
#include "autoschedule/sketch/gpu/column_threads_rule.h"
#include "autoschedule/sketch/gpu/divide_reduction.h"
#include "autoschedule/sketch/gpu/mma_tile_rule.h"
#include "autoschedule/sketch/gpu/plain_gpu_rule.h"
#include "autoschedule/sketch/gpu/row_threads_rule.h"
#include "autoschedule/sketch/gpu/thread_tile_rule.h"
#include "autoschedule/sketch/gpu/warp_tile_rule.h"
#include "autoschedule/sketch/gpu/warpgroup_tile_rule.h"
#include "ir/analysis.h"
#include "ir/reducer.h"
#include "schedule/program/conjuncts.h"
#include "target/costs.h"

namespace tilewright {
namespace {

using Done = std::monostate;
using Met = std::optional<Structure>;

// The least part of a padded product that is worth a tile of this side.
constexpr double kLeastUsefulPart = 0.25;
constexpr int64_t kThreadTileSide = kThreadSides[std::size(kThreadSides) - 1];

std::optional<ProductPlan> PlanOf(const SketchContext& context) {
  if (context.SharesLoops() || !HasGlobalMemoryAlone(*context.child.realize->block)) return std::nullopt;
  return PlanProduct(*context.child.realize, context.target);
}

// Those that are mostly padding are left to sketches without tiles, unless a search tries them.
Fit FitOf(const ProductPlan& plan, int64_t side) {
  return UsefulPart(plan.sizes, side) >= kLeastUsefulPart ? Fit::kBest : Fit::kGeneral;
}

Met MeetWarpgroupTiles(Schedule&, BlockRv block, const SketchContext& context) {
  const std::optional<ProductPlan> plan = PlanOf(context);
  if (!plan) return std::nullopt;
  const Target* target = &context.target;
  const std::optional<WarpgroupTile> tile =
      FindWarpgroupTile(*context.child.realize->block, plan->contraction, *target);
  // A pipeline needs two steps.
  if (!tile || plan->sizes.k <= tile->instruction->k) return std::nullopt;
  return Structure{FitOf(*plan, kFragmentSide), [=](Schedule& s, Choices& choices) {
                     return ScheduleWarpgroupTiles(s, block, *plan, *tile, *target, choices);
                   }};
}

Met MeetMmaTiles(Schedule&, BlockRv block, const SketchContext& context) {
  const std::optional<ProductPlan> plan = PlanOf(context);
  if (!plan) return std::nullopt;
  const Target* target = &context.target;
  const std::optional<WarpgroupTile> tile =
      FindMmaTile(*context.child.realize->block, plan->contraction, *target, context.intrins);
  if (!tile) return std::nullopt;
  return Structure{FitOf(*plan, tile->Rows()), [=](Schedule& s, Choices& choices) {
                     return ScheduleMmaTiles(s, block, *plan, *tile, *target, choices);
                   }};
}

Met MeetWarpTiles(Schedule&, BlockRv block, const SketchContext& context) {
  const std::optional<ProductPlan> plan = PlanOf(context);
  if (!plan) return std::nullopt;
  const Target* target = &context.target;
  const std::optional<WarpTile> warp =
      FindWarpTile(*context.child.realize->block, plan->contraction, *target, context.intrins);
  if (!warp) return std::nullopt;
  return Structure{FitOf(*plan, warp->side), [=](Schedule& s, Choices& choices) {
                     return ScheduleWarpTiles(s, block, *plan, *warp, *target, choices);
                   }};
}

Met MeetThreadTiles(Schedule&, BlockRv block, const SketchContext& context) {
  const std::optional<ProductPlan> plan = PlanOf(context);
  if (!plan) return std::nullopt;
  const Target* target = &context.target;
  return Structure{FitOf(*plan, kThreadTileSide), [=](Schedule& s, Choices& choices) {
                     return ScheduleThreadTiles(s, block, *plan, *target, choices);
                   }};
}

// Whether threads may share a sum: it can be taken apart, and no condition of its instances mixes what is summed with
// the element that it is added to.
bool IsShareable(const BlockRealizeNode& realize) {
  if (!std::holds_alternative<Reducer>(DetectReducer(*realize.block))) return false;
  const auto uses = [&](const VarNode* var, IterKind kind) {
    for (size_t i = 0; i < realize.bindings.size(); ++i) {
      if (realize.block->iter_vars[i].kind == kind && UsesVar(realize.bindings[i], Var(var))) return true;
    }
    return false;
  };
  return std::ranges::none_of(Conjuncts(realize.predicate), [&](const Expr& condition) {
    return UsesVar(condition, [&](const VarNode* var) { return uses(var, IterKind::kReduce); }) &&
           UsesVar(condition, [&](const VarNode* var) { return uses(var, IterKind::kSpatial); });
  });
}

// A product whose rows are reduced, with all that follows. Numbers of rows and keys are known.
std::optional<PreparedChain> ChainOf(Schedule& sch, BlockRv block, const SketchContext& context) {
  const BlockNode& node = *context.child.realize->block;
  const bool constant = std::ranges::all_of(node.iter_vars, [](const IterVar& i) { return ExtentOf(i).has_value(); });
  if (!node.init || !constant || !HasGlobalMemoryAlone(node)) return std::nullopt;
  const int64_t shared = context.target.gpu_part().max_shared_bytes_per_block;
  // Keys come by blocks.
  return PrepareChain(sch, block, context,
                      {.chooses_keys = true, .gives_places = true, .score_bytes = shared, .key_bytes = INT64_MAX});
}

Met MeetChainedFragments(Schedule& sch, BlockRv block, const SketchContext& context) {
  const std::optional<PreparedChain> chain = ChainOf(sch, block, context);
  if (!chain) return std::nullopt;
  Schedule prepared = sch;
  chain->prepare(prepared);
  const MachineInstruction* instruction = FindChainedMma(prepared, chain->plan, context.target, context.intrins);
  if (instruction == nullptr) return std::nullopt;
  const Target* target = &context.target;
  return Structure{Fit::kBest, [chain = *chain, instruction, target](Schedule& s, Choices& choices) {
                     chain.prepare(s);
                     return ScheduleChainedFragments(s, chain.plan, *instruction, *target, choices);
                   }};
}

Met MeetChainedTiles(Schedule& sch, BlockRv block, const SketchContext& context) {
  const std::optional<PreparedChain> chain = ChainOf(sch, block, context);
  if (!chain) return std::nullopt;
  const Target* target = &context.target;
  return Structure{Fit::kBest, [chain = *chain, target](Schedule& s, Choices& choices) {
                     chain.prepare(s);
                     return ScheduleChainedTiles(s, chain.plan, *target, choices);
                   }};
}

// Products in tiles read less, where a tile is not mostly padding.
Met MeetRowThreads(Schedule& sch, BlockRv block, const SketchContext& context) {
  std::vector<BlockRv> chain = RowChain(sch, context.scope, context.child.id(), context.blocks);
  // One block of threads sums a whole tensor, and many use the result.
  if (!chain.empty() && SpatialIterators(*context.child.realize->block).empty()) chain = {block};
  const bool global =
      std::ranges::all_of(chain, [&](const BlockRv& b) { return HasGlobalMemoryAlone(*RealizeOf(sch, b).block); });
  const bool shareable = std::ranges::all_of(
      chain, [&](const BlockRv& b) { return !RealizeOf(sch, b).block->init || IsShareable(RealizeOf(sch, b)); });
  if (chain.empty() || !global || !shareable) return std::nullopt;
  const std::optional<ProductPlan> plan = PlanOf(context);
  const bool tiles = plan && FitOf(*plan, kThreadTileSide) == Fit::kBest;
  const bool long_rows =
      RowLength(*LikelyRealizeOf(sch, block)->block).value_or(0) >= context.target.gpu_part().warp_size / 2;
  const Target* target = &context.target;
  return Structure{tiles || !long_rows ? Fit::kGeneral : Fit::kBest,
                   [=](Schedule& s, Choices& choices) { return ScheduleRowThreads(s, chain, *target, choices); }};
}

// Reductions that read neighbouring elements for neighbouring results, too few for a thread each.
Met MeetColumnThreads(Schedule& sch, BlockRv block, const SketchContext& context) {
  const BlockNode& node = *context.child.realize->block;
  if (!node.init || node.writes.size() != 1 || LaneIterator(node) >= 0) return std::nullopt;
  if (context.SharesLoops() || !HasGlobalMemoryAlone(node)) return std::nullopt;
  if (!IsShareable(*context.child.realize)) return std::nullopt;
  int64_t results = 1, terms = 1;
  for (const IterVar& iter : LikelyRealizeOf(sch, block)->block->iter_vars) {
    (iter.kind == IterKind::kReduce ? terms : results) *= ExtentOf(iter).value_or(1);
  }
  if (SpatialIterators(node).empty() || terms < context.target.gpu_part().warp_size) return std::nullopt;
  if (results >= context.target.cores * GpuCostsOf(context.target).busy_threads) return std::nullopt;
  const std::optional<ProductPlan> plan = PlanOf(context);
  const bool tiles = plan && FitOf(*plan, kThreadTileSide) == Fit::kBest;
  const Target* target = &context.target;
  return Structure{tiles ? Fit::kGeneral : Fit::kBest,
                   [=](Schedule& s, Choices& choices) { return ScheduleColumnThreads(s, block, *target, choices); }};
}

// Products in tiles are divided by their own sketches.
std::optional<BlockRv> Divide(Schedule& sch, BlockRv block, const Target& target) {
  const std::optional<ProductPlan> plan = PlanProduct(RealizeOf(sch, block), target);
  if (plan && FitOf(*plan, kThreadTileSide) == Fit::kBest) return std::nullopt;
  return DivideReduction(sch, block, target);
}

Met MeetPlain(Schedule&, BlockRv block, const SketchContext& context) {
  if (context.SharesLoops() || !HasGlobalMemoryAlone(*context.child.realize->block)) return std::nullopt;
  const Target* target = &context.target;
  return Structure{Fit::kGeneral,
                   [=](Schedule& s, Choices& choices) { return SchedulePlainOnGpu(s, block, *target, choices); }};
}

Met MeetGivenLoops(Schedule&, BlockRv block, const SketchContext& context) {
  const bool global = HasGlobalMemoryAlone(*context.child.realize->block);
  const Target* target = &context.target;
  return Structure{Fit::kOtherwise,
                   [=](Schedule& s, Choices&) { return global ? BindNest(s, block, *target) : Outcome<Done>(Done()); }};
}

constexpr Sketch kSketches[] = {
    {"plain", MeetPlain},
    {"row_threads", MeetRowThreads, /*reports=*/false, /*takes_chains=*/true},
    {"column_threads", MeetColumnThreads},
    {"warpgroup_tiles", MeetWarpgroupTiles, true},
    {"mma_tiles", MeetMmaTiles, true},
    {"warp_tiles", MeetWarpTiles, true},
    {"thread_tiles", MeetThreadTiles},
    {"given_loops", MeetGivenLoops, true},
    {"chained_fragments", MeetChainedFragments, /*reports=*/false, /*takes_chains=*/true, /*judged=*/true},
    {"chained_tiles", MeetChainedTiles, /*reports=*/false, /*takes_chains=*/true, /*judged=*/true},
};

}  // namespace

SketchList GpuSketches() { return {.sketches = kSketches, .divide = Divide, .verified = true}; }

}  // namespace tilewright
