// The passes that a graph of programs goes through before it runs, and what they need of this machine.
//
//   PassContext context{.opt_level = 2, .disabled = {"FoldConstants"}};
//   TW_ASSIGN_OR_RETURN(GraphModule optimized, OptimizeGraph(imported.module, ops, context));
//
// opt_level 0 changes nothing: what it computes is what the others are compared with.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "graph/executor/kernel_cache.h"
#include "graph/fusion/fuse_kernels.h"
#include "graph/ir/graph_module.h"
#include "graph/ir/op.h"
#include "graph/rewrite/pass.h"
#include "graph/rewrite/passes.h"

namespace tilewright::graph {

// Small calls are interpreted, large ones compiled for this machine; equal programs are compiled once.
ConstantFolder HostFolder(const OpTable* ops);

// In the order in which they run. `ops`, `report` and `cache`, of which the last two may be null, must outlive them.
// What fusion decides is kept in `cache`.
std::vector<Pass> GraphPasses(const OpTable* ops, FusionReport* report = nullptr, const KernelCache* cache = nullptr);

// How many bindings of its functions call programs, those in branches included.
int CountProgramCalls(const GraphModule& module);

absl::StatusOr<GraphModule> OptimizeGraph(const GraphModule& module, const OpTable& ops, const PassContext& context,
                                          FusionReport* report = nullptr, const KernelCache* cache = nullptr);

}  // namespace tilewright::graph
