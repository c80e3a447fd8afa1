// Calls on a GPU, timed by its own clock.
//
// One call for each set of inputs, repeated where that is little, becomes a CUDA graph: nothing of the host's work on a
// call is timed, and kernels follow each other as they do in a program. A sample is the time from before to after one
// launch of the graph, by events, divided by the number of its calls.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "codegen/cuda/driver.h"

namespace tilewright::cuda {

// Memory of a GPU.
class DeviceArray {
 public:
  static absl::StatusOr<DeviceArray> Allocate(const Driver& driver, int64_t bytes);
  static absl::StatusOr<DeviceArray> CopyOf(const Driver& driver, const void* from, int64_t bytes);
  DeviceArray(DeviceArray&& other) noexcept;
  DeviceArray& operator=(DeviceArray&& other) noexcept;
  ~DeviceArray();

  void* data() const { return data_; }
  int64_t bytes() const { return bytes_; }
  absl::Status CopyTo(void* to) const;
  void Fill(uint8_t byte) const;

 private:
  DeviceArray(const Driver& driver, void* data, int64_t bytes) : driver_(&driver), data_(data), bytes_(bytes) {}

  const Driver* driver_;
  void* data_;
  int64_t bytes_;
};

class GraphRuns {
 public:
  // Puts the work of a call on a set into a stream.
  using Call = std::function<absl::Status(int set, void* stream)>;

  static absl::StatusOr<std::unique_ptr<GraphRuns>> Record(const Driver& driver, int num_sets, const Call& call);
  ~GraphRuns();
  GraphRuns(const GraphRuns&) = delete;
  GraphRuns& operator=(const GraphRuns&) = delete;

  // One launch, in milliseconds a call; negative when the device reports an error.
  double LaunchOnce();

 private:
  explicit GraphRuns(const Driver& driver) : driver_(driver) {}
  absl::Status Make(int num_sets, const Call& call);

  const Driver& driver_;
  void *stream_ = nullptr, *begin_ = nullptr, *end_ = nullptr, *graph_ = nullptr;
  int calls_ = 0;
};

// A code of CUDA as a status.
absl::Status DeviceStatus(const Driver& driver, int code, const char* what);

}  // namespace tilewright::cuda
