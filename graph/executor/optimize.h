// The passes of graph/pipeline.h on a graph of programs, with what they need of this machine: constants are folded
// here, whatever the target is.
//
//   PassContext context{.opt_level = 2, .disabled = {"FoldConstants"}};
//   TW_ASSIGN_OR_RETURN(GraphModule optimized, OptimizeGraph(imported.module, ops, context, {.target = target}));
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "graph/executor/kernel_cache.h"
#include "graph/fusion/fuse_kernels.h"
#include "graph/ir/graph_module.h"
#include "graph/ir/op.h"
#include "graph/rewrite/lowering.h"
#include "graph/rewrite/pass.h"
#include "graph/rewrite/passes.h"
#include "target/target.h"

namespace tilewright::graph {

// Small calls are interpreted, large ones compiled for this machine; equal programs are compiled once.
ConstantFolder HostFolder(const OpTable* ops);

struct OptimizeOptions {
  Target target;                           // that the kernels are for; one without a name is an error
  FusionReport* report = nullptr;          // receives what fusion decided
  const KernelCache* cache = nullptr;      // keeps what fusion decided
  ScheduledPrograms* scheduled = nullptr;  // keeps what the rules made of programs, for this target; null: nobody asks
  SizesByName sizes = {};                  // that symbolic extents of functions probably have
  const LoweringTable* lowerings = nullptr;  // of operators that become programs; null: none does
  std::string database = {};  // of tuning records: kernels that were measured slower joined stay apart; empty: none
};

// How many bindings of its functions call programs, those in branches included.
int CountProgramCalls(const GraphModule& module);

absl::StatusOr<GraphModule> OptimizeGraph(const GraphModule& module, const OpTable& ops, const PassContext& context,
                                          const OptimizeOptions& options);

}  // namespace tilewright::graph
