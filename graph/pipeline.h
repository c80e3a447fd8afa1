// The list of passes that graphs go through: the same for every machine, for models and for tests.
//
//   const PassEnvironment environment{.ops = &ops, .folder = folder, .target = target};
//   TW_ASSIGN_OR_RETURN(GraphModule optimized, RunPasses(GraphPasses(environment), module, {.opt_level = 2}));
//
// opt_level 0 lowers operators to programs and changes nothing else: what it computes is what the others are compared
// with. 1 keeps every bit. What a pass asks of hardware it asks of `target`.
#pragma once

#include <vector>

#include "autoschedule/sketch/scheduled_programs.h"
#include "graph/fusion/fuse_kernels.h"
#include "graph/fusion/kept_decisions.h"
#include "graph/fusion/kernel_cost.h"
#include "graph/ir/op.h"
#include "graph/rewrite/lowering.h"
#include "graph/rewrite/pass.h"
#include "graph/rewrite/passes.h"
#include "target/target.h"

namespace tilewright::graph {

// What the passes need; what it points to must outlive them.
struct PassEnvironment {
  const OpTable* ops = nullptr;
  const LoweringTable* lowerings =
      nullptr;                 // null: the graph calls programs alone, and none of its operators is lowered
  ConstantFolder folder = {};  // constants are computed where the compiler runs, whatever the target is
  Target target = {};
  Precision precision = Precision::kExact;
  FusionReport* report = nullptr;          // receives what fusion decided; null: nobody asks
  const DecisionStore* kept = nullptr;     // where that is kept; null: nowhere
  ScheduledPrograms* scheduled = nullptr;  // receives what the rules made of programs; null: nobody asks
  SizesByName sizes = {};                  // that symbolic extents of functions probably have
  MeasuredTimes measured = {};             // what is known of times of kernels; null: nothing
};

// In the order in which they run.
std::vector<Pass> GraphPasses(const PassEnvironment& environment);

}  // namespace tilewright::graph
