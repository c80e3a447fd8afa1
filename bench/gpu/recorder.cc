#include "bench/gpu/recorder.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tilewright::gpu {

Recorder::Recorder(cuda::Device* device, const cuda::Program& program, std::vector<CaseArray>* arrays,
                   std::vector<CaseLaunch>* launches)
    : device_(device), arrays_(arrays), launches_(launches), next_(reinterpret_cast<char*>(uintptr_t{1} << 60)) {
  for (const cuda::DeviceFunction& function : program.functions) {
    for (const cuda::Kernel& kernel : function.kernels) kernels_.push_back(&kernel);
  }
}
Recorder::~Recorder() = default;

TwDeviceType Recorder::type() const { return device_ != nullptr ? device_->type() : kTwCpu; }

absl::Status Recorder::Launch(const cuda::LaunchArguments& arguments) {
  const cuda::Kernel& kernel = *kernels_[arguments.kernel];
  CaseLaunch launch{kernel.name, arguments.grid, arguments.block, arguments.shared_bytes, {}};
  size_t map = 0;
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    CaseParam param;
    if (kernel.params[i].map) {
      param.kind = CaseParam::kMap;
      param.map = maps_[map++];
      param.array = Number(param.map.address, arguments);
    } else if (kernel.params[i].buffer) {
      param.array = Number(*static_cast<void**>(arguments.params[i]), arguments);
    } else {
      param.kind = CaseParam::kScalar;
      std::memcpy(param.bits, arguments.params[i], sizeof(int64_t));
    }
    launch.params.push_back(param);
  }
  launches_->push_back(std::move(launch));
  maps_.clear();
  return device_ != nullptr ? device_->Launch(arguments) : absl::OkStatus();
}

absl::Status Recorder::Encode(const cuda::TensorMapSpec& spec, cuda::EncodedTensorMap* map) {
  maps_.push_back(spec);
  return device_ != nullptr ? device_->Encode(spec, map) : absl::OkStatus();
}

void* Recorder::Allocate(int64_t bytes, void* stream) {
  if (device_ != nullptr) return device_->Allocate(bytes, stream);
  return std::exchange(next_, next_ + (bytes + 255) / 256 * 256);
}
void Recorder::Free(void* memory, void* stream) {
  if (device_ != nullptr) device_->Free(memory, stream);
}
bool Recorder::CopyIn(void* to, const void* from, int64_t bytes) {
  return device_ != nullptr && device_->CopyIn(to, from, bytes);
}
bool Recorder::CopyOut(void* to, const void* from, int64_t bytes) {
  return device_ != nullptr && device_->CopyOut(to, from, bytes);
}

size_t Recorder::Number(const void* data, const cuda::LaunchArguments& arguments) {
  const auto known = std::ranges::find(addresses_, data);
  if (known != addresses_.end()) return static_cast<size_t>(known - addresses_.begin());
  for (const cuda::ArrayArgument& array : arguments.arrays) {
    if (array.data != data) continue;
    addresses_.push_back(data);
    arrays_->push_back({*array.name, "uint8", array.bytes, -1, -1});
    return addresses_.size() - 1;
  }
  return 0;
}

}  // namespace tilewright::gpu
