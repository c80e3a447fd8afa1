// Compiles programs to files: objects, assembly, LLVM IR, shared libraries.
//
//   auto assembly = EmitAssembly(module, NamedTarget("arm-neoverse-n1").value());
//
// The target may be any CPU that LLVM knows, whatever this machine is.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "codegen/llvm/options.h"
#include "ir/function.h"
#include "ir/target.h"

namespace tilewright {

absl::StatusOr<std::string> EmitObject(const Module& module, const Target& target, const CompileOptions& options = {});
absl::StatusOr<std::string> EmitAssembly(const Module& module, const Target& target,
                                         const CompileOptions& options = {});
absl::StatusOr<std::string> EmitLlvmIr(const Module& module, const Target& target, const CompileOptions& options = {});

}  // namespace tilewright
