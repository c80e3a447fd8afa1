#include "autoschedule/sketch/gpu/sketches.h"

#include <algorithm>

#include "autoschedule/sketch/gpu/bind_nest.h"
#include "autoschedule/sketch/gpu/plain_gpu_rule.h"

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
    {"given_loops", MeetGivenLoops, true},
};

}  // namespace

SketchList GpuSketches() { return {kSketches}; }

}  // namespace tilewright
