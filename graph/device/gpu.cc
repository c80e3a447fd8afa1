#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/cuda/driver.h"
#include "codegen/cuda/graph_runs.h"
#include "graph/device/device.h"

namespace tilewright::graph {
namespace {

using cuda::DeviceStatus;
using cuda::Driver;

// The first run starts call by call, since the driver loads kernels when they are first started, which a capture does
// not allow. Then the calls become one graph, which further runs start.
class GraphLaunches : public Launches {
 public:
  GraphLaunches(const Driver& driver, std::vector<DeviceCall> calls, Device* device)
      : driver_(driver), calls_(std::move(calls)), device_(*device) {
    for (const DeviceCall& call : calls_) launches_ += call.call->launches();
  }
  ~GraphLaunches() override {
    driver_.MakeCurrent();
    if (graph_ != nullptr) driver_.DestroyGraph(graph_);
    if (stream_ != nullptr) driver_.DestroyStream(stream_);
  }

  absl::Status Run() override {
    driver_.MakeCurrent();
    device_.Count(&DeviceCounts::runs);
    device_.Count(&DeviceCounts::launches, launches_);
    if (graph_ == nullptr) return First();
    if (absl::Status status = Status(driver_.LaunchGraph(graph_, stream_), "start of the graph"); !status.ok()) {
      return status;
    }
    return Status(driver_.Synchronize(stream_), "the graph");
  }

 private:
  absl::Status Status(int code, const char* what) const { return DeviceStatus(driver_, code, what); }

  absl::Status Start(void* stream) {
    for (const DeviceCall& call : calls_) {
      if (absl::Status status = call.call->Start(stream); !status.ok()) {
        return absl::Status(status.code(), absl::StrCat("value ", call.name, ": ", status.message()));
      }
    }
    return absl::OkStatus();
  }

  absl::Status First() {
    if (stream_ == nullptr) {
      if (absl::Status status = Status(driver_.CreateStream(&stream_), "a stream"); !status.ok()) return status;
    }
    if (absl::Status status = Start(stream_); !status.ok()) return status;
    if (absl::Status status = Status(driver_.Synchronize(stream_), "the first run"); !status.ok()) return status;
    if (launches_ == 0) return absl::OkStatus();
    if (absl::Status status = Status(driver_.BeginCapture(stream_), "capture"); !status.ok()) return status;
    const absl::Status started = Start(stream_);
    // The capture ends after an error too.
    const absl::Status ended = Status(driver_.EndCapture(stream_, &graph_), "capture");
    return started.ok() ? ended : started;
  }

  const Driver& driver_;
  const std::vector<DeviceCall> calls_;
  Device& device_;
  int64_t launches_ = 0;
  void *stream_ = nullptr, *graph_ = nullptr;
};

class CudaGpu : public Device {
 public:
  explicit CudaGpu(const Driver& driver) : driver_(driver) {}

  std::string name() const override { return driver_.device_name(); }
  bool is_emulated() const override { return false; }
  TwDevice place() const override { return {kTwCuda, 0}; }
  void Free(void* memory) override {
    driver_.MakeCurrent();
    driver_.Free(memory);
  }
  std::unique_ptr<Launches> Prepare(std::vector<DeviceCall> calls) override {
    return std::make_unique<GraphLaunches>(driver_, std::move(calls), this);
  }

 protected:
  void* DoAllocate(int64_t bytes) override {
    driver_.MakeCurrent();
    void* memory = nullptr;
    return driver_.Allocate(static_cast<size_t>(bytes), &memory) == 0 ? memory : nullptr;
  }
  bool DoCopyIn(void* to, const void* from, int64_t bytes) override {
    driver_.MakeCurrent();
    return driver_.CopyToDevice(to, from, static_cast<size_t>(bytes)) == 0;
  }
  bool DoCopyOut(void* to, const void* from, int64_t bytes) override {
    driver_.MakeCurrent();
    return driver_.CopyToHost(to, from, static_cast<size_t>(bytes)) == 0;
  }
  // Waits for the copy: launches are in streams of their own.
  bool DoCopyWithin(void* to, const void* from, int64_t bytes) override {
    driver_.MakeCurrent();
    return driver_.Copy(to, from, static_cast<size_t>(bytes), /*stream=*/nullptr) == 0 &&
           driver_.Synchronize(nullptr) == 0;
  }

 private:
  const Driver& driver_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<Device>> Gpu() {
  std::string error;
  const Driver* driver = Driver::Open(&error);
  if (driver == nullptr) return absl::FailedPreconditionError(error);
  return std::make_shared<CudaGpu>(*driver);
}

}  // namespace tilewright::graph
