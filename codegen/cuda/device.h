// A device on which kernels run: a GPU, or the emulator.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "codegen/abi/tensor_abi.h"
#include "codegen/cuda/driver.h"

namespace tilewright::cuda {

// Memory that a kernel may touch.
struct ArrayArgument {
  const std::string* name = nullptr;
  void* data = nullptr;
  int64_t bytes = 0;
  bool written = false;
  bool constant = false;  // in all calls
};

struct LaunchArguments {
  size_t kernel = 0;  // among those of the program
  std::array<uint32_t, 3> grid, block, cluster;
  uint32_t shared_bytes = 0;
  bool dependent = false;   // may begin before the kernel in front of it has ended
  bool first = false;       // of a call: what ran before may have written constants
  void** params = nullptr;  // the address of each parameter's value
  std::span<const ArrayArgument> arrays;
  void* stream = nullptr;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual TwDeviceType type() const = 0;
  virtual absl::Status Launch(const LaunchArguments& arguments) = 0;
  // A map of memory of the device for bulk copies, of those that are not im2col.
  virtual absl::Status Encode(const TensorMapSpec& spec, EncodedTensorMap* map) = 0;
  // Waits for what was launched without a stream.
  virtual absl::Status Finish() { return absl::OkStatus(); }
  // Memory for temporaries, 256-byte aligned; null when there is none. Ordered like launches.
  virtual void* Allocate(int64_t bytes, void* stream) = 0;
  virtual void Free(void* memory, void* stream) = 0;
  // Between the host's memory and the device's; false where that fails.
  virtual bool CopyIn(void* to, const void* from, int64_t bytes) = 0;
  virtual bool CopyOut(void* to, const void* from, int64_t bytes) = 0;
};

}  // namespace tilewright::cuda
