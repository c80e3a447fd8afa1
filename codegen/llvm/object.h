// Compiles programs to objects, assembly, LLVM IR and shared libraries.
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
#include "target/target.h"

namespace tilewright {

absl::StatusOr<std::string> EmitObject(const Module& module, const Target& target, const CompileOptions& options = {});
absl::StatusOr<std::string> EmitAssembly(const Module& module, const Target& target,
                                         const CompileOptions& options = {});
absl::StatusOr<std::string> EmitLlvmIr(const Module& module, const Target& target, const CompileOptions& options = {});

// Writes a shared library that codegen/runtime/loaded_module.h (or dlopen) opens. Links with the first that is
// installed of ld (for this machine's processor only), ld.lld-19 and ld.lld.
absl::Status EmitSharedLibrary(const Module& module, const Target& target, const std::string& path,
                               const CompileOptions& options = {});

// A C header that declares the functions of the module, by their `CSymbol` (codegen/abi/c_symbol.h).
std::string EmitHeader(const Module& module);

}  // namespace tilewright
