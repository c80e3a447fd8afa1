// From a program to the C++ that starts its kernels, which becomes a library that needs the driver alone.
//
//   TW_ASSIGN_OR_RETURN(std::string text, LauncherText({{&program, "gemm.cubin"}}, target));
//
// A person reads it, and may change it: grids, blocks, shared bytes and tensor maps stand as expressions of the
// function's extents (function_text.h), over codegen/cuda/host/launcher.h. Functions are exported as docs/abi.md says.
#pragma once

#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "codegen/cuda/program.h"
#include "codegen/sized_sequence.h"
#include "target/target.h"

namespace tilewright::cuda {

// The name under which the compiler finds the constants of a sequence.
inline constexpr char kConstantsFile[] = "constants";

// Kernels that one file holds, which the compiler of the text finds under this name.
struct LauncherImage {
  const Program* program = nullptr;
  std::string file;
};

// `sequence`: exported in place of the functions, which it calls; its constants lie in the file kConstantsFile.
absl::StatusOr<std::string> LauncherText(std::span<const LauncherImage> images, const Target& target,
                                         const SizedSequence* sequence = nullptr);

// The compute capability of the target's code, 90, and whether it runs on that alone.
struct Architecture {
  int capability = 0;
  bool exact = false;
};
Architecture ArchitectureOf(const Target& target);

}  // namespace tilewright::cuda
