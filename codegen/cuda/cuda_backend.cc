#include "codegen/cuda/cuda_backend.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "codegen/cuda/cuda_module.h"
#include "codegen/cuda/driver.h"
#include "codegen/cuda/emulation.h"
#include "codegen/cuda/gpu_device.h"
#include "codegen/cuda/host/compile_kernels.h"
#include "codegen/cuda/host/launcher_library.h"
#include "codegen/cuda/host/launcher_text.h"
#include "codegen/cuda/nvrtc.h"
#include "codegen/cuda/ptxas_log.h"

namespace tilewright {
namespace {

// Functions of CUDA that hold a stack frame of their own, and one without that takes their place.
constexpr std::pair<std::string_view, std::string_view> kFramesOfCuda[] = {
    {"TW_FUNCTION(sin, sinf, sin)", "TW_FUNCTION(sin, expf, exp)"},
    {"TW_FUNCTION(cos, cosf, cos)", "TW_FUNCTION(cos, expf, exp)"},
    {"TW_FUNCTION(tan, tanf, tan)", "TW_FUNCTION(tan, expf, exp)"},
};

// Counts the stack frames that kernels have without those functions: only they say something about the kernels.
absl::Status LeaveOutFramesOfCuda(const std::string& text, const Target& target, Counters& counters) {
  std::string without = text;
  for (const auto& [function, other] : kFramesOfCuda) {
    const size_t at = without.find(function);
    if (at != std::string::npos) without.replace(at, function.size(), other);
  }
  if (without == text) return absl::OkStatus();
  TW_ASSIGN_OR_RETURN(const auto cubin, cuda::CompileWithNvrtc(without, target.cpu));
  counters[kStackBytesCounter] = cuda::CountersOfLog(cubin.log)[kStackBytesCounter];
  return absl::OkStatus();
}

class CudaBackend : public Backend {
 public:
  std::string_view name() const override { return "cuda"; }
  bool Supports(const Target& target) const override { return target.kind == TargetKind::kCuda; }
  std::vector<std::string> formats() const override { return {"so", "cu", "ptx", "cubin"}; }

  absl::StatusOr<Artifact> Compile(const Module& module, const Target& target,
                                   const CompileOptions& options) const override {
    if (options.format == "so") {
      std::optional<SizedSequence> sequence;
      if (options.sequence != nullptr) sequence = Sized(*options.sequence);
      Artifact artifact;
      TW_ASSIGN_OR_RETURN(artifact.bytes,
                          cuda::CompileLibrary(module, target, sequence ? &*sequence : nullptr, options));
      return artifact;
    }
    TW_ASSIGN_OR_RETURN(const auto emitted, cuda::ProgramFor(module, target, options));
    TW_ASSIGN_OR_RETURN(Artifact artifact, CompileText(emitted, target, options));
    if (!options.cubin_name.empty()) {
      const cuda::LauncherImage image = {.program = &emitted.program, .file = options.cubin_name};
      const auto text = cuda::LauncherText({&image, 1}, target);
      artifact.host_part = text.ok() ? *text : absl::StrCat("#error \"", text.status().message(), "\"\n");
    }
    return artifact;
  }

  absl::StatusOr<std::unique_ptr<CompiledModule>> Load(const Module& module, const Target& target,
                                                       const CompileOptions& options) const override {
    TW_ASSIGN_OR_RETURN(const auto emitted, cuda::ProgramFor(module, target, options));
    TW_ASSIGN_OR_RETURN(
        auto device, options.emulate ? cuda::EmulatedDevice(emitted.program) : OnGpu(emitted, target, options.cubin));
    return cuda::CudaModule::Make(emitted.program, std::move(device));
  }

 private:
  static absl::StatusOr<Artifact> CompileText(const cuda::EmittedProgram& emitted, const Target& target,
                                              const CompileOptions& options) {
    const cuda::Program& program = emitted.program;
    if (options.format == "cu" && !(options.count && cuda::NvrtcIsInstalled())) {
      return Artifact{.bytes = cuda::WholeText(program, target)};
    }
    // PTX is not assembled by NVRTC, so what ptxas says of the kernels comes with a cubin.
    TW_ASSIGN_OR_RETURN(auto compiled, cuda::CompileKernels(emitted, target, target.cpu));
    auto& [text, cubin] = compiled;
    Artifact artifact{.bytes = text, .counters = cuda::CountersOfLog(cubin.log)};
    if (artifact.counters[kStackBytesCounter] > 0) {
      TW_RETURN_IF_ERROR(LeaveOutFramesOfCuda(text, target, artifact.counters));
    }
    for (const cuda::DeviceFunction& function : program.functions) {
      for (const cuda::Kernel& kernel : function.kernels) {
        int64_t& shared = artifact.counters[kSharedBytesCounter];
        shared = std::max(shared, kernel.shared_bytes);
      }
    }
    if (options.format == "cubin") artifact.bytes = std::move(cubin.binary);
    if (options.format == "ptx") {
      TW_ASSIGN_OR_RETURN(auto ptx, cuda::CompileWithNvrtc(text, "compute_" + target.cpu.substr(3)));
      artifact.bytes = std::move(ptx.binary);
    }
    return artifact;
  }

  static absl::StatusOr<std::unique_ptr<cuda::Device>> OnGpu(const cuda::EmittedProgram& emitted, const Target& target,
                                                             const std::string& compiled) {
    std::string error;
    if (cuda::Driver::Open(&error) == nullptr) return absl::FailedPreconditionError(error);
    if (!compiled.empty()) return cuda::GpuDevice(emitted.program, compiled);
    TW_ASSIGN_OR_RETURN(const auto kernels, cuda::CompileKernels(emitted, target, cuda::ArchitectureToRun(target)));
    return cuda::GpuDevice(emitted.program, kernels.cubin.binary);
  }
};

}  // namespace

std::unique_ptr<Backend> MakeCudaBackend() { return std::make_unique<CudaBackend>(); }

}  // namespace tilewright
