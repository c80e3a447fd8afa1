#include "codegen/cuda/gpu_device.h"

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "codegen/cuda/driver.h"

namespace tilewright::cuda {
namespace {

class Gpu : public Device {
 public:
  explicit Gpu(const Driver& driver) : driver_(driver) {}
  ~Gpu() override {
    if (module_ != nullptr) driver_.UnloadModule(module_);
  }

  absl::Status Load(const Program& program, const std::string& cubin) {
    if (const int code = driver_.LoadModule(cubin.data(), &module_); code != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(driver_.device_name(), " refuses the kernels: ", driver_.Text(code)));
    }
    for (const DeviceFunction& function : program.functions) {
      for (const Kernel& kernel : function.kernels) {
        void* found = nullptr;
        const auto shared = static_cast<uint32_t>(kernel.shared_bytes);
        if (const int code = driver_.FindKernel(module_, kernel.name.c_str(), shared, &found); code != 0) {
          return absl::InvalidArgumentError(absl::StrCat(kernel.name, ": ", driver_.Text(code)));
        }
        kernels_.push_back(found);
      }
    }
    return absl::OkStatus();
  }

  TwDeviceType type() const override { return kTwCuda; }

  absl::Status Launch(const LaunchArguments& arguments) override {
    const int code = driver_.Launch(kernels_[arguments.kernel], arguments.grid, arguments.block, arguments.shared_bytes,
                                    arguments.stream, arguments.params, arguments.dependent && !arguments.first);
    return code == 0 ? absl::OkStatus() : absl::InternalError(driver_.Text(code));
  }
  absl::Status Finish() override {
    const int code = driver_.Synchronize(nullptr);
    return code == 0 ? absl::OkStatus() : absl::InternalError(driver_.Text(code));
  }

  absl::Status Encode(const TensorMapSpec& spec, EncodedTensorMap* map) override {
    const int code = driver_.Encode(spec, map);
    return code == 0 ? absl::OkStatus() : absl::InvalidArgumentError(driver_.Text(code));
  }

  void* Allocate(int64_t bytes, void* /*stream*/) override {
    void* memory = nullptr;
    return driver_.Allocate(static_cast<size_t>(bytes), &memory) == 0 ? memory : nullptr;
  }
  // Waits for the work that uses it.
  void Free(void* memory, void* /*stream*/) override { driver_.Free(memory); }

  bool CopyIn(void* to, const void* from, int64_t bytes) override {
    return driver_.CopyToDevice(to, from, static_cast<size_t>(bytes)) == 0;
  }
  bool CopyOut(void* to, const void* from, int64_t bytes) override {
    return driver_.CopyToHost(to, from, static_cast<size_t>(bytes)) == 0;
  }

 private:
  const Driver& driver_;
  void* module_ = nullptr;
  std::vector<void*> kernels_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Device>> GpuDevice(const Program& program, const std::string& cubin) {
  std::string error;
  const Driver* driver = Driver::Open(&error);
  if (driver == nullptr) return absl::FailedPreconditionError(error);
  driver->MakeCurrent();
  auto gpu = std::make_unique<Gpu>(*driver);
  TW_RETURN_IF_ERROR(gpu->Load(program, cubin));
  return gpu;
}

namespace {

// The number and the suffix in the name of an architecture: 90 and true for "sm_90a", whose code runs on no other one.
struct Architecture {
  int capability = 0;
  bool exact = false;
};
std::optional<Architecture> ArchitectureOf(std::string_view name) {
  Architecture found{.exact = name.ends_with("a")};
  if (found.exact) name.remove_suffix(1);
  const std::string_view digits = name.substr(name.find('_') + 1);
  if (!absl::SimpleAtoi(std::string(digits), &found.capability)) return std::nullopt;
  return found;
}

}  // namespace

absl::Status CheckGpuRuns(const Target& target) {
  std::string error;
  const Driver* driver = Driver::Open(&error);
  if (driver == nullptr) return absl::FailedPreconditionError(error);
  const std::optional<Architecture> wanted = ArchitectureOf(target.cpu);
  if (!wanted) return absl::InvalidArgumentError(absl::StrCat(target.name, " is not a target of CUDA"));
  const int has = driver->compute_capability();
  // Machine code runs on later machines of the same generation.
  const bool runs =
      has == wanted->capability || (!wanted->exact && has / 10 == wanted->capability / 10 && has > wanted->capability);
  if (runs) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("this machine's ", driver->device_name(), " (sm_", has, ") does not run code for ", target.name));
}

std::string ArchitectureToRun(const Target& target) {
  std::string error;
  const Driver* driver = Driver::Open(&error);
  const std::optional<Architecture> wanted = ArchitectureOf(target.cpu);
  const bool later = driver != nullptr && wanted && driver->compute_capability() > wanted->capability;
  return later && !wanted->exact ? absl::StrCat("sm_", driver->compute_capability()) : target.cpu;
}

std::string DeviceName() {
  std::string error;
  const Driver* driver = Driver::Open(&error);
  return driver == nullptr ? "" : driver->device_name();
}

}  // namespace tilewright::cuda
