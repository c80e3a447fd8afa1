// The plan for blocks without a tensor form, made before anything changes: the vector axis, the strides of accesses,
// and the amount of work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "autoschedule/program/access_strides.h"
#include "autoschedule/program/choices.h"
#include "schedule/recorder/schedule.h"
#include "target/target.h"

namespace tilewright {

struct PlainPlan {
  std::string name;
  std::vector<Access> accesses;
  std::vector<int> spatial, reduce;  // positions of iterators
  std::vector<std::optional<int64_t>> extents;
  std::vector<int64_t> likely;  // the same for estimates
  int vector = -1;              // the vector axis, or -1
  int stored = -1;              // along which neighbours are stored, whatever is loaded, or -1
  std::vector<size_t> picked;   // positions of accesses of which lanes are picked from the vectors loaded
  int lanes = 1;
  int64_t work = 0;  // instances, probably
};

// A refusal of "plain_rule" where the block has no spatial iterator, or an iterator of another kind.
Outcome<PlainPlan> MakePlainPlan(const Schedule& sch, BlockRv block, const Target& target);

// Fuses the fewest outermost `loops` that give all cores about the same work, and runs them in parallel. Choices:
// NAME.parallel_loops; NAME.stream of autoschedule/movement/cpu/bypass_caches.h.
Outcome<std::monostate> RunInParallel(Schedule& sch, const PlainPlan& plan, std::vector<LoopRv> loops,
                                      const Target& target, Choices& choices);

}  // namespace tilewright
