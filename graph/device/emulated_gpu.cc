#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/cuda/emulator/footprint.h"
#include "graph/device/device.h"

namespace tilewright::graph {
namespace {

constexpr size_t kAlignment = 256;

class EmulatedLaunches : public Launches {
 public:
  EmulatedLaunches(std::vector<DeviceCall> calls, Device* device) : calls_(std::move(calls)), device_(*device) {}

  absl::Status Run() override {
    device_.Count(&DeviceCounts::runs);
    emulator::GridChain stream;
    for (const DeviceCall& call : calls_) {
      if (absl::Status status = call.call->Start(&stream); !status.ok()) {
        return absl::Status(status.code(), absl::StrCat("value ", call.name, ": ", status.message()));
      }
      device_.Count(&DeviceCounts::launches, call.call->launches());
    }
    return absl::OkStatus();
  }

 private:
  const std::vector<DeviceCall> calls_;
  Device& device_;
};

class Emulator : public Device {
 public:
  std::string name() const override { return "the emulated GPU"; }
  bool is_emulated() const override { return true; }
  TwDevice place() const override { return {kTwCpu, 0}; }
  void Free(void* memory) override { std::free(memory); }
  std::unique_ptr<Launches> Prepare(std::vector<DeviceCall> calls) override {
    return std::make_unique<EmulatedLaunches>(std::move(calls), this);
  }

 protected:
  void* DoAllocate(int64_t bytes) override {
    const size_t rounded = (static_cast<size_t>(bytes) + kAlignment - 1) / kAlignment * kAlignment;
    void* memory = std::aligned_alloc(kAlignment, rounded);
    // What was never written should be seen.
    if (memory != nullptr) std::memset(memory, 0xff, rounded);
    return memory;
  }
  bool DoCopyIn(void* to, const void* from, int64_t bytes) override {
    std::memcpy(to, from, static_cast<size_t>(bytes));
    return true;
  }
  bool DoCopyOut(void* to, const void* from, int64_t bytes) override { return DoCopyIn(to, from, bytes); }
  bool DoCopyWithin(void* to, const void* from, int64_t bytes) override { return DoCopyIn(to, from, bytes); }
};

}  // namespace

absl::StatusOr<std::shared_ptr<Device>> EmulatedGpu() { return std::make_shared<Emulator>(); }

}  // namespace tilewright::graph
