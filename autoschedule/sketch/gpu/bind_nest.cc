#include "autoschedule/sketch/gpu/bind_nest.h"

#include <algorithm>

#include "autoschedule/program/block_loops.h"
#include "base/status_macros.h"
#include "ir/analysis.h"
#include "ir/functor.h"

namespace tilewright {

namespace {

using Done = std::monostate;

// Whether blocks below the loop use it in spatial iterators alone: then its iterations reduce nothing together.
bool IsSpatial(const ForNode& loop) {
  bool spatial = true;
  PreOrder(loop.body, [&](const Stmt& s) {
    const auto* realize = dyn_cast<BlockRealizeNode>(s);
    if (realize == nullptr) return true;
    for (size_t i = 0; i < realize->bindings.size(); ++i) {
      spatial &= realize->block->iter_vars[i].kind == IterKind::kSpatial || !UsesVar(realize->bindings[i], loop.var);
    }
    return false;
  });
  return spatial;
}

// As many threads of a block as divide the loop's iterations: a condition around several blocks is hard to prove
// anything of.
Outcome<Done> BindLoop(Schedule& sch, LoopRv loop, const Target& target) {
  const int64_t extent = ExtentOf(sch, loop).value_or(1);
  int64_t threads = target.gpu_part().warp_size;
  while (extent % threads != 0) --threads;
  if (threads == 1) return sch.Bind(loop, "blockIdx.x");
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> parts, sch.Split(loop, {Value(), threads}));
  TW_RETURN_IF_ERROR(sch.Bind(parts[0], "blockIdx.x"));
  return sch.Bind(parts[1], "threadIdx.x");
}

}  // namespace

Outcome<Done> BindNest(Schedule& sch, BlockRv block, const Target& target) {
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, sch.GetLoops(block));
  std::optional<Refusal> first;
  for (const LoopRv& loop : loops) {
    const bool last = !isa<ForNode>(LoopOf(sch, loop).body);
    if (IsSpatial(LoopOf(sch, loop))) {
      Schedule attempt = sch;
      const Outcome<Done> bound = BindLoop(attempt, loop, target);
      if (bound.ok()) {
        sch = std::move(attempt);
        return bound;
      }
      if (!first) first = bound.refusal();
    }
    // What else the loop holds would be threads of another form, or of none.
    if (last) break;
  }
  return first ? Outcome<Done>(*first) : Done();
}

bool HasGlobalMemoryAlone(const BlockNode& block) {
  const auto is_global = [](const BufferRegion& region) { return region.buffer->scope.kind() == MemoryKind::kGlobal; };
  return std::ranges::all_of(block.reads, is_global) && std::ranges::all_of(block.writes, is_global);
}

}  // namespace tilewright
