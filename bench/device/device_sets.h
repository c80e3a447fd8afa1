// The rotating copies of activations and outputs in the memory of a GPU.
#pragma once

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/operators/operands.h"
#include "bench/operators/problem.h"
#include "codegen/cuda/graph_runs.h"
#include "codegen/runtime/tensor.h"

namespace tilewright::bench {

class DeviceSets {
 public:
  static absl::StatusOr<DeviceSets> Make(const cuda::Driver& driver, const Workload& workload, const Operands& operands,
                                         int num_sets);

  void* input(int set) const { return inputs_[static_cast<size_t>(set)].data(); }
  void* output(int set) const { return outputs_[static_cast<size_t>(set)].data(); }

  // As TensorSets.
  void SpoilOutput(int set) const { outputs_[static_cast<size_t>(set)].Fill(0xFF); }
  absl::Status CopyOutput(int set, runtime::Tensor& output) const;

 private:
  std::vector<cuda::DeviceArray> inputs_, outputs_;
};

// A copy of a tensor's elements.
absl::StatusOr<cuda::DeviceArray> ToDevice(const cuda::Driver& driver, const runtime::Tensor& tensor);

}  // namespace tilewright::bench
