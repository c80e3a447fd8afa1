#include "codegen/foreign/find_kernel.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Metadata.h"

namespace tilewright::foreign {
namespace {

std::string WithoutSpaces(std::string text) {
  std::erase(text, ' ');
  return text;
}

// "gemm" and "gemm<128,64>" of "ns::gemm<128, 64>".
std::string WithoutArguments(const std::string& name) { return name.substr(0, name.find('<')); }
std::string WithoutScope(const std::string& name) {
  const size_t end = name.find('<');
  const size_t scope = name.rfind("::", end);
  return scope == std::string::npos ? name : name.substr(scope + 2);
}

bool IsMeant(const std::string& name, const std::string& wanted) {
  const std::string text = WithoutSpaces(name), other = WithoutSpaces(wanted);
  return other == text || other == WithoutScope(text) || other == WithoutArguments(text) ||
         other == WithoutScope(WithoutArguments(text));
}

std::vector<llvm::Function*> KernelsOf(llvm::Module& module) {
  std::vector<llvm::Function*> kernels;
  const llvm::NamedMDNode* annotations = module.getNamedMetadata("nvvm.annotations");
  if (annotations == nullptr) return kernels;
  for (const llvm::MDNode* node : annotations->operands()) {
    if (node->getNumOperands() < 3 || node->getOperand(0) == nullptr) continue;
    auto* function = llvm::mdconst::dyn_extract_or_null<llvm::Function>(node->getOperand(0));
    const auto* what = llvm::dyn_cast<llvm::MDString>(node->getOperand(1));
    if (function == nullptr || what == nullptr || what->getString() != "kernel" || function->isDeclaration()) continue;
    if (std::find(kernels.begin(), kernels.end(), function) == kernels.end()) kernels.push_back(function);
  }
  return kernels;
}

KernelParameter::Kind KindOf(const llvm::Type* type) {
  if (type->isPointerTy()) return KernelParameter::Kind::kPointer;
  if (type->isIntegerTy()) return KernelParameter::Kind::kInteger;
  if (type->isFloatingPointTy()) return KernelParameter::Kind::kFloat;
  return KernelParameter::Kind::kStruct;
}

void AddFields(const llvm::DataLayout& layout, llvm::Type* type, uint64_t offset,
               std::vector<KernelParameter::Field>& fields) {
  if (auto* structure = llvm::dyn_cast<llvm::StructType>(type)) {
    const llvm::StructLayout* places = layout.getStructLayout(structure);
    // Padding is written out as arrays of bytes by the front end, and is not a field of the text.
    for (unsigned i = 0; i < structure->getNumElements(); ++i) {
      llvm::Type* element = structure->getElementType(i);
      const auto* array = llvm::dyn_cast<llvm::ArrayType>(element);
      const bool padding =
          array != nullptr && array->getElementType()->isIntegerTy(8) && i > 0 && structure->getNumElements() > 1;
      if (!padding) AddFields(layout, element, offset + places->getElementOffset(i), fields);
    }
  } else if (auto* array = llvm::dyn_cast<llvm::ArrayType>(type)) {
    const uint64_t bytes = layout.getTypeAllocSize(array->getElementType());
    for (uint64_t i = 0; i < array->getNumElements(); ++i) {
      AddFields(layout, array->getElementType(), offset + i * bytes, fields);
    }
  } else {
    fields.push_back({KindOf(type), offset, layout.getTypeStoreSize(type)});
  }
}

}  // namespace

std::string NameOfFunction(const std::string& symbol) {
  std::string name = llvm::demangle(symbol);
  // Up to the parameters, then from the last space: both outside of template arguments.
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '<') ++depth;
    if (name[i] == '>') --depth;
    if (depth == 0 && name[i] == '(' && name.compare(i, 21, "(anonymous namespace)") != 0) {
      name.resize(i);
      break;
    }
    if (depth == 0 && name[i] == ' ' && name.compare(i, 11, " namespace)") != 0) begin = i + 1;
  }
  return name.substr(begin);
}

absl::StatusOr<llvm::Function*> FindKernel(llvm::Module& module, const std::string& kernel) {
  const std::vector<llvm::Function*> kernels = KernelsOf(module);
  std::vector<std::string> names;
  std::vector<llvm::Function*> meant;
  for (llvm::Function* function : kernels) {
    names.push_back(NameOfFunction(function->getName().str()));
    if (kernel.empty() || IsMeant(names.back(), kernel)) meant.push_back(function);
  }
  if (meant.size() == 1) return meant[0];
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (WithoutSpaces(names[i]) == WithoutSpaces(kernel)) return kernels[i];
  }
  if (kernels.empty()) {
    return absl::NotFoundError(
        "the text has no kernel: a __global__ function, of a template one that is named with its arguments");
  }
  const std::string list = absl::StrJoin(names, ", ");
  if (meant.empty()) return absl::NotFoundError(absl::StrCat("no kernel is called ", kernel, "; there are: ", list));
  return absl::NotFoundError(absl::StrCat("which kernel? There are: ", list));
}

