#include "codegen/llvm/vector_variants.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tilewright::codegen {
namespace {

constexpr const char* kPrefix = "tw.vector.";

// Every variant takes a mask last. It returns at once where no lane is wanted, as under a condition that is the same
// for all of them; otherwise it computes all lanes. LLVM passes a mask of all lanes where it needs none.
std::string Declared(std::string_view function, llvm::CallInst* call, unsigned lanes) {
  llvm::Module& module = *call->getModule();
  llvm::LLVMContext& context = module.getContext();
  auto* const vector = llvm::FixedVectorType::get(call->getType(), lanes);
  std::vector<llvm::Type*> types(call->arg_size(), vector);
  types.push_back(llvm::FixedVectorType::get(llvm::Type::getInt1Ty(context), lanes));
  const std::string name = absl::StrCat(kPrefix, std::string(function), ".", lanes);
  if (module.getFunction(name) == nullptr) {
    auto* type = llvm::FunctionType::get(vector, types, false);
    auto* variant = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module);
    variant->setDoesNotAccessMemory();
    variant->setDoesNotThrow();
    variant->setWillReturn();
  }
  return name;
}

}  // namespace

void DeclareVariants(std::string_view function, llvm::CallInst* call, const Target& target) {
  call->setDoesNotAccessMemory();
  call->setDoesNotThrow();
  call->addFnAttr(llvm::Attribute::WillReturn);
  std::vector<std::string> variants;
  const std::string params(call->arg_size(), 'v');
  for (unsigned lanes = 4; lanes * 32 <= static_cast<unsigned>(target.cpu_part().vector_bits); lanes *= 2) {
    variants.push_back(absl::StrCat("_ZGV_LLVM_M", lanes, params, "_", call->getCalledFunction()->getName().str(), "(",
                                    Declared(function, call, lanes), ")"));
  }
  call->addFnAttr(
      llvm::Attribute::get(call->getContext(), "vector-function-abi-variant", absl::StrJoin(variants, ",")));
}

void DefineVariants(llvm::Module& module, const EmitVariant& emit) {
  std::vector<llvm::Function*> variants;
  for (llvm::Function& function : module) {
    if (function.getName().starts_with(kPrefix)) variants.push_back(&function);
  }
  for (llvm::Function* variant : variants) {
    if (variant->use_empty()) {
      variant->eraseFromParent();
      continue;
    }
    variant->setLinkage(llvm::Function::InternalLinkage);
    Builder builder(llvm::BasicBlock::Create(module.getContext(), "entry", variant));
    llvm::FastMathFlags flags;
    flags.setAllowContract(true);
    builder.setFastMathFlags(flags);
    std::vector<llvm::Value*> args;
    for (llvm::Argument& arg : variant->args()) args.push_back(&arg);
    llvm::Value* wanted = builder.CreateOrReduce(args.back());
    args.pop_back();
    llvm::BasicBlock* none = llvm::BasicBlock::Create(module.getContext(), "none", variant);
    llvm::BasicBlock* some = llvm::BasicBlock::Create(module.getContext(), "some", variant);
    builder.CreateCondBr(wanted, some, none);
    builder.SetInsertPoint(none);
    builder.CreateRet(llvm::Constant::getNullValue(variant->getReturnType()));
    builder.SetInsertPoint(some);
    const llvm::StringRef name = variant->getName().drop_front(llvm::StringRef(kPrefix).size()).split('.').first;
    builder.CreateRet(emit(name, builder, args));
  }
}

}  // namespace tilewright::codegen
