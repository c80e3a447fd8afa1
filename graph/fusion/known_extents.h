// KnownExtents: what a function checks where it begins simplifies the extents of all that it computes.
//
//   guard: n == min(n, 512)
//   p: R.Tensor((min(n, 512), 768))                                       p: R.Tensor((n, 768))
//   y[i, j] = x[i, j] + p[Select(min(n, 512) == 1, 0, i), j]        ->    y[i, j] = x[i, j] + p[i, j]
//
// Positions are sliced to the length of a sequence; what is added to them would otherwise keep a choice in its indices
// which no loop nest can be joined across. Guards count of which all symbols are extents of parameters: no kernel runs
// before they are checked. Modules with branches or calls of functions stay as they are.
#pragma once

#include "absl/status/statusor.h"
#include "graph/ir/block_builder.h"
#include "graph/ir/graph_module.h"

namespace tilewright::graph {

absl::StatusOr<GraphModule> KnownExtents(const GraphModule& module, const OpTable& ops);

}  // namespace tilewright::graph
