// A workload as the JSON of a request to prepare it, and tensors as .npy files.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "bench/operators/operands.h"
#include "bench/operators/problem.h"
#include "codegen/runtime/tensor.h"

namespace tilewright::bench {

// The request's line. The folder has the files that WriteOperands() wrote.
std::string PrepareRequest(const Workload& workload, const std::string& folder, int num_sets);

// activation.npy, weight.npy and parameters.npy; bf16 as "<V2".
absl::Status WriteOperands(const Operands& operands, const std::string& folder);

// Refuses a file whose shape or type is not the tensor's.
absl::Status ReadInto(const std::string& path, runtime::Tensor& tensor);

}  // namespace tilewright::bench
