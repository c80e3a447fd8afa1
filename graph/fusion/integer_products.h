// IntegerProducts: sums of products of quantized operands multiply bytes (graph/fusion/integer_form.h).
//
//   lv = R.call_tir(cls.dequantize, (x, s, z), ...)
//   lv1 = R.call_tir(cls.dequantize_1, (w, t), ...)    ->    lv2 = R.call_tir(cls.matmul_1, (x, s, w_1, offsets), ...)
//   lv2 = R.call_tir(cls.matmul, (lv, lv1), ...)
//
// What is quantized is seen from what programs compute, not from the operators that they were imported for. What
// quantizes the result stays a program of its own, which FuseKernels joins with the product.
#pragma once

#include "absl/status/statusor.h"
#include "graph/ir/block_builder.h"
#include "graph/ir/graph_module.h"

namespace tilewright::graph {

// `floats`: also where the graph multiplies floats that integers were turned into. The result then differs by rounding
// (docs/numerics.md); otherwise it is the same.
absl::StatusOr<GraphModule> IntegerProducts(const GraphModule& module, const OpTable& ops, bool floats);

}  // namespace tilewright::graph
