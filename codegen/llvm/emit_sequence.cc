// A function that calls others in order (codegen/call_sequence.h): pointers are stored into one array per call, extents
// are tables in the read-only part of the file.
#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "codegen/abi/c_symbol.h"
#include "codegen/abi/function_abi.h"
#include "codegen/llvm/emitter.h"

namespace tilewright::codegen {
namespace {

using Argument = CallSequence::Argument;

// `path` in the text of a string of assembly: three octal digits for each character that may mean something there.
std::string InAssembly(const std::string& path) {
  std::string text;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = absl::ascii_isalnum(byte) || c == '/' || c == '.' || c == '_' || c == '-';
    absl::StrAppend(&text, plain ? std::string(1, c) : absl::StrFormat("\\%03o", byte));
  }
  return text;
}

class SequenceEmitter {
 public:
  SequenceEmitter(ModuleContext& context, const CallSequence& sequence)
      : context_(context), sequence_(sequence), b_(context.llvm) {}

  absl::Status Emit() {
    EmitConstants();
    llvm::Type* ptr = b_.getPtrTy();
    std::vector<llvm::Type*> types(sequence_.params.size() + 2, ptr);
    auto* type = llvm::FunctionType::get(b_.getInt32Ty(), types, false);
    compute_ = llvm::Function::Create(type, llvm::Function::InternalLinkage, absl::StrCat(sequence_.name, ".sequence"),
                                      context_.module);
    // Nothing but stores and calls, thousands of them.
    compute_->addFnAttr(llvm::Attribute::NoInline);
    b_.SetInsertPoint(llvm::BasicBlock::Create(context_.llvm, "entry", compute_));
    EmitFrame();
    for (const CallSequence::Call& call : sequence_.calls) {
      TW_RETURN_IF_ERROR(EmitCall(call));
    }
    for (const CallSequence::Copy& copy : sequence_.copies) {
      b_.CreateMemCpy(compute_->getArg(static_cast<unsigned>(copy.to) + 2), llvm::MaybeAlign(), Address(copy.from),
                      llvm::MaybeAlign(), static_cast<uint64_t>(copy.bytes));
    }
    b_.CreateRet(b_.getInt32(kTwOk));
    return EmitAbi(context_, Exported(), {compute_, sequence_.workspace_bytes + behind_bytes_, {}});
  }

 private:
  // The file as it is, at the start of a page, so that it is mapped and not copied.
  void EmitConstants() {
    if (sequence_.constants_file.empty()) return;
    const std::string symbol = absl::StrCat(CSymbol(sequence_.name), "_constants");
    context_.module.appendModuleInlineAsm(
        absl::StrCat(".section .rodata.tilewright,\"a\",@progbits\n.balign 4096\n.globl ", symbol, "\n.hidden ", symbol,
                     "\n", symbol, ":\n.incbin \"", InAssembly(sequence_.constants_file), "\"\n.text\n"));
    auto* type = llvm::ArrayType::get(b_.getInt8Ty(), static_cast<uint64_t>(sequence_.constants_bytes));
    constants_ =
        new llvm::GlobalVariable(context_.module, type, true, llvm::GlobalValue::ExternalLinkage, nullptr, symbol);
    constants_->setVisibility(llvm::GlobalValue::HiddenVisibility);
  }

  // The call that kernels get: the caller's with a workspace of their own; and room for pointers.
  void EmitFrame() {
    llvm::StructType* type = CallType(context_.llvm);
    call_ = b_.CreateAlloca(type);
    b_.CreateStore(b_.CreateLoad(type, compute_->getArg(0)), call_);
    size_t most = 1;
    for (const CallSequence::Call& call : sequence_.calls) most = std::max(most, call.arguments.size());
    data_ = b_.CreateAlloca(llvm::ArrayType::get(b_.getPtrTy(), most));
  }

