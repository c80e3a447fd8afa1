#include "codegen/cuda/cuda_backend.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
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

struct EmittedProgram {
  cuda::Program program;
  std::string shorter;  // its kernels with loops over addresses as the compiler likes
};
absl::StatusOr<EmittedProgram> ProgramFor(const Module& module, const Target& target, const CompileOptions& options) {
  TW_ASSIGN_OR_RETURN(const auto lowered, Lower(module, target, {.after_pass = options.after_pass}));
  TW_ASSIGN_OR_RETURN(auto program, cuda::EmitProgram(lowered, target));
  TW_ASSIGN_OR_RETURN(auto shorter, cuda::EmitProgram(lowered, target, {.unroll_addresses = false}));
  return EmittedProgram{std::move(program), std::move(shorter.text)};
}

// Kernels as NVRTC compiles them.
struct Compiled {
  std::string text;
  cuda::NvrtcResult cubin;
};
// The preamble before the program's text.
std::string PreambleOf(const cuda::Program& program, const Target& target) {
  return cuda::PreambleFor(program.text, target.has("cvt.x2"));
}
std::string WholeText(const cuda::Program& program, const Target& target) {
  return PreambleOf(program, target) + program.text;
}

// Kernels that spill are compiled with more registers, and then with loops over addresses as the compiler likes; the
// first of these that spills least is taken.
absl::StatusOr<Compiled> CompileKernels(const EmittedProgram& emitted, const Target& target,
                                        const std::string& architecture) {
  const std::string preamble = PreambleOf(emitted.program, target), text = preamble + emitted.program.text;
  TW_ASSIGN_OR_RETURN(auto cubin, cuda::CompileWithNvrtc(text, architecture));
  Compiled best{text, std::move(cubin)};
  const auto spills = [](const cuda::NvrtcResult& result) {
    return cuda::CountersOfLog(result.log)[kSpillBytesCounter];
  };
  for (const std::string& other : {text, preamble + emitted.shorter}) {
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
  TW_ASSIGN_OR_RETURN(const auto cubin, cuda::CompileWithNvrtc(without, target.cpu));
  counters[kStackBytesCounter] = cuda::CountersOfLog(cubin.log)[kStackBytesCounter];
  return absl::OkStatus();
}

class CudaBackend : public Backend {
 public:
  std::string_view name() const override { return "cuda"; }
  bool Supports(const Target& target) const override { return target.kind == TargetKind::kCuda; }
  std::vector<std::string> formats() const override { return {"cu", "ptx", "cubin"}; }

  absl::StatusOr<Artifact> Compile(const Module& module, const Target& target,
                                   const CompileOptions& options) const override {
    TW_ASSIGN_OR_RETURN(const auto emitted, ProgramFor(module, target, options));
    const cuda::Program& program = emitted.program;
    if (options.format == "cu" && !(options.count && cuda::NvrtcIsInstalled())) {
      return Artifact{.bytes = WholeText(program, target)};
    }
    // PTX is not assembled by NVRTC, so what ptxas says of the kernels comes with a cubin.
    TW_ASSIGN_OR_RETURN(auto compiled, CompileKernels(emitted, target, target.cpu));
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

  absl::StatusOr<std::unique_ptr<CompiledModule>> Load(const Module& module, const Target& target,
                                                       const CompileOptions& options) const override {
    TW_ASSIGN_OR_RETURN(const auto emitted, ProgramFor(module, target, options));
    TW_ASSIGN_OR_RETURN(
        auto device, options.emulate ? cuda::EmulatedDevice(emitted.program) : OnGpu(emitted, target, options.cubin));
    return cuda::CudaModule::Make(emitted.program, std::move(device));
  }

 private:
  static absl::StatusOr<std::unique_ptr<cuda::Device>> OnGpu(const EmittedProgram& emitted, const Target& target,
                                                             const std::string& compiled) {
    std::string error;
    if (cuda::Driver::Open(&error) == nullptr) return absl::FailedPreconditionError(error);
    if (!compiled.empty()) return cuda::GpuDevice(emitted.program, compiled);
    TW_ASSIGN_OR_RETURN(const auto kernels, CompileKernels(emitted, target, cuda::ArchitectureToRun(target)));
    return cuda::GpuDevice(emitted.program, kernels.cubin.binary);
  }
};

}  // namespace

std::unique_ptr<Backend> MakeCudaBackend() { return std::make_unique<CudaBackend>(); }

}  // namespace tilewright
