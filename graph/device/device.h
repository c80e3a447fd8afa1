// A machine with memory of its own that runs the kernels of a graph: a GPU, or the emulator of one.
//
//   TW_ASSIGN_OR_RETURN(std::shared_ptr<Device> device, EmulatedGpu());
//   TW_ASSIGN_OR_RETURN(DeviceMemory weights, DeviceMemory::Allocate(device, bytes, "the constants"));
//   TW_RETURN_IF_ERROR(device->CopyIn(weights.data(), constants, bytes));
//   TW_ASSIGN_OR_RETURN(std::unique_ptr<Launches> launches, device->Prepare(std::move(calls)));
//   TW_RETURN_IF_ERROR(launches->Run());                       // again and again
//
// Everything that a run needs is worked out before: memory, arguments, grids, tensor maps. A run copies its inputs,
// starts the launches, on a GPU as one graph, and copies its results. The CPU of this process is not a device in this
// sense: a run there calls function by function on the caller's own memory (graph/executor/bound_plan.h).
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "codegen/abi/tensor_abi.h"
#include "codegen/cuda/prepared_call.h"

namespace tilewright::graph {

// What a device was asked for, so that tests see what a run costs.
struct DeviceCounts {
  int64_t allocations = 0;
  int64_t copies_in = 0, copies_out = 0;
  int64_t copies_within = 0;  // from its memory to its memory
  int64_t launches = 0;       // of kernels, those inside of graphs included
  int64_t runs = 0;           // of Launches
  bool operator==(const DeviceCounts&) const = default;
  // What was counted since `before`.
  DeviceCounts operator-(const DeviceCounts& before) const;
};

// A call of a kernel's function whose arguments stay as they are.
struct DeviceCall {
  std::string name;  // of the value that it computes, for errors
  std::unique_ptr<cuda::PreparedCall> call;
};

// Calls in order.
class Launches {
 public:
  virtual ~Launches() = default;
  // Returns when the work is done. An error names the call.
  virtual absl::Status Run() = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual std::string name() const = 0;
  // Whether kernels are emulated: they are then compiled for the emulator.
  virtual bool is_emulated() const = 0;
  // The place of the device's tensors, as functions are told.
  virtual TwDevice place() const = 0;

  // 256-byte aligned. `what` completes "no memory on DEVICE for N bytes of ...".
  absl::StatusOr<void*> Allocate(int64_t bytes, absl::string_view what);
  virtual void Free(void* memory) = 0;
  absl::Status CopyIn(void* to, const void* from, int64_t bytes);
  absl::Status CopyOut(void* to, const void* from, int64_t bytes);
  absl::Status CopyWithin(void* to, const void* from, int64_t bytes);
  // The calls on memory of this device.
  virtual std::unique_ptr<Launches> Prepare(std::vector<DeviceCall> calls) = 0;

  DeviceCounts counts() const;
  // Several threads may count.
  void Count(int64_t DeviceCounts::* what, int64_t number = 1);

 protected:
  virtual void* DoAllocate(int64_t bytes) = 0;
  virtual bool DoCopyIn(void* to, const void* from, int64_t bytes) = 0;
  virtual bool DoCopyOut(void* to, const void* from, int64_t bytes) = 0;
  virtual bool DoCopyWithin(void* to, const void* from, int64_t bytes) = 0;

 private:
  mutable std::mutex mutex_;
  DeviceCounts counts_;
};

// Memory of a device that is freed with the object.
class DeviceMemory {
 public:
  static absl::StatusOr<DeviceMemory> Allocate(std::shared_ptr<Device> device, int64_t bytes, absl::string_view what);
  DeviceMemory() = default;
  DeviceMemory(DeviceMemory&& other) noexcept;
  DeviceMemory& operator=(DeviceMemory&& other) noexcept;
  ~DeviceMemory();

  std::byte* data() const { return data_; }

 private:
  std::shared_ptr<Device> device_;
  std::byte* data_ = nullptr;
};

// The emulator of GPUs, in the memory of this process (docs/cuda_emulator.md).
absl::StatusOr<std::shared_ptr<Device>> EmulatedGpu();
// This machine's GPU; an error says that there is none.
absl::StatusOr<std::shared_ptr<Device>> Gpu();

}  // namespace tilewright::graph
