// FoldScales: scales and shifts by channel become part of what they scale.
//
//   y = conv(x, W) + b                                        y = conv(x, W * (g / sqrt(v + e))) + ((b - m) * ... + s)
//   z = (y - m) / sqrt(v + e) * g + s                   ->
//
// Applies to every elementwise program that is affine in one operand and whose other operands are constants along one
// dimension or of one element: batch normalization, multiplications and additions, dequantization. Its factor and its
// term are computed once. Where the operand is a sum of products with constant weights that this program alone reads,
// the factor goes into the weights, and the term into the bias where there is one.
//
// The result is rounded at other places than before. What it computes for infinities and NaN is the same, but for sums
// that overflow in one order only. Nothing is folded where a factor or a weight would leave the normal numbers
// (scale_range.h).
#pragma once

#include "absl/status/statusor.h"
#include "graph/ir/block_builder.h"
#include "graph/ir/graph_module.h"

namespace tilewright::graph {

// The constants that result are calls of programs of constants: FoldConstants computes them.
absl::StatusOr<GraphModule> FoldScales(const GraphModule& module, const OpTable& ops);

}  // namespace tilewright::graph
