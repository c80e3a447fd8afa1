// LLVM's view of a target: the machine to generate code for, and the passes in front of it. Private to codegen/llvm.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "codegen/backend.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"
#include "target/target.h"

namespace tilewright::codegen {

absl::StatusOr<std::unique_ptr<llvm::TargetMachine>> MakeMachine(const Target& target,
                                                                 CodeEffort effort = CodeEffort::kFull);

// For code of this context: with less than full effort the code generator leaves out what gains little for its time.
void SetEffort(llvm::LLVMContext& context, CodeEffort effort);

// The LLVM passes that our code profits from. Tiling, unrolling and vectorization were decided before; loops that no
// schedule touched are vectorized here. Less effort: those of them that gain most for their time.
void Optimize(llvm::Module& module, llvm::TargetMachine& machine, CodeEffort effort = CodeEffort::kFull);

enum class MachineOutput { kObject, kAssembly };
absl::StatusOr<llvm::SmallVector<char, 0>> Generate(llvm::Module& module, llvm::TargetMachine& machine,
                                                    MachineOutput output);

// The object of assembly that Generate gave for this machine: a tenth of the time of generating code a second time.
absl::StatusOr<llvm::SmallVector<char, 0>> Assemble(llvm::StringRef assembly, const llvm::TargetMachine& machine);

}  // namespace tilewright::codegen
