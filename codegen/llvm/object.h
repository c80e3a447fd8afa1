// Compiles programs to objects, assembly, LLVM IR and shared libraries.
//
//   auto assembly = EmitAssembly(module, NamedTarget("arm-neoverse-n1").value());
//
// The target may be any CPU that LLVM knows, whatever this machine is.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "codegen/backend.h"
#include "ir/function.h"
#include "target/target.h"

namespace tilewright {

// `assembly`, when given, receives the assembly of the same machine code.
absl::StatusOr<std::string> EmitObject(const Module& module, const Target& target, const CompileOptions& options = {},
                                       std::string* assembly = nullptr);
absl::StatusOr<std::string> EmitAssembly(const Module& module, const Target& target,
                                         const CompileOptions& options = {});
absl::StatusOr<std::string> EmitLlvmIr(const Module& module, const Target& target, const CompileOptions& options = {});

// A shared library that codegen/runtime/loaded_module.h (or dlopen) opens. Links with the first that is installed of ld
// (for this machine's processor only), ld.lld-19 and ld.lld.
absl::StatusOr<std::string> EmitSharedLibrary(const Module& module, const Target& target,
                                              const CompileOptions& options = {}, std::string* assembly = nullptr);

}  // namespace tilewright