  llvm::Value* Offset(llvm::Value* base, int64_t bytes) {
    return b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), base, static_cast<uint64_t>(bytes));
  }

  llvm::GlobalVariable* Table(llvm::Constant* values) {
    return new llvm::GlobalVariable(context_.module, values->getType(), true, llvm::GlobalValue::PrivateLinkage, values,
                                    "table");
  }

  llvm::Value* Address(const Argument& argument) {
    switch (argument.memory) {
      case Argument::Memory::kParam:
        return compute_->getArg(static_cast<unsigned>(argument.at) + 2);
      case Argument::Memory::kConstants:
        return Offset(constants_, argument.at);
      case Argument::Memory::kWorkspace:
        return Offset(compute_->getArg(1), argument.at);
      case Argument::Memory::kScalar:
        break;
    }
    return Table(b_.getInt64(static_cast<uint64_t>(argument.at)));
  }

  llvm::Constant* Extents(const Argument& argument) {
    if (argument.shape.empty()) return llvm::ConstantPointerNull::get(b_.getPtrTy());
    std::vector<uint64_t> extents(argument.shape.begin(), argument.shape.end());
    return Table(llvm::ConstantDataArray::get(context_.llvm, extents));
  }

  absl::Status EmitCall(const CallSequence::Call& call) {
    llvm::Function* function = context_.module.getFunction(absl::StrCat(call.function, "_unchecked"));
    if (function == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat(sequence_.name, " calls ", call.function, ", which the module lacks"));
    }
    std::vector<llvm::Constant*> shapes;
    for (size_t i = 0; i < call.arguments.size(); ++i) {
      b_.CreateStore(Address(call.arguments[i]), b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), data_, i));
      shapes.push_back(Extents(call.arguments[i]));
    }
    llvm::StructType* type = CallType(context_.llvm);
    int64_t offset = call.workspace_offset, bytes = call.workspace_bytes;
    // Its temporaries stand behind everything else, as many as it needs: the caller has not compiled it.
    if (offset < 0) {
      offset = sequence_.workspace_bytes;
      bytes = WorkspaceBytes(call.function);
      behind_bytes_ = std::max(behind_bytes_, bytes);
    }
    b_.CreateStore(Offset(compute_->getArg(1), offset), b_.CreateStructGEP(type, call_, 1));
    b_.CreateStore(b_.getInt64(static_cast<uint64_t>(bytes)), b_.CreateStructGEP(type, call_, 2));
    auto* table_type = llvm::ArrayType::get(b_.getPtrTy(), shapes.size());
    llvm::Value* code = b_.CreateCall(function, {call_, data_, Table(llvm::ConstantArray::get(table_type, shapes))});
    auto* failed = llvm::BasicBlock::Create(context_.llvm, "failed", compute_);
    auto* next = llvm::BasicBlock::Create(context_.llvm, "next", compute_);
    b_.CreateCondBr(b_.CreateICmpEQ(code, b_.getInt32(kTwOk)), next, failed);
    b_.SetInsertPoint(failed);
    b_.CreateRet(code);
    b_.SetInsertPoint(next);
    return absl::OkStatus();
  }

  // What EmitAbi has written for a function of the module.
  int64_t WorkspaceBytes(const std::string& function) const {
    const llvm::Function* asked = context_.module.getFunction(absl::StrCat(function, "_workspace_bytes"));
    const auto* ret = llvm::cast<llvm::ReturnInst>(asked->getEntryBlock().getTerminator());
    return llvm::cast<llvm::ConstantInt>(ret->getReturnValue())->getSExtValue();
  }

  // What the checks of arguments ask for: parameters, and which of them are written.
  Function Exported() const {
    std::vector<Stmt> stores;
    for (size_t i = sequence_.num_inputs; i < sequence_.params.size(); ++i) {
      const Buffer& buffer = sequence_.params[i].buffer;
      const std::vector<Expr> first(buffer->ndim(), Const(DataType::Int(64), 0));
      stores.push_back(Store(buffer, Const(buffer->dtype, 0), first));
    }
    return Function(
        {.name = sequence_.name, .params = sequence_.params, .body = tilewright::Sequence(std::move(stores))});
  }

  ModuleContext& context_;
  const CallSequence& sequence_;
  Builder b_;
  llvm::Function* compute_ = nullptr;
  llvm::GlobalVariable* constants_ = nullptr;
  int64_t behind_bytes_ = 0;
  llvm::Value *call_ = nullptr, *data_ = nullptr;
};

}  // namespace

absl::Status EmitSequence(ModuleContext& context, const CallSequence& sequence) {
  return SequenceEmitter(context, sequence).Emit();
}

}  // namespace tilewright::codegen
