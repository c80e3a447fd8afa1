// The rotating copies of activations and outputs in plain layouts, for implementations that use those.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/operators/operands.h"
#include "bench/operators/problem.h"
#include "codegen/runtime/tensor.h"

namespace tilewright::bench {

class TensorSets {
 public:
  // `spare_bytes` may be read, but not used, behind the elements of an input.
  static absl::StatusOr<TensorSets> Make(const Workload& workload, const Operands& operands, int num_sets,
                                         int64_t spare_bytes = 0);

  runtime::Tensor& input(int set) { return inputs_[static_cast<size_t>(set)]; }
  runtime::Tensor& output(int set) { return outputs_[static_cast<size_t>(set)]; }

  // Fills an output with bytes of 0xFF: not a number, or -1.
  void SpoilOutput(int set);
  absl::Status CopyOutput(int set, runtime::Tensor& output) const;

 private:
  std::vector<runtime::Tensor> memory_;  // Bytes of the inputs, with what is spare.
  std::vector<runtime::Tensor> inputs_;
  std::vector<runtime::Tensor> outputs_;
};

// Copies of the activations and outputs that together are larger than `cache_bytes`, so that no run finds its own
// output of the run before there; between 2 and `most`.
int ChooseNumSets(const Workload& workload, int64_t cache_bytes, int most);
// Bytes of the second-level caches of as many threads of this machine.
int64_t SecondLevelBytes(int num_threads);

}  // namespace tilewright::bench
