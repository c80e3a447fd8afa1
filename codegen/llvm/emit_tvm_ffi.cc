#include "codegen/llvm/emit_tvm_ffi.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "codegen/abi/abi_type.h"
#include "codegen/abi/c_symbol.h"
#include "codegen/abi/function_abi.h"
#include "codegen/abi/tvm_ffi.h"

namespace tilewright::codegen {
namespace {

constexpr unsigned kMessageBytes = 256;

class TvmFfiEmitter {
 public:
  TvmFfiEmitter(ModuleContext& context, const Function& function)
      : context_(context), function_(function), b_(context.llvm) {}

  void Emit() {
    llvm::Type *ptr = b_.getPtrTy(), *i32 = b_.getInt32Ty(), *i64 = b_.getInt64Ty();
    value_type_ = llvm::StructType::get(context_.llvm, {i32, i32, i64});
    auto* type = llvm::FunctionType::get(i32, {ptr, ptr, i32, ptr}, false);
    ffi_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, absl::StrCat(kTvmFfiPrefix, function_->name),
                                  context_.module);
    // Runs once a call, like the function that it calls.
    ffi_->addFnAttr(llvm::Attribute::OptimizeNone);
    ffi_->addFnAttr(llvm::Attribute::NoInline);
    ffi_->addFnAttr(llvm::Attribute::NoUnwind);
    b_.SetInsertPoint(llvm::BasicBlock::Create(context_.llvm, "entry", ffi_));
    const auto count = static_cast<uint32_t>(function_->params.size());
    message_ = b_.CreateAlloca(llvm::ArrayType::get(b_.getInt8Ty(), kMessageBytes));
    b_.CreateStore(b_.getInt8(0), message_);
    pointers_ = b_.CreateAlloca(llvm::ArrayType::get(ptr, count));
    EmitCallArgument();
    llvm::Value* given = ffi_->getArg(2);
    Check(b_.CreateICmpEQ(given, b_.getInt32(count)),
          absl::StrCat(function_->name, " takes ", count, " arguments, got %d"), {given});
    for (unsigned i = 0; i < count; ++i) EmitArgument(i);
    EmitCallAndReturn();
  }

 private:
  // The TwCall: loops run in the calling thread, temporaries are allocated in each call.
  void EmitCallArgument() {
    llvm::StructType* type = CallType(context_.llvm);
    call_ = b_.CreateAlloca(type);
    b_.CreateStore(llvm::Constant::getNullValue(type), call_);
    b_.CreateStore(message_, b_.CreateStructGEP(type, call_, 3));
    b_.CreateStore(b_.getInt64(kMessageBytes), b_.CreateStructGEP(type, call_, 4));
  }

  llvm::BasicBlock* NewBlock(const char* name) { return llvm::BasicBlock::Create(context_.llvm, name, ffi_); }

  void Check(llvm::Value* condition, const std::string& format, llvm::ArrayRef<llvm::Value*> args) {
    llvm::BasicBlock *refused = NewBlock("refused"), *passed = NewBlock("checked");
    b_.CreateCondBr(condition, passed, refused);
    b_.SetInsertPoint(refused);
    EmitMessage(context_, b_, call_, format, args);
    Fail("TypeError");
    b_.SetInsertPoint(passed);
  }

