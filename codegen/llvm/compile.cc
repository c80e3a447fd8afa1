#include "codegen/llvm/compile.h"

#include "base/phases.h"
#include "base/status_macros.h"
#include "codegen/llvm/emit_sizes.h"
#include "codegen/llvm/emit_tvm_ffi.h"
#include "codegen/llvm/emitter.h"
#include "codegen/llvm/machine.h"
#include "codegen/lower/pipeline.h"
#include "ir/annotations.h"

namespace tilewright::codegen {
namespace {

// What a file exports: of a sequence, that alone.
std::vector<Function> Exported(const Module& module, const CallSequence* sequence, const SizedSequence* sized) {
  const auto alone = [](const auto* of) {
    return std::vector{Function({.name = of->name, .params = of->params, .body = Evaluate(Expr(0))})};
  };
  if (sequence != nullptr) return alone(sequence);
  if (sized != nullptr) return alone(sized);
  std::vector<Function> checked = module.functions();
  std::erase_if(checked, [](const Function& function) { return function->attrs.contains(kUncheckedOnly); });
  return checked;
}

}  // namespace

absl::StatusOr<LlvmProgram> CompileToLlvm(const Module& module, const Target& target, const CompileOptions& options,
                                          bool as_file, const SizedSequence* sized) {
  LlvmProgram program;
  TW_ASSIGN_OR_RETURN(auto machine, MakeMachine(target, options.effort));
  program.machine = std::move(machine);
  TW_ASSIGN_OR_RETURN(auto lowered, Lower(module, target, {.after_pass = options.after_pass}));
  Phase emission("LLVM IR");
  program.context = std::make_unique<llvm::LLVMContext>();
  SetEffort(*program.context, options.effort);
  program.module = std::make_unique<llvm::Module>("tilewright", *program.context);
  program.module->setTargetTriple(program.machine->getTargetTriple().str());
  program.module->setDataLayout(program.machine->createDataLayout());
  ModuleContext context{*program.context, *program.module, target};
  TW_RETURN_IF_ERROR(EmitModule(context, lowered, options.sequence));
  if (sized != nullptr) {
    TW_RETURN_IF_ERROR(EmitSizedSequence(context, *sized));
    TW_RETURN_IF_ERROR(FinishModule(context));
  }
  if (as_file) EmitTvmFfi(context, Exported(module, options.sequence, sized));
  emission.End();
  Optimize(*program.module, *program.machine, options.effort);
  DefineVariants(*program.module, target);
  return program;
}

}  // namespace tilewright::codegen
