#include "bench/device/device_sets.h"

#include <cstdint>

#include "base/status_macros.h"

namespace tilewright::bench {
namespace {

int64_t BytesOf(const runtime::Tensor& tensor) {
  return runtime::PackedBytes(tensor.dtype(), tensor.num_elements()).value_or(0);
}

}  // namespace

absl::StatusOr<cuda::DeviceArray> ToDevice(const cuda::Driver& driver, const runtime::Tensor& tensor) {
  return cuda::DeviceArray::CopyOf(driver, tensor.data<char>(), BytesOf(tensor));
}

absl::StatusOr<DeviceSets> DeviceSets::Make(const cuda::Driver& driver, const Workload& workload,
                                            const Operands& operands, int num_sets) {
  TW_ASSIGN_OR_RETURN(const runtime::Tensor output, MakeOutput(workload));
  DeviceSets sets;
  for (int i = 0; i < num_sets; ++i) {
    TW_ASSIGN_OR_RETURN(cuda::DeviceArray in, ToDevice(driver, operands.activation));
    TW_ASSIGN_OR_RETURN(cuda::DeviceArray out, cuda::DeviceArray::Allocate(driver, BytesOf(output)));
    sets.inputs_.push_back(std::move(in));
    sets.outputs_.push_back(std::move(out));
  }
  return sets;
}

absl::Status DeviceSets::CopyOutput(int set, runtime::Tensor& output) const {
  const cuda::DeviceArray& source = outputs_[static_cast<size_t>(set)];
  if (source.bytes() != BytesOf(output)) return absl::InternalError("outputs of different sizes");
  return source.CopyTo(output.data<char>());
}

}  // namespace tilewright::bench
