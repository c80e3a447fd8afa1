#include "bench/tensor_sets.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tilewright::bench {
namespace {

size_t BytesOf(const runtime::Tensor& tensor) {
  return static_cast<size_t>(runtime::PackedBytes(tensor.dtype(), tensor.num_elements()).value_or(0));
}

}  // namespace

absl::StatusOr<TensorSets> TensorSets::Make(const Workload& workload, const Operands& operands, int num_sets) {
  TensorSets sets;
  for (int i = 0; i < num_sets; ++i) {
    absl::StatusOr<runtime::Tensor> input = Copy(operands.activation);
    absl::StatusOr<runtime::Tensor> output = MakeOutput(workload);
    if (!input.ok()) return input.status();
    if (!output.ok()) return output.status();
    sets.inputs_.push_back(*std::move(input));
    sets.outputs_.push_back(*std::move(output));
  }
  return sets;
}

void TensorSets::SpoilOutput(int set) { std::memset(output(set).data<char>(), 0xFF, BytesOf(output(set))); }

absl::Status TensorSets::CopyOutput(int set, runtime::Tensor& output) const {
  const runtime::Tensor& source = outputs_[static_cast<size_t>(set)];
  if (!std::ranges::equal(source.shape(), output.shape())) return absl::InternalError("outputs of different shapes");
  std::memcpy(output.data<char>(), source.data<char>(), BytesOf(source));
  return absl::OkStatus();
}

}  // namespace tilewright::bench
