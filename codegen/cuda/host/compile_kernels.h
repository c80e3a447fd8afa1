// From a module to the kernels of a GPU: their text, and machine code.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "codegen/backend.h"
#include "codegen/cuda/nvrtc.h"
#include "codegen/cuda/program.h"
#include "ir/function.h"
#include "target/target.h"

namespace tilewright::cuda {

struct EmittedProgram {
  Program program;
  std::string shorter;  // its kernels with loops over addresses as the compiler likes
};
// Uses `after_pass` of the options.
absl::StatusOr<EmittedProgram> ProgramFor(const Module& module, const Target& target, const CompileOptions& options);

// What a compiler of CUDA takes: the program's text with what stands before it.
std::string WholeText(const Program& program, const Target& target);

// Kernels as NVRTC compiles them.
struct CompiledKernels {
  std::string text;
  NvrtcResult cubin;
};
// Kernels that spill are compiled with more registers, and then with loops over addresses as the compiler likes; the
// first of these that spills least is taken.
absl::StatusOr<CompiledKernels> CompileKernels(const EmittedProgram& emitted, const Target& target,
                                               const std::string& architecture);

}  // namespace tilewright::cuda
