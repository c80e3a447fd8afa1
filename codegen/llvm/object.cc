#include "codegen/llvm/object.h"

#include "base/status_macros.h"
#include "codegen/llvm/compile.h"
#include "codegen/llvm/machine.h"
#include "codegen/llvm/sequence_object.h"
#include "llvm/Support/raw_ostream.h"

namespace tilewright {
namespace {

absl::StatusOr<std::string> EmitMachineCode(const Module& module, const Target& target, const CompileOptions& options,
                                            codegen::MachineOutput output, std::string* assembly = nullptr) {
  TW_ASSIGN_OR_RETURN(auto program, codegen::CompileToLlvm(module, target, options, true));
  if (assembly != nullptr && output == codegen::MachineOutput::kObject) {
    TW_ASSIGN_OR_RETURN(auto text,
                        codegen::Generate(*program.module, *program.machine, codegen::MachineOutput::kAssembly));
    assembly->assign(text.data(), text.size());
    TW_ASSIGN_OR_RETURN(auto bytes, codegen::Assemble(*assembly, *program.machine));
    return std::string(bytes.data(), bytes.size());
  }
  TW_ASSIGN_OR_RETURN(auto bytes, codegen::Generate(*program.module, *program.machine, output));
  return std::string(bytes.data(), bytes.size());
}

}  // namespace

absl::StatusOr<std::string> EmitObject(const Module& module, const Target& target, const CompileOptions& options,
                                       std::string* assembly) {
  return EmitMachineCode(module, target, options, codegen::MachineOutput::kObject, assembly);
}

absl::StatusOr<std::string> EmitSequenceObject(const Module& module, const Target& target,
                                               const SizedSequence& sequence) {
  TW_ASSIGN_OR_RETURN(auto program, codegen::CompileToLlvm(module, target, {}, true, &sequence));
  TW_ASSIGN_OR_RETURN(auto bytes,
                      codegen::Generate(*program.module, *program.machine, codegen::MachineOutput::kObject));
  return std::string(bytes.data(), bytes.size());
}

absl::StatusOr<std::string> EmitAssembly(const Module& module, const Target& target, const CompileOptions& options) {
  return EmitMachineCode(module, target, options, codegen::MachineOutput::kAssembly);
}

absl::StatusOr<std::string> EmitLlvmIr(const Module& module, const Target& target, const CompileOptions& options) {
  TW_ASSIGN_OR_RETURN(auto program, codegen::CompileToLlvm(module, target, options, true));
  std::string text;
  llvm::raw_string_ostream stream(text);
  program.module->print(stream, nullptr);
  return text;
}

}  // namespace tilewright
