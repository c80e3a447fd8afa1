// MixedPrecision: products and convolutions multiply 16-bit floats and add up in 32 bits.
//
//   lv: R.Tensor((n, 64), dtype="float32") = R.call_tir(cls.matmul, (x, w), ...)     x, w: float32
//   lv1: R.Tensor((n, 64), dtype="float32") = R.call_tir(cls.relu, (lv,), ...)
//     ->
//   lv: R.Tensor((n, 64), dtype="bfloat16") = R.call_tir(cls.matmul_1, (x, w_1), ...)    w_1: bfloat16, x is converted
//   lv1: R.Tensor((n, 64), dtype="bfloat16") = R.call_tir(cls.relu_1, (lv,), ...)
//
// Which values have 16 bits follows from what programs compute (narrow_program.h): results of sums of products, what is
// moved, compared, added and multiplied of such values alone, and what sums of products read. Exponentials, powers,
// quotients and other sums have 32 bits unless sums of products read them. Arithmetic has 32 bits everywhere. Inputs
// and results of functions keep their types, and so do constants that are too large for 16 bits.
#pragma once

#include "absl/status/statusor.h"
#include "graph/ir/block_builder.h"
#include "graph/ir/graph_module.h"

namespace tilewright::graph {

// `type`: float16 or bfloat16.
absl::StatusOr<GraphModule> MixedPrecision(const GraphModule& module, const OpTable& ops, DataType type);

// Between calls that became one program, numbers are not rounded to 16 bits: run after FuseKernels.
absl::StatusOr<GraphModule> DropRoundings(const GraphModule& module, const OpTable& ops, DataType type);

}  // namespace tilewright::graph
