// From a program to an optimized LLVM module; what jit.cc and object.cc share. Private to codegen/llvm.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "codegen/backend.h"
#include "codegen/sized_sequence.h"
#include "ir/function.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"
#include "target/target.h"

namespace tilewright::codegen {

struct LlvmProgram {
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
  std::unique_ptr<llvm::TargetMachine> machine;
};

// Lowers, emits and optimizes. `as_file`: the code leaves this process, so that others may call it by TVM-FFI's
// convention too (emit_tvm_ffi.h). `sized`: a function that calls those of the module, in addition to them.
absl::StatusOr<LlvmProgram> CompileToLlvm(const Module& module, const Target& target, const CompileOptions& options,
                                          bool as_file = false, const SizedSequence* sized = nullptr);

}  // namespace tilewright::codegen
