// Workloads as programs of ir/ops, and their tensors as the programs' arguments.
//
//   BenchProgram program = MakeProgram(workload);
//   std::vector<runtime::Tensor> constants = *MakeConstants(workload, program, operands);
//
// A program takes one activation, its constants and one output, in this order. The tensors of a workload (bench/
// problem.h) hold the same elements in the same order; shapes may differ, such as [k, k, 1, C] and [k, k, C, 1] of a
// depthwise weight.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "bench/operators/extents.h"
#include "bench/operators/operands.h"
#include "bench/operators/problem.h"
#include "codegen/runtime/tensor.h"
#include "ir/function.h"

namespace tilewright::bench {

struct BenchProgram {
  Function function;
  // All operands are activations: none is marked constant, and nothing is packed ahead of time.
  bool weight_is_activation = false;
};

// The constants are marked (schedule/layout/hoist_prepack.h).
BenchProgram MakeProgram(const Workload& workload, const Extents& extents = {});

// Copies of the weight and of each row of the parameters, in the order and shapes of the program.
absl::StatusOr<std::vector<runtime::Tensor>> MakeConstants(const Workload& workload, const BenchProgram& program,
                                                           const Operands& operands);

// A tensor over the same elements with the shape of a parameter, which lives no longer than `tensor`.
runtime::Tensor ViewAs(const Buffer& param, runtime::Tensor& tensor);

// The constant extents of a buffer.
std::vector<int64_t> ConstantShape(const Buffer& buffer);

}  // namespace tilewright::bench
