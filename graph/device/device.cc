#include "graph/device/device.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tilewright::graph {

absl::StatusOr<void*> Device::Allocate(int64_t bytes, absl::string_view what) {
  Count(&DeviceCounts::allocations);
  if (void* memory = DoAllocate(std::max<int64_t>(bytes, 1))) return memory;
  return absl::ResourceExhaustedError(absl::StrCat("no memory on ", name(), " for ", bytes, " bytes of ", what));
}

absl::Status Device::CopyIn(void* to, const void* from, int64_t bytes) {
  if (bytes == 0) return absl::OkStatus();
  Count(&DeviceCounts::copies_in);
  if (DoCopyIn(to, from, bytes)) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(name(), ": ", bytes, " bytes cannot be copied to it"));
}

absl::Status Device::CopyOut(void* to, const void* from, int64_t bytes) {
  if (bytes == 0) return absl::OkStatus();
  Count(&DeviceCounts::copies_out);
  if (DoCopyOut(to, from, bytes)) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(name(), ": ", bytes, " bytes cannot be copied from it"));
}

absl::Status Device::CopyWithin(void* to, const void* from, int64_t bytes) {
  if (bytes == 0) return absl::OkStatus();
  Count(&DeviceCounts::copies_within);
  if (DoCopyWithin(to, from, bytes)) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(name(), ": ", bytes, " bytes cannot be copied within its memory"));
}

DeviceCounts DeviceCounts::operator-(const DeviceCounts& before) const {
  return {.allocations = allocations - before.allocations,
          .copies_in = copies_in - before.copies_in,
          .copies_out = copies_out - before.copies_out,
          .copies_within = copies_within - before.copies_within,
          .launches = launches - before.launches,
          .runs = runs - before.runs};
}

DeviceCounts Device::counts() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return counts_;
}

void Device::Count(int64_t DeviceCounts::* what, int64_t number) {
  const std::lock_guard<std::mutex> lock(mutex_);
  counts_.*what += number;
}

absl::StatusOr<DeviceMemory> DeviceMemory::Allocate(std::shared_ptr<Device> device, int64_t bytes,
                                                    absl::string_view what) {
  absl::StatusOr<void*> data = device->Allocate(bytes, what);
  if (!data.ok()) return data.status();
  DeviceMemory memory;
  memory.device_ = std::move(device);
  memory.data_ = static_cast<std::byte*>(*data);
  return memory;
}

DeviceMemory::DeviceMemory(DeviceMemory&& other) noexcept
    : device_(std::move(other.device_)), data_(std::exchange(other.data_, nullptr)) {}

DeviceMemory& DeviceMemory::operator=(DeviceMemory&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(data_, other.data_);
  return *this;
}

DeviceMemory::~DeviceMemory() {
  if (data_ != nullptr) device_->Free(data_);
}

}  // namespace tilewright::graph
