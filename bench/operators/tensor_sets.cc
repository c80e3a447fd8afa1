#include "bench/operators/tensor_sets.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

namespace tilewright::bench {
namespace {

size_t BytesOf(const runtime::Tensor& tensor) {
  return static_cast<size_t>(runtime::PackedBytes(tensor.dtype(), tensor.num_elements()).value_or(0));
}

}  // namespace

absl::StatusOr<TensorSets> TensorSets::Make(const Workload& workload, const Operands& operands, int num_sets,
                                            int64_t spare_bytes) {
  TensorSets sets;
  const runtime::Tensor& activation = operands.activation;
  const auto bytes = static_cast<int64_t>(BytesOf(activation));
  for (int i = 0; i < num_sets; ++i) {
    std::optional<runtime::Tensor> memory = runtime::Tensor::Allocate(runtime::kUInt8, {bytes + spare_bytes});
    absl::StatusOr<runtime::Tensor> output = MakeOutput(workload);
    if (!memory.has_value()) return absl::ResourceExhaustedError("not enough memory for the tensors");
    if (!output.ok()) return output.status();
    std::memcpy(memory->data<char>(), activation.data<char>(), BytesOf(activation));
    sets.inputs_.push_back(runtime::Tensor::Borrow(memory->data<char>(), activation.dtype(), activation.shape()));
    sets.memory_.push_back(*std::move(memory));
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

int64_t SecondLevelBytes(int num_threads) {
  return std::max<int64_t>(sysconf(_SC_LEVEL2_CACHE_SIZE), 1 << 20) * num_threads;
}

int ChooseNumSets(const Workload& workload, int64_t cache_bytes, int most) {
  const TensorShapes shapes = ShapesOf(workload.problem);
  const auto bytes = [](const std::vector<int64_t>& shape, TwDataType dtype) {
    double product = dtype.bits / 8.0;
    for (int64_t extent : shape) product *= static_cast<double>(extent);
    return product;
  };
  const double set =
      bytes(shapes.activation, ActivationType(workload.dtype)) + bytes(shapes.output, OutputType(workload));
  const double wanted = std::ceil(static_cast<double>(cache_bytes) / set) + 1;
  return static_cast<int>(std::clamp(wanted, 2.0, static_cast<double>(most)));
}

}  // namespace tilewright::bench
