// SinkDequantization: floats that integers are turned into are made where they are read.
//
//   lv = R.call_tir(cls.dequantize, (q, s, z), ...)              lv1 = R.call_tir(cls.add_1, (q, s, z, x), ...)
//   lv1 = R.call_tir(cls.add, (lv, x), ...)               ->
//
// A kernel that makes the integers then stores bytes and not floats, and so does each of several readers read them.
// What multiplies (a product, a convolution) is left to FuseKernels: it may read an element often.
#pragma once

#include "absl/status/statusor.h"
#include "graph/ir/block_builder.h"
#include "graph/ir/graph_module.h"

namespace tilewright::graph {

absl::StatusOr<GraphModule> SinkDequantization(const GraphModule& module, const OpTable& ops);

}  // namespace tilewright::graph
