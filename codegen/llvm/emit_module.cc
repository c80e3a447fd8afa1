// A lowered module: for each function `NAME.compute` and the exported function in front of it.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "codegen/abi/function_abi.h"
#include "codegen/llvm/emit_sizes.h"
#include "codegen/llvm/emitter.h"
#include "codegen/llvm/pointer_facts.h"
#include "ir/functor.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/raw_ostream.h"

namespace tilewright::codegen {
namespace {

// Instructions of a function that is optimized: some of LLVM's passes take time by the square of a basic block's
// length, minutes for a hundred thousand statements in a row.
constexpr unsigned kMostOptimized = 100'000;

// Scalar parameters and the variables in the shapes, strides and offsets of buffer parameters.
std::vector<Var> ScalarVariables(const Function& function) {
  std::vector<Var> vars;
  auto add = [&](const Expr& e) {
    PreOrder(e, [&](const Expr& sub) {
      const auto* var = dyn_cast<VarNode>(sub);
      const bool known = std::any_of(vars.begin(), vars.end(), [&](const Var& v) { return v.get() == var; });
      if (var != nullptr && !known) vars.emplace_back(var);
      return true;
    });
  };
  for (const Param& param : function->params) {
    if (!param.buffer) {
      if (!param.var.dtype().is_handle()) add(param.var);
      continue;
    }
    for (const Expr& extent : param.buffer->shape) add(extent);
    for (const Expr& stride : param.buffer->strides) add(stride);
    if (param.buffer->elem_offset) add(param.buffer->elem_offset);
  }
  return vars;
}

// What the checks of the exported function guarantee about a pointer.
void AddPointerFacts(llvm::LLVMContext& context, llvm::Argument* arg, const Buffer& buffer, bool written,
                     bool distinct) {
  if (distinct) arg->addAttr(llvm::Attribute::NoAlias);
  if (!written) arg->addAttr(llvm::Attribute::ReadOnly);
  if (!buffer) return;
  arg->addAttr(
      llvm::Attribute::getWithAlignment(context, llvm::Align(static_cast<uint64_t>(std::max(buffer->alignment, 1)))));
  uint64_t bytes = static_cast<uint64_t>(buffer->dtype.bytes() * buffer->dtype.lanes());
  for (const Expr& extent : buffer->shape) {
    const std::optional<int64_t> value = AsInt(extent);
    bytes *= value && *value > 0 ? static_cast<uint64_t>(*value) : 0;
  }
  if (bytes > 0 && buffer->strides.empty()) {
    arg->addAttr(llvm::Attribute::getWithDereferenceableBytes(context, bytes));
  }
}

absl::Status EmitFunction(ModuleContext& context, const Function& function) {
  ComputeFunction compute;
  compute.scalars = ScalarVariables(function);
  llvm::Type* ptr = llvm::PointerType::getUnqual(context.llvm);
  std::vector<llvm::Type*> types = {ptr, ptr};
  for (const Param& param : function->params) {
    if (param.buffer || param.var.dtype().is_handle()) types.push_back(ptr);
  }
  for (const Var& var : compute.scalars) types.push_back(RegisterType(context.llvm, var.dtype()));
  auto* type = llvm::FunctionType::get(llvm::Type::getInt32Ty(context.llvm), types, false);
  compute.function = llvm::Function::Create(type, llvm::Function::InternalLinkage,
                                            absl::StrCat(function->name, ".compute"), context.module);
  compute.function->addFnAttr(llvm::Attribute::NoInline);
  FunctionEmitter emitter(context, compute.function, function->name, false);
  emitter.set_call(compute.function->getArg(0));
  emitter.set_workspace(compute.function->getArg(1));
  compute.function->getArg(1)->addAttr(llvm::Attribute::getWithAlignment(context.llvm, llvm::Align(64)));
  const std::unordered_set<const VarNode*> written = WrittenBuffers(function->body);
  const bool distinct = !DefinesPointers(function->body);
  unsigned next = 2;
  for (const Param& param : function->params) {
    if (!param.buffer && !param.var.dtype().is_handle()) continue;
    llvm::Argument* arg = compute.function->getArg(next++);
    emitter.Bind(param.var, arg);
    const Var data = param.buffer ? param.buffer->data : param.var;
    emitter.Bind(data, arg);
    AddPointerFacts(context.llvm, arg, param.buffer, written.contains(data.get()) || written.contains(param.var.get()),
                    distinct);
  }
  for (const Var& var : compute.scalars) emitter.Bind(var, compute.function->getArg(next++));
  TW_RETURN_IF_ERROR(emitter.EmitBody(function->body));
  compute.workspace_bytes = emitter.workspace_bytes();
  return EmitAbi(context, function, compute);
}

// A constant of the whole object. It is weak, so that a program may link several objects.
void EmitConstant(ModuleContext& context, const char* name, llvm::Constant* value) {
  new llvm::GlobalVariable(context.module, value->getType(), true, llvm::GlobalValue::WeakAnyLinkage, value, name);
}

// What LoadedModule reads before it calls anything: "x86_64:avx2,fma" under the name tw_required_features, and the
// version of the C interface.
void EmitRequirements(ModuleContext& context) {
  const std::string architecture = context.target.triple.substr(0, context.target.triple.find('-'));
  llvm::Constant* text = llvm::ConstantDataArray::getString(
      context.llvm, absl::StrCat(architecture, ":", absl::StrJoin(context.target.features, ",")));
  EmitConstant(context, "tw_required_features", text);
  EmitConstant(context, "tw_abi_version", llvm::ConstantInt::get(llvm::Type::getInt32Ty(context.llvm), TW_ABI_VERSION));
}

}  // namespace

absl::Status EmitModule(ModuleContext& context, const Module& module, const CallSequence* sequence) {
  EmitRequirements(context);
  for (const Function& function : module.functions()) {
    TW_RETURN_IF_ERROR(EmitFunction(context, function));
  }
  if (sequence != nullptr) {
    TW_RETURN_IF_ERROR(EmitSequence(context, *sequence));
  }
  return FinishModule(context);
}

absl::Status FinishModule(ModuleContext& context) {
  const std::string vector_bits = absl::StrCat(context.target.cpu_part().vector_bits);
  for (llvm::Function& function : context.module) {
    if (function.isDeclaration()) continue;
    function.addFnAttr(llvm::Attribute::NoUnwind);
    if (function.getInstructionCount() > kMostOptimized) {
      function.addFnAttr(llvm::Attribute::OptimizeNone);
      function.addFnAttr(llvm::Attribute::NoInline);
    }
    if (context.target.cpu_part().vector_bits > 0) {
      function.addFnAttr("prefer-vector-width", vector_bits);
      function.addFnAttr("min-legal-vector-width", vector_bits);
    }
  }
  std::string problems;
  llvm::raw_string_ostream stream(problems);
  if (llvm::verifyModule(context.module, &stream)) {
    return absl::InternalError(absl::StrCat("LLVM refuses the generated code: ", problems));
  }
  return absl::OkStatus();
}

}  // namespace tilewright::codegen
