// A device that writes down launches, with the arrays by number, and hands them on to another one or to none.
#pragma once

#include <vector>

#include "bench/gpu/case_file.h"
#include "codegen/cuda/device.h"
#include "codegen/cuda/program.h"

namespace tilewright::gpu {

class Recorder : public cuda::Device {
 public:
  // Launches go to `launches`, temporaries behind the arrays that are known. `device`: null to run nothing.
  Recorder(cuda::Device* device, const cuda::Program& program, std::vector<CaseArray>* arrays,
           std::vector<CaseLaunch>* launches);
  ~Recorder() override;

  void WriteTo(std::vector<CaseLaunch>* launches) { launches_ = launches; }
  // The address of an array of the case, in their order.
  void Know(const void* data) { addresses_.push_back(data); }

  TwDeviceType type() const override;
  absl::Status Launch(const cuda::LaunchArguments& arguments) override;
  absl::Status Encode(const cuda::TensorMapSpec& spec, cuda::EncodedTensorMap* map) override;
  void* Allocate(int64_t bytes, void* stream) override;
  void Free(void* memory, void* stream) override;
  bool CopyIn(void* to, const void* from, int64_t bytes) override;
  bool CopyOut(void* to, const void* from, int64_t bytes) override;

 private:
  size_t Number(const void* data, const cuda::LaunchArguments& arguments);

  cuda::Device* device_;
  std::vector<CaseArray>* arrays_;
  std::vector<CaseLaunch>* launches_;
  std::vector<const cuda::Kernel*> kernels_;
  std::vector<const void*> addresses_;
  std::vector<cuda::TensorMapSpec> maps_;  // of the launch that comes
  char* next_ = nullptr;                   // an address that nothing has
};

}  // namespace tilewright::gpu