  // Raises the message, if there is somebody to raise it, and returns.
  void Fail(const char* kind) { Fail(b_.CreateGlobalString(kind)); }
  void Fail(llvm::Value* kind) {
    auto* type = llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy(), b_.getPtrTy()}, false);
    llvm::FunctionCallee raise = context_.module.getOrInsertFunction(kTvmFfiRaise, type);
    auto* function = llvm::cast<llvm::Function>(raise.getCallee());
    function->setLinkage(llvm::GlobalValue::ExternalWeakLinkage);
    llvm::BasicBlock *known = NewBlock("raise"), *done = NewBlock("failed");
    b_.CreateCondBr(b_.CreateIsNotNull(function), known, done);
    b_.SetInsertPoint(known);
    b_.CreateCall(raise, {kind, message_});
    b_.CreateBr(done);
    b_.SetInsertPoint(done);
    b_.CreateRet(b_.getInt32(static_cast<uint32_t>(-1)));
  }

  void EmitArgument(unsigned index) {
    const Param& param = function_->params[index];
    const std::string& name = param.buffer ? param.buffer->name : param.var.name();
    const std::string label = absl::StrCat("argument ", index, " (", name, ")");
    llvm::Value* given = b_.CreateConstInBoundsGEP1_64(value_type_, ffi_->getArg(1), index);
    llvm::Value* kind = b_.CreateLoad(b_.getInt32Ty(), b_.CreateStructGEP(value_type_, given, 0));
    llvm::Value* payload = b_.CreateStructGEP(value_type_, given, 2);
    llvm::Value* pointer = b_.CreateLoad(b_.getPtrTy(), payload);
    llvm::Value* inside = b_.CreateConstGEP1_64(b_.getInt8Ty(), pointer, kTvmFfiObjectBytes);
    llvm::Value* is_object = b_.CreateICmpEQ(kind, b_.getInt32(kTvmFfiTensor));
    llvm::Value* is_tensor = b_.CreateOr(is_object, b_.CreateICmpEQ(kind, b_.getInt32(kTvmFfiTensorPointer)));
    llvm::Value* tensor = b_.CreateSelect(is_object, inside, pointer);
    const bool is_scalar = !param.buffer && !param.var.dtype().is_handle();
    if (!is_scalar) {
      Check(is_tensor, label + " is not a tensor (its type index is %d)", {kind});
    } else {
      tensor = EmitScalar(label, param.var.dtype(), kind, is_tensor, tensor, payload);
    }
    b_.CreateStore(tensor, b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), pointers_, index));
  }

  // A number becomes a tensor of rank 0; one that is given as such stays.
  llvm::Value* EmitScalar(const std::string& label, DataType type, llvm::Value* kind, llvm::Value* is_tensor,
                          llvm::Value* tensor, llvm::Value* payload) {
    llvm::BasicBlock *number = NewBlock("number"), *done = NewBlock("scalar"), *before = b_.GetInsertBlock();
    b_.CreateCondBr(is_tensor, done, number);
    b_.SetInsertPoint(number);
    llvm::Value* whole = b_.CreateLoad(b_.getInt64Ty(), payload);
    llvm::Value* real = b_.CreateLoad(b_.getDoubleTy(), payload);
    llvm::Value* is_bool = b_.CreateICmpEQ(kind, b_.getInt32(kTvmFfiBool));
    llvm::Value* is_whole = b_.CreateOr(is_bool, b_.CreateICmpEQ(kind, b_.getInt32(kTvmFfiInt)));
    llvm::Value* value;
    if (type.is_float()) {
      Check(b_.CreateOr(is_whole, b_.CreateICmpEQ(kind, b_.getInt32(kTvmFfiFloat))),
            label + " is not a number (its type index is %d)", {kind});
      llvm::Value* wide = b_.CreateSelect(is_whole, b_.CreateSIToFP(whole, b_.getDoubleTy()), real);
      // By way of f32, from which conversions to narrow types are instructions.
      const DataType between = type.bits() < 32 ? DataType::Float(32) : DataType::Float(64);
      value = Convert(b_, between, type, Convert(b_, DataType::Float(64), between, wide));
    } else {
      Check(is_whole, label + " is not a whole number (its type index is %d)", {kind});
      value = EmitWhole(label, type, whole);
    }
    llvm::Value* bits = ToMemory(b_, type, value);
    llvm::Value* slot = EntrySlot(bits->getType());
    b_.CreateStore(bits, slot);
    llvm::Value* made = MakeTensor(type, slot);
    llvm::BasicBlock* from_number = b_.GetInsertBlock();
    b_.CreateBr(done);
    b_.SetInsertPoint(done);
    llvm::PHINode* either = b_.CreatePHI(b_.getPtrTy(), 2);
    either->addIncoming(tensor, before);
    either->addIncoming(made, from_number);
    return either;
  }

  llvm::Value* EmitWhole(const std::string& label, DataType type, llvm::Value* whole) {
    if (type.is_bool()) return b_.CreateIsNotNull(whole);
    if (type.bits() >= 64) return whole;
    llvm::Value* narrow = b_.CreateTrunc(whole, b_.getIntNTy(static_cast<unsigned>(type.bits())));
    const bool is_unsigned = type.code() == TypeCode::kUInt;
    llvm::Value* again = is_unsigned ? b_.CreateZExt(narrow, b_.getInt64Ty()) : b_.CreateSExt(narrow, b_.getInt64Ty());
    Check(b_.CreateICmpEQ(again, whole), absl::StrCat(label, ": %lld does not fit ", type.ToString()), {whole});
    return narrow;
  }

  // Memory that lasts until the function returns.
  llvm::Value* EntrySlot(llvm::Type* type) {
    Builder entry(&ffi_->getEntryBlock(), ffi_->getEntryBlock().begin());
    return entry.CreateAlloca(type);
  }

  llvm::Value* MakeTensor(DataType type, llvm::Value* data) {
    llvm::StructType* layout = TensorType(context_.llvm);
    llvm::Value* tensor = EntrySlot(layout);
    const TwDataType abi = AbiType(type);
    const uint32_t dtype = abi.code | static_cast<uint32_t>(abi.bits) << 8 | static_cast<uint32_t>(abi.lanes) << 16;
    b_.CreateStore(llvm::Constant::getNullValue(layout), tensor);
    b_.CreateStore(data, b_.CreateStructGEP(layout, tensor, 0));
    b_.CreateStore(b_.getInt32(kTwCpu), b_.CreateStructGEP(layout, tensor, 1));
    b_.CreateStore(b_.getInt32(dtype), b_.CreateStructGEP(layout, tensor, 4));
    return tensor;
  }

  void EmitCallAndReturn() {
    llvm::Function* function = context_.module.getFunction(CSymbol(function_->name));
    const auto count = static_cast<uint32_t>(function_->params.size());
    llvm::Value* code = b_.CreateCall(function, {call_, pointers_, b_.getInt32(count)});
    llvm::BasicBlock *good = NewBlock("good"), *bad = NewBlock("bad");
    b_.CreateCondBr(b_.CreateICmpEQ(code, b_.getInt32(kTwOk)), good, bad);
    b_.SetInsertPoint(bad);
    llvm::Value* of_type = b_.CreateICmpEQ(code, b_.getInt32(kTwErrorType));
    llvm::Value* of_run = b_.CreateICmpSGE(code, b_.getInt32(kTwErrorMemory));
    Fail(b_.CreateSelect(
        of_type, b_.CreateGlobalString("TypeError"),
        b_.CreateSelect(of_run, b_.CreateGlobalString("RuntimeError"), b_.CreateGlobalString("ValueError"))));
    // The result is None.
    b_.SetInsertPoint(good);
    b_.CreateStore(llvm::Constant::getNullValue(value_type_), ffi_->getArg(3));
    b_.CreateRet(b_.getInt32(0));
  }

  ModuleContext& context_;
  const Function& function_;
  Builder b_;
  llvm::StructType* value_type_ = nullptr;
  llvm::Function* ffi_ = nullptr;
  llvm::Value *message_ = nullptr, *pointers_ = nullptr, *call_ = nullptr;
};

}  // namespace

void EmitTvmFfi(ModuleContext& context, const std::vector<Function>& functions) {
  for (const Function& function : functions) TvmFfiEmitter(context, function).Emit();
}

}  // namespace tilewright::codegen
