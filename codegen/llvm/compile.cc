#include "codegen/llvm/compile.h"

#include "codegen/llvm/emitter.h"
#include "codegen/llvm/machine.h"
#include "codegen/lower/pipeline.h"

namespace tilewright::codegen {

absl::StatusOr<LlvmProgram> CompileToLlvm(const Module& module, const Target& target, const CompileOptions& options) {
  LlvmProgram program;
  auto machine = MakeMachine(target, options.quick);
  if (!machine.ok()) return machine.status();
  program.machine = *std::move(machine);
  auto lowered = Lower(module, target, {.after_pass = options.after_pass});
  if (!lowered.ok()) return lowered.status();
  program.context = std::make_unique<llvm::LLVMContext>();
  program.module = std::make_unique<llvm::Module>("tilewright", *program.context);
  program.module->setTargetTriple(program.machine->getTargetTriple().str());
  program.module->setDataLayout(program.machine->createDataLayout());
  ModuleContext context{*program.context, *program.module, target};
  if (absl::Status status = EmitModule(context, *lowered, options.sequence); !status.ok()) return status;
  Optimize(*program.module, *program.machine, options.quick);
  DefineVariants(*program.module, target);
  return program;
}

}  // namespace tilewright::codegen
