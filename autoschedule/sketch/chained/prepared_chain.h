// Chains (autoschedule/sketch/chained/chained_plan.h) of programs that are not in the form that a chain is planned in:
// the normal form took iterators apart, or blocks move elements of the products' factors.
#pragma once

#include <functional>
#include <optional>

#include "autoschedule/sketch/chained/chained_plan.h"
#include "schedule/recorder/schedule.h"

namespace tilewright {

// A chain with the steps that bring the program into the form that it is planned in: parts are joined, moves inlined.
struct PreparedChain {
  ChainedPlan plan;
  std::function<void(Schedule&)> prepare;
};
std::optional<PreparedChain> PrepareChain(Schedule& sch, BlockRv product, const SketchContext& context,
                                          const ChainLimits& limits);

}  // namespace tilewright
