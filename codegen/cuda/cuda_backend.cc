#include "codegen/cuda/cuda_backend.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/cuda/cuda_module.h"
#include "codegen/cuda/driver.h"
#include "codegen/cuda/emit_program.h"
#include "codegen/cuda/emulation.h"
#include "codegen/cuda/gpu_device.h"
#include "codegen/cuda/nvrtc.h"
#include "codegen/cuda/preamble.h"
#include "codegen/cuda/ptxas_log.h"
#include "codegen/lower/pipeline.h"

namespace tilewright {
namespace {

absl::StatusOr<cuda::Program> ProgramFor(const Module& module, const Target& target, const CompileOptions& options) {
  const auto lowered = Lower(module, target, {.after_pass = options.after_pass});
  if (!lowered.ok()) return lowered.status();
  return cuda::EmitProgram(*lowered, target);
}

// Kernels as NVRTC compiles them.
struct Compiled {
  std::string text;
  cuda::NvrtcResult cubin;
};
// Kernels that spill are compiled with more registers, and then with loops over addresses as the compiler likes; the first
// of these that spills least is taken.
absl::StatusOr<Compiled> CompileKernels(const cuda::Program& program, const std::string& architecture) {
  const std::string text = cuda::PreambleFor(program.text) + program.text;
  auto cubin = cuda::CompileWithNvrtc(text, architecture);
  if (!cubin.ok()) return cubin.status();
  Compiled best{text, *std::move(cubin)};
  const auto spills = [](const cuda::NvrtcResult& result) {
    return cuda::CountersOfLog(result.log)[kSpillBytesCounter];
  };
  for (const std::string& other : {text, cuda::WithoutUnrolledAddresses(text)}) {
    if (spills(best.cubin) == 0) break;
    auto again = cuda::CompileWithNvrtc(other, architecture, /*many_registers=*/true);
    if (again.ok() && spills(*again) < spills(best.cubin)) best = {other, *std::move(again)};
  }
  return best;
}

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
  const auto cubin = cuda::CompileWithNvrtc(without, target.cpu);
  if (!cubin.ok()) return cubin.status();
  counters[kStackBytesCounter] = cuda::CountersOfLog(cubin->log)[kStackBytesCounter];
  return absl::OkStatus();
}

class CudaBackend : public Backend {
 public:
  std::string_view name() const override { return "cuda"; }
  bool Supports(const Target& target) const override { return target.kind == TargetKind::kCuda; }
  std::vector<std::string> formats() const override { return {"cu", "ptx", "cubin"}; }

  absl::StatusOr<Artifact> Compile(const Module& module, const Target& target,
                                   const CompileOptions& options) const override {
    auto program = ProgramFor(module, target, options);
    if (!program.ok()) return program.status();
    if (options.format == "cu" && !(options.count && cuda::NvrtcIsInstalled())) {
      return Artifact{.bytes = cuda::PreambleFor(program->text) + program->text};
    }
    // PTX is not assembled by NVRTC, so what ptxas says of the kernels comes with a cubin.
    auto compiled = CompileKernels(*program, target.cpu);
    if (!compiled.ok()) return compiled.status();
    auto& [text, cubin] = *compiled;
    Artifact artifact{.bytes = text, .counters = cuda::CountersOfLog(cubin.log)};
    if (artifact.counters[kStackBytesCounter] > 0) {
      if (absl::Status status = LeaveOutFramesOfCuda(text, target, artifact.counters); !status.ok()) return status;
    }
    for (const cuda::DeviceFunction& function : program->functions) {
      for (const cuda::Kernel& kernel : function.kernels) {
        int64_t& shared = artifact.counters[kSharedBytesCounter];
        shared = std::max(shared, kernel.shared_bytes);
      }
    }
    if (options.format == "cubin") artifact.bytes = std::move(cubin.binary);
    if (options.format == "ptx") {
      auto ptx = cuda::CompileWithNvrtc(text, "compute_" + target.cpu.substr(3));
      if (!ptx.ok()) return ptx.status();
      artifact.bytes = std::move(ptx->binary);
    }
    return artifact;
  }

  absl::StatusOr<std::unique_ptr<CompiledModule>> Load(const Module& module, const Target& target,
                                                       const CompileOptions& options) const override {
    const auto program = ProgramFor(module, target, options);
    if (!program.ok()) return program.status();
    auto device = options.emulate ? cuda::EmulatedDevice(*program) : OnGpu(*program, target, options.cubin);
    if (!device.ok()) return device.status();
    return cuda::CudaModule::Make(*program, *std::move(device));
  }

 private:
  static absl::StatusOr<std::unique_ptr<cuda::Device>> OnGpu(const cuda::Program& program, const Target& target,
                                                             const std::string& compiled) {
    std::string error;
    if (cuda::Driver::Open(&error) == nullptr) return absl::FailedPreconditionError(error);
    if (!compiled.empty()) return cuda::GpuDevice(program, compiled);
    const auto kernels = CompileKernels(program, cuda::ArchitectureToRun(target));
    if (!kernels.ok()) return kernels.status();
    return cuda::GpuDevice(program, kernels->cubin.binary);
  }
};

}  // namespace

std::unique_ptr<Backend> MakeCudaBackend() { return std::make_unique<CudaBackend>(); }

}  // namespace tilewright
