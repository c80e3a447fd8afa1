#include "autoschedule/sketch/gpu/sketches.h"

#include <algorithm>

#include "autoschedule/sketch/gpu/bind_nest.h"
#include "autoschedule/sketch/gpu/plain_gpu_rule.h"
#include "autoschedule/sketch/gpu/thread_tile_rule.h"
#include "autoschedule/sketch/gpu/warp_tile_rule.h"

namespace tilewright {
namespace {

using Done = std::monostate;
using Met = std::optional<Structure>;

bool SharesLoops(const SketchContext& context) {
  const ScopeChild& child = context.child;
  return std::ranges::any_of(context.scope.children(), [&](const ScopeChild& other) {
    return &other != &child && !other.loops.empty() && !child.loops.empty() && other.loops[0] == child.loops[0];
  });
}

// The least part of a padded product that is worth a tile of this side.
constexpr double kLeastUsefulPart = 0.25;
constexpr int64_t kThreadTileSide = 8;

std::optional<ProductPlan> PlanOf(const SketchContext& context) {
  if (SharesLoops(context) || !HasGlobalMemoryAlone(*context.child.realize->block)) return std::nullopt;
  return PlanProduct(*context.child.realize);
}

// Those that are mostly padding are left to sketches without tiles, unless a search tries them.
Fit FitOf(const ProductPlan& plan, int64_t side) {
  return UsefulPart(plan.sizes, side) >= kLeastUsefulPart ? Fit::kBest : Fit::kGeneral;
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

Met MeetPlain(Schedule&, BlockRv block, const SketchContext& context) {
  if (SharesLoops(context) || !HasGlobalMemoryAlone(*context.child.realize->block)) return std::nullopt;
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
    {"warp_tiles", MeetWarpTiles, true},
    {"thread_tiles", MeetThreadTiles},
    {"given_loops", MeetGivenLoops, true},
};

}  // namespace

SketchList GpuSketches() { return {.sketches = kSketches, .verified = true}; }

}  // namespace tilewright
