// Programs of the operators of graph/ir/basic_ops.h.
#pragma once

#include "graph/rewrite/lowering.h"

namespace tilewright::graph {

void AddBasicLowerings(LoweringTable* lowerings);

}  // namespace tilewright::graph
