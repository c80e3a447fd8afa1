#include "autoschedule/sketch/threads_by_size.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "autoschedule/cost/machine_costs.h"
#include "autoschedule/cost/projected.h"
#include "autoschedule/program/attempt.h"
#include "autoschedule/program/block_loops.h"
#include "autoschedule/program/sizes.h"
#include "ir/annotations.h"
#include "ir/iterations.h"
#include "verify/structure/block_scope.h"

namespace tilewright {
namespace {

// A parallel loop with the name of the first block in it.
struct SharedLoop {
  std::string block;
  LoopRv rv;
  Expr statements;
};

// The blocks, and those inside of them.
void AddInside(Schedule& sch, std::vector<BlockRv> blocks, std::vector<BlockRv>* all) {
  for (const BlockRv& block : blocks) {
    all->push_back(block);
    if (BlockScope::Of(RealizeOf(sch, block).block.get()).children().empty()) continue;
    const Outcome<std::vector<BlockRv>> inside = sch.GetChildBlocks(block);
    if (inside.ok()) AddInside(sch, *inside, all);
  }
}

std::vector<SharedLoop> SharedLoops(Schedule& sch, const std::string& function) {
  std::vector<SharedLoop> shared;
  std::vector<uint32_t> seen;
  std::vector<BlockRv> blocks;
  AddInside(sch, BlocksInRoot(sch, function), &blocks);
  for (const BlockRv& block : blocks) {
    const Outcome<std::vector<LoopRv>> loops = sch.GetLoops(block);
    if (!loops.ok()) continue;
    for (const LoopRv& rv : *loops) {
      const ForNode& loop = LoopOf(sch, rv);
      if (loop.kind != ForKind::kParallel || std::ranges::find(seen, loop.id) != seen.end()) continue;
      seen.push_back(loop.id);
      shared.push_back({RealizeOf(sch, block).block->name, rv, StatementIterations(Stmt(&loop))});
    }
  }
  return shared;
}

// From how many statements on threads finish sooner than the caller alone, and no later than where a constant extent
// is worth threads; 0 where nothing is known.
int64_t LeastStatements(const Function& function, const Target& target) {
  const auto statements = static_cast<double>(LikelySizes::Of(function).Likely(StatementIterations(function->body)));
  const Projection projected = Project(function, target);
  const double alone = (projected.seconds - projected.fork_seconds) * projected.cores_used * projected.balance;
  const double gained = alone / statements * (1 - 1.0 / target.cores);
  const double least = target.cpu_part().fork_join_seconds / gained;
  if (least <= 0 || !std::isfinite(least)) return 0;
  return std::min(static_cast<int64_t>(std::ceil(least)), OperationsWorthThreads(target));
}

}  // namespace

void ChooseThreadsBySize(Schedule& sch, const std::string& function, const Target& target, Choices& choices) {
  if (target.cores == 1 || SymbolicExtents(sch.module().Find(function)).empty()) return;
  const std::vector<SharedLoop> loops = SharedLoops(sch, function);
  if (std::ranges::all_of(loops, [](const SharedLoop& loop) { return AsInt(loop.statements).has_value(); })) return;
  const int64_t least = LeastStatements(sch.module().Find(function), target);
  if (least == 0) return;
  for (const SharedLoop& loop : loops) {
    if (AsInt(loop.statements)) continue;
    Attempt(sch, choices, [&](Schedule& attempt, Choices& taken) {
      const Outcome<Choices::Pick> pick =
          taken.Take(attempt, loop.block + ".threads_from", {0, least}, 1, {{"always"}, {"where_worth"}});
      return pick.ok() && (pick->value == 0 || attempt.Annotate(loop.rv, kThreadsFrom, *pick).ok());
    });
  }
}

}  // namespace tilewright
