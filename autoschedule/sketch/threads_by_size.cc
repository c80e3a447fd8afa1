#include "autoschedule/sketch/threads_by_size.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "autoschedule/cost/projected.h"
#include "autoschedule/program/attempt.h"
#include "autoschedule/program/block_loops.h"
#include "autoschedule/program/sizes.h"
#include "ir/annotations.h"
#include "ir/iterations.h"

namespace tilewright {
namespace {

// A parallel loop with the name of the first block in it.
struct SharedLoop {
  std::string block;
  LoopRv rv;
  Expr statements;
};

std::vector<SharedLoop> SharedLoops(Schedule& sch, const std::string& function) {
  std::vector<SharedLoop> shared;
  std::vector<uint32_t> seen;
  for (const BlockRv& block : BlocksInRoot(sch, function)) {
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

// From how many statements on threads finish sooner than the caller alone; 0 where nothing is known.
int64_t LeastStatements(const Function& function, const std::vector<SharedLoop>& loops, const Target& target) {
  const LikelySizes sizes = LikelySizes::Of(function);
  double statements = 0;
  for (const SharedLoop& loop : loops) statements += static_cast<double>(sizes.Likely(loop.statements));
  const Projection projected = Project(function, target);
  const double alone = (projected.seconds - projected.fork_seconds) * projected.cores_used * projected.balance;
  const double gained = alone / statements * (1 - 1.0 / target.cores);
  const double least = target.cpu_part().fork_join_seconds / gained;
  return least > 0 && std::isfinite(least) ? static_cast<int64_t>(std::ceil(least)) : 0;
}

}  // namespace

void ChooseThreadsBySize(Schedule& sch, const std::string& function, const Target& target, Choices& choices) {
  if (target.cores == 1 || SymbolicExtents(sch.module().Find(function)).empty()) return;
  const std::vector<SharedLoop> loops = SharedLoops(sch, function);
  if (std::ranges::all_of(loops, [](const SharedLoop& loop) { return AsInt(loop.statements).has_value(); })) return;
  const int64_t least = LeastStatements(sch.module().Find(function), loops, target);
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
