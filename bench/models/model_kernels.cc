#include "bench/models/model_kernels.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "autoschedule/sketch/scheduled_programs.h"
#include "base/status_macros.h"
#include "codegen/backend.h"
#include "codegen/counters.h"
#include "codegen/cuda/nvrtc.h"
#include "graph/executor/plan.h"
#include "graph/executor/scheduled_kernel.h"
#include "ir/structural.h"

namespace tilewright::bench {
namespace {

// Why the compiler's result is not taken; nothing where it is.
std::optional<std::string> Refusal(const Module& module, const Target& target, bool nvrtc) {
  const auto artifact = Compile(module, target, {.format = nvrtc ? "cubin" : "cu", .count = nvrtc});
  if (!artifact.ok()) return std::string(artifact.status().message());
  return ExceededLimit(artifact->counters, GpuLimits());
}

}  // namespace

absl::StatusOr<ModelKernels> CompileModelKernels(const graph::GraphModule& module, const Target& target, int most) {
  if (!target.is_gpu()) return absl::InvalidArgumentError(absl::StrCat(target.name, " is not a GPU"));
  std::string obstacle;
  TW_ASSIGN_OR_RETURN(const auto plan, graph::Plan(module, module.Main(), &obstacle));
  if (!plan) return absl::UnimplementedError(absl::StrCat(obstacle, " has no program: the model has no plan"));
  const bool nvrtc = cuda::NvrtcIsInstalled();
  ModelKernels kernels{.compiler = nvrtc ? "NVRTC" : "text"};
  ScheduledPrograms programs(target);
  std::set<std::pair<uint64_t, std::vector<bool>>> seen;
  for (const graph::KernelSource& source : plan->programs) {
    if (most > 0 && kernels.compiled == most) break;
    const graph::PrimFunc canonical = graph::CanonicalProgram(source.program);
    if (!seen.emplace(StructuralHash(canonical), source.constant).second) continue;
    TW_ASSIGN_OR_RETURN(const graph::ScheduledKernel kernel,
                        graph::ScheduleKernel(canonical, source.constant, target, /*database=*/"", &programs));
    ++kernels.compiled;
    if (const auto why = Refusal(kernel.module, target, nvrtc)) {
      kernels.refused.push_back(absl::StrCat(source.program->name, ": ", *why));
    }
  }
  return kernels;
}

}  // namespace tilewright::bench
