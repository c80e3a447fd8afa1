// Tensors that stay where they were computed.
//
//   TW_ASSIGN_OR_RETURN(const std::vector<PlacedArray> results, part.RunThere(arguments, symbols, options));
//   TW_ASSIGN_OR_RETURN(const NDArray here, results[0].Here());           // copied out of the device, once
//
// What a part of a function computes on a device is read there by the next part. It is copied out when somebody here
// asks for its elements, and not at all where nobody does.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/device/device.h"
#include "ir/ndarray.h"

namespace tilewright::graph {

// A value in a device's memory. It never changes: memory that is to be written is left before (MoveTo).
class DeviceValue {
 public:
  DeviceValue(std::shared_ptr<Device> device, std::shared_ptr<DeviceMemory> memory, DataType dtype,
              std::vector<int64_t> shape);

  int64_t bytes() const { return bytes_; }
  // Into memory of the same device.
  absl::Status CopyWithin(void* to) const;
  // The elements in this process's memory, copied when they are first asked for.
  absl::StatusOr<NDArray> Here() const;
  absl::Status MoveTo(std::shared_ptr<DeviceMemory> memory);

 private:
  const std::shared_ptr<Device> device_;
  const DataType dtype_;
  const std::vector<int64_t> shape_;
  int64_t bytes_ = 0;
  mutable std::mutex mutex_;
  std::shared_ptr<DeviceMemory> memory_;
  mutable std::optional<NDArray> here_;
};

// A tensor here or on a device; without elements: an argument that is absent.
class PlacedArray {
 public:
  PlacedArray() = default;
  PlacedArray(NDArray array)  // NOLINT(google-explicit-constructor): an array is one that lies here.
      : dtype_(array.dtype()), shape_(array.shape()), here_(std::move(array)) {}
  PlacedArray(std::shared_ptr<DeviceValue> value, DataType dtype, std::vector<int64_t> shape)
      : dtype_(dtype), shape_(std::move(shape)), there_(std::move(value)) {}
  // A copy of the array in the device's memory.
  static absl::StatusOr<PlacedArray> On(const std::shared_ptr<Device>& device, const NDArray& array);

  DataType dtype() const { return dtype_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  int64_t size() const;
  bool present() const { return there_ != nullptr || here_.data() != nullptr; }
  // Null where it lies here.
  const std::shared_ptr<DeviceValue>& there() const { return there_; }
  absl::StatusOr<NDArray> Here() const;
  // The same elements under another shape of as many.
  PlacedArray WithShape(std::vector<int64_t> shape) const;

 private:
  DataType dtype_;
  std::vector<int64_t> shape_;
  NDArray here_;
  std::shared_ptr<DeviceValue> there_;
};

using PlacedArrays = std::vector<PlacedArray>;

// The elements of all of them.
absl::StatusOr<std::vector<NDArray>> Here(const PlacedArrays& arrays);

}  // namespace tilewright::graph
