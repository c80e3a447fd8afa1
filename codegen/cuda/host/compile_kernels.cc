#include "codegen/cuda/host/compile_kernels.h"

#include <utility>

#include "base/status_macros.h"
#include "codegen/counters.h"
#include "codegen/cuda/emit_program.h"
#include "codegen/cuda/preamble.h"
#include "codegen/cuda/ptxas_log.h"
#include "codegen/lower/pipeline.h"

namespace tilewright::cuda {
namespace {

// The preamble before the program's text.
std::string PreambleOf(const Program& program, const Target& target) {
  return PreambleFor(program.text, target.has("cvt.x2"));
}

}  // namespace

absl::StatusOr<EmittedProgram> ProgramFor(const Module& module, const Target& target, const CompileOptions& options) {
  TW_ASSIGN_OR_RETURN(const auto lowered, Lower(module, target, {.after_pass = options.after_pass}));
  TW_ASSIGN_OR_RETURN(auto program, EmitProgram(lowered, target));
  TW_ASSIGN_OR_RETURN(auto shorter, EmitProgram(lowered, target, {.unroll_addresses = false}));
  return EmittedProgram{std::move(program), std::move(shorter.text)};
}

std::string WholeText(const Program& program, const Target& target) {
  return PreambleOf(program, target) + program.text;
}

absl::StatusOr<CompiledKernels> CompileKernels(const EmittedProgram& emitted, const Target& target,
                                               const std::string& architecture) {
  const std::string preamble = PreambleOf(emitted.program, target), text = preamble + emitted.program.text;
  TW_ASSIGN_OR_RETURN(auto cubin, CompileWithNvrtc(text, architecture));
  CompiledKernels best{text, std::move(cubin)};
  const auto spills = [](const NvrtcResult& result) { return CountersOfLog(result.log)[kSpillBytesCounter]; };
  for (const std::string& other : {text, preamble + emitted.shorter}) {
    if (spills(best.cubin) == 0) break;
    auto again = CompileWithNvrtc(other, architecture, /*many_registers=*/true);
    if (again.ok() && spills(*again) < spills(best.cubin)) best = {other, *std::move(again)};
  }
  return best;
}

}  // namespace tilewright::cuda
