// LegalizeOps: calls of operators become calls of programs.
//
//   lv = R.matmul(x, w)   ->   lv = R.call_tir(cls.matmul, (x, w), out_sinfo=R.Tensor((n, 128), dtype="float32"))
//
// Equal programs are added once. Operators without a lowering (results whose extents depend on data) stay.
#pragma once

#include "absl/status/statusor.h"
#include "graph/ir/graph_module.h"
#include "graph/rewrite/lowering.h"

namespace tilewright::graph {

absl::StatusOr<GraphModule> LegalizeOps(const GraphModule& module, const OpTable& ops, const LoweringTable& lowerings);

}  // namespace tilewright::graph
