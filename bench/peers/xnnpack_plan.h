// XNNPACK's operators for a workload.
//
// Terms:
//   step   one operator of the library, with its weights packed, on a part of the activation and of the output. A
//          workload is one step, a batch of matrix products one step for each.
//   setup  the library's name for telling an operator which tensors it works on next; it moves no data.
//
// The library's matrix products and convolutions sum in f32 or requantize to the type of the activation: `s8s8q` are
// its qs8 operators, `int8q` its qu8 operators, whose unsigned weights have the zero point 128.
#pragma once

#include <xnnpack.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/operators/operands.h"
#include "bench/operators/problem.h"

namespace tilewright::bench {

struct DeleteXnnOperator {
  void operator()(xnn_operator_t op) const { xnn_delete_operator(op); }
};

struct XnnStep {
  std::unique_ptr<xnn_operator, DeleteXnnOperator> op;
  // In bytes from the start of the activation and of the output.
  int64_t input_offset = 0, output_offset = 0;
  std::function<xnn_status(xnn_operator_t op, const void* input, void* output, pthreadpool_t pool)> setup;
};

// An error that says why for what the library does not have. The library is initialized already.
absl::StatusOr<std::vector<XnnStep>> MakeXnnSteps(const Workload& workload, const Operands& operands);

}  // namespace tilewright::bench