// The front end lists annotated functions: {function, text, file, line, the other arguments}.
std::vector<int64_t> TakeClusterDims(const llvm::Function& kernel) {
  std::vector<int64_t> cluster;
  llvm::GlobalVariable* list = kernel.getParent()->getGlobalVariable("llvm.global.annotations");
  if (list == nullptr) return cluster;
  for (const llvm::Use& use : list->getInitializer()->operands()) {
    const auto* row = llvm::dyn_cast<llvm::ConstantStruct>(use.get());
    if (row == nullptr || row->getOperand(0)->stripPointerCasts() != &kernel || row->getNumOperands() < 5) continue;
    const auto* text = llvm::dyn_cast<llvm::GlobalVariable>(row->getOperand(1)->stripPointerCasts());
    const auto* name = text == nullptr ? nullptr : llvm::dyn_cast<llvm::ConstantDataArray>(text->getInitializer());
    if (name == nullptr || !name->isCString() || name->getAsCString() != "tilewright.cluster") continue;
    const auto* arguments = llvm::dyn_cast<llvm::GlobalVariable>(row->getOperand(4)->stripPointerCasts());
    if (arguments == nullptr || !arguments->hasInitializer()) continue;
    for (const llvm::Use& number : arguments->getInitializer()->operands()) {
      if (const auto* value = llvm::dyn_cast<llvm::ConstantInt>(number.get())) cluster.push_back(value->getSExtValue());
    }
  }
  list->eraseFromParent();
  return cluster;
}

absl::StatusOr<std::vector<KernelParameter>> ParametersOf(const llvm::Function& kernel) {
  const llvm::DataLayout& layout = kernel.getParent()->getDataLayout();
  std::vector<KernelParameter> parameters;
  uint64_t offset = 0;
  for (const llvm::Argument& argument : kernel.args()) {
    llvm::Type* const type = argument.hasByValAttr() ? argument.getParamByValType() : argument.getType();
    KernelParameter parameter;
    parameter.kind = KindOf(type);
    parameter.name = argument.getName().str();
    if (parameter.name.empty()) parameter.name = absl::StrCat("parameter ", argument.getArgNo());
    parameter.bytes = layout.getTypeAllocSize(type);
    uint64_t alignment = layout.getABITypeAlign(type).value();
    if (argument.hasByValAttr()) alignment = argument.getParamAlign().valueOrOne().value();
    offset = (offset + alignment - 1) / alignment * alignment;
    parameter.offset = offset;
    offset += parameter.bytes;
    if (parameter.kind == KernelParameter::Kind::kStruct) AddFields(layout, type, 0, parameter.fields);
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

llvm::Function* MakeEntry(llvm::Function& kernel, const std::vector<KernelParameter>& parameters) {
  llvm::Module& module = *kernel.getParent();
  llvm::IRBuilder<> builder(module.getContext());
  auto* type = llvm::FunctionType::get(builder.getVoidTy(), {builder.getPtrTy()}, false);
  auto* entry = llvm::Function::Create(type, llvm::Function::ExternalLinkage, kEntry, module);
  builder.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "", entry));
  std::vector<llvm::Value*> values;
  for (const llvm::Argument& argument : kernel.args()) {
    const KernelParameter& parameter = parameters[argument.getArgNo()];
    llvm::Value* from = builder.CreateConstGEP1_64(builder.getInt8Ty(), entry->getArg(0), parameter.offset);
    if (!argument.hasByValAttr()) {
      values.push_back(builder.CreateAlignedLoad(argument.getType(), from, llvm::Align(1)));
      continue;
    }
    // Each thread has a copy of its own, which it may change.
    llvm::AllocaInst* copy = builder.CreateAlloca(argument.getParamByValType());
    copy->setAlignment(std::max(argument.getParamAlign().valueOrOne(), llvm::Align(16)));
    builder.CreateMemCpy(copy, copy->getAlign(), from, llvm::MaybeAlign(1), parameter.bytes);
    values.push_back(copy);
  }
  for (unsigned i = 0; i < kernel.arg_size(); ++i) {
    kernel.removeParamAttr(i, llvm::Attribute::ByVal);
    kernel.removeParamAttr(i, llvm::Attribute::NoAlias);
  }
  builder.CreateCall(&kernel, values);
  builder.CreateRetVoid();
  return entry;
}

}  // namespace tilewright::foreign
