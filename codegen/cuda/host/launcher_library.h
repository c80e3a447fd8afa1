// A module for a GPU as a shared library of this machine: cubins, constants, and the host part that starts the kernels.
//
//   TW_ASSIGN_OR_RETURN(std::string bytes, CompileLibrary(module, target, &sequence, {}));
//
// It needs NVIDIA's driver when it runs, and nothing else. The host part (launcher_text.h) is compiled by a C++
// compiler of the machine.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "codegen/backend.h"
#include "codegen/sized_sequence.h"
#include "ir/function.h"
#include "target/target.h"

namespace tilewright::cuda {

// `sequence` may be null: the functions of the module are then exported. With options.emulate the kernels are those of
// the emulator, in one image.
absl::StatusOr<std::string> CompileLibrary(const Module& module, const Target& target, const SizedSequence* sequence,
                                           const CompileOptions& options);

}  // namespace tilewright::cuda
