#include "graph/executor/placed_array.h"

#include "base/status_macros.h"

namespace tilewright::graph {
namespace {

int64_t SizeOf(const std::vector<int64_t>& shape) {
  int64_t size = 1;
  for (int64_t extent : shape) size *= extent;
  return size;
}

}  // namespace

DeviceValue::DeviceValue(std::shared_ptr<Device> device, std::shared_ptr<DeviceMemory> memory, DataType dtype,
                         std::vector<int64_t> shape)
    : device_(std::move(device)),
      dtype_(dtype),
      shape_(std::move(shape)),
      bytes_(SizeOf(shape_) * dtype.bytes()),
      memory_(std::move(memory)) {}

absl::Status DeviceValue::CopyWithin(void* to) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return device_->CopyWithin(to, memory_->data(), bytes_);
}

absl::StatusOr<NDArray> DeviceValue::Here() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!here_) {
    NDArray array(dtype_, shape_);
    TW_RETURN_IF_ERROR(device_->CopyOut(array.data(), memory_->data(), bytes_));
    here_ = std::move(array);
  }
  return *here_;
}

absl::Status DeviceValue::MoveTo(std::shared_ptr<DeviceMemory> memory) {
  const std::lock_guard<std::mutex> lock(mutex_);
  TW_RETURN_IF_ERROR(device_->CopyWithin(memory->data(), memory_->data(), bytes_));
  memory_ = std::move(memory);
  return absl::OkStatus();
}

absl::StatusOr<PlacedArray> PlacedArray::On(const std::shared_ptr<Device>& device, const NDArray& array) {
  TW_ASSIGN_OR_RETURN(DeviceMemory memory, DeviceMemory::Allocate(device, array.bytes(), "inputs"));
  TW_RETURN_IF_ERROR(device->CopyIn(memory.data(), array.data(), array.bytes()));
  return PlacedArray(std::make_shared<DeviceValue>(device, std::make_shared<DeviceMemory>(std::move(memory)),
                                                   array.dtype(), array.shape()),
                     array.dtype(), array.shape());
}

int64_t PlacedArray::size() const { return SizeOf(shape_); }

absl::StatusOr<NDArray> PlacedArray::Here() const {
  if (there_ == nullptr) return here_;
  TW_ASSIGN_OR_RETURN(const NDArray array, there_->Here());
  return array.WithShape(shape_);
}

PlacedArray PlacedArray::WithShape(std::vector<int64_t> shape) const {
  if (there_ == nullptr) return here_.WithShape(std::move(shape));
  return {there_, dtype_, std::move(shape)};
}

absl::StatusOr<std::vector<NDArray>> Here(const PlacedArrays& arrays) {
  std::vector<NDArray> here;
  for (const PlacedArray& array : arrays) {
    TW_ASSIGN_OR_RETURN(NDArray one, array.Here());
    here.push_back(std::move(one));
  }
  return here;
}

}  // namespace tilewright::graph
