// The exported functions: they bind the variables of shapes and strides and call `compute`. One checks every argument,
// the other (NAME_unchecked) takes the caller's word.
#include <algorithm>
#include <functional>
#include <unordered_set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "codegen/abi/c_symbol.h"
#include "codegen/abi/function_abi.h"
#include "codegen/llvm/emit_checks.h"
#include "codegen/llvm/emitter.h"
#include "ir/annotations.h"
#include "llvm/IR/InlineAsm.h"

namespace tilewright::codegen {
namespace {

class AbiEmitter {
 public:
  AbiEmitter(ModuleContext& context, const Function& function, const ComputeFunction& compute, llvm::Function* abi,
             bool checked)
      : context_(context),
        function_(function),
        compute_(compute),
        abi_(abi),
        checked_(checked),
        emitter_(context, abi, function->name, false),
        b_(emitter_.builder()),
        code_{context, emitter_, abi, abi->getArg(0), abi->getArg(1)} {}

  absl::Status Emit() {
    llvm::Constant* zeros = llvm::Constant::getNullValue(CallType(context_.llvm));
    auto* defaults = new llvm::GlobalVariable(context_.module, zeros->getType(), true,
                                              llvm::GlobalValue::InternalLinkage, zeros, "no_call");
    llvm::Value* given = abi_->getArg(0);
    code_.call = b_.CreateSelect(b_.CreateIsNull(given), defaults, given);
    if (checked_) {
      CheckCount();
      TW_RETURN_IF_ERROR(CheckForm(code_, function_));
    }
    for (size_t i = 0; i < function_->params.size(); ++i) BindScalar(i);
    for (size_t i = 0; i < function_->params.size(); ++i) BindVariables(i);
    AskForBytes();
    if (checked_) TW_RETURN_IF_ERROR(CheckValues(code_, function_, variables_));
    if (UsesAmx(function_->body)) AskForAmx();
    CallCompute();
    return emitter_.status();
  }

 private:
  void Check(llvm::Value* condition, TwError error, const std::string& format, llvm::ArrayRef<llvm::Value*> args) {
    code_.Check(condition, error, format, args);
  }

  void CheckCount() {
    const uint32_t expected = static_cast<uint32_t>(function_->params.size());
    llvm::Value* count = abi_->getArg(2);
    Check(b_.CreateICmpEQ(count, b_.getInt32(expected)), kTwErrorArgumentCount,
          absl::StrCat(function_->name, " takes ", expected, " arguments, got %d"), {count});
  }

  // The workspace that this call needs; null: none. A function that says it (emit_sizes.h) may refuse the extents.
  void AskForBytes() {
    if (llvm::Function* bytes = context_.module.getFunction(absl::StrCat(function_->name, ".bytes"))) {
      std::vector<llvm::Value*> args = {code_.call};
      for (const Var& var : compute_.scalars) args.push_back(emitter_.Emit(Expr(var)));
      needed_ = b_.CreateCall(bytes, args);
      auto* refused = llvm::BasicBlock::Create(context_.llvm, "refused", abi_);
      auto* passed = llvm::BasicBlock::Create(context_.llvm, "checked", abi_);
      b_.CreateCondBr(b_.CreateICmpSGE(needed_, b_.getInt64(0)), passed, refused);
      b_.SetInsertPoint(refused);
      b_.CreateRet(b_.CreateTrunc(b_.CreateNeg(needed_), b_.getInt32Ty()));
      b_.SetInsertPoint(passed);
    } else if (compute_.workspace_bytes > 0) {
      needed_ = b_.getInt64(static_cast<uint64_t>(compute_.workspace_bytes));
    }
  }

  // Linux allows a program the tile registers when it asks (arch_prctl): once, for all threads.
  void AskForAmx() {
    llvm::Type* i64 = b_.getInt64Ty();
    auto* allowed = new llvm::GlobalVariable(context_.module, b_.getInt8Ty(), false, llvm::GlobalValue::InternalLinkage,
                                             b_.getInt8(0), "amx_allowed");
    auto* ask = llvm::BasicBlock::Create(context_.llvm, "ask", abi_);
    auto* may = llvm::BasicBlock::Create(context_.llvm, "may", abi_);
    b_.CreateCondBr(b_.CreateIsNull(b_.CreateLoad(b_.getInt8Ty(), allowed)), ask, may);
    b_.SetInsertPoint(ask);
    constexpr uint64_t kArchPrctl = 158, kRequestPermission = 0x1023, kTileData = 18;
    llvm::InlineAsm* system_call = llvm::InlineAsm::get(llvm::FunctionType::get(i64, {i64, i64, i64}, false), "syscall",
                                                        "={rax},{rax},{rdi},{rsi},~{rcx},~{r11},~{memory}", true);
    llvm::Value* result =
        b_.CreateCall(system_call, {b_.getInt64(kArchPrctl), b_.getInt64(kRequestPermission), b_.getInt64(kTileData)});
    Check(b_.CreateIsNull(result), kTwErrorPermission,
          "the system does not allow the use of AMX's registers: error %lld", {result});
    b_.CreateStore(b_.getInt8(1), allowed);
    b_.CreateBr(may);
    b_.SetInsertPoint(may);
  }

  // The address of an argument's first element.
  llvm::Value* Data(size_t index) {
    if (checked_) return code_.Data(code_.Tensor(index));
    return b_.CreateLoad(b_.getPtrTy(), b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), abi_->getArg(1), index));
  }
  std::vector<llvm::Value*> Extents(size_t index) {
    const size_t rank = function_->params[index].buffer->ndim();
    if (checked_) return code_.Extents(code_.Tensor(index), rank);
    llvm::Type* ptr = b_.getPtrTy();
    llvm::Value* array = b_.CreateLoad(ptr, b_.CreateConstInBoundsGEP1_64(ptr, abi_->getArg(2), index));
    return LoadNumbers(b_, array, rank);
  }
  // Those of unchecked functions' arguments are compact.
  std::vector<llvm::Value*> Strides(size_t index) {
    const std::vector<llvm::Value*> compact = code_.Compact(Extents(index));
    return checked_ ? code_.Strides(code_.Tensor(index), compact) : compact;
  }

  void BindScalar(size_t index) {
    const Param& param = function_->params[index];
    if (param.buffer || param.var.dtype().is_handle()) return;
    const DataType type = param.var.dtype();
    Bind(param.var, FromMemory(b_, type, b_.CreateLoad(MemoryType(context_.llvm, type), Data(index))));
  }
  void Bind(const Var& var, llvm::Value* value) {
    emitter_.Bind(var, value);
    if (bound_.insert(var.get()).second) variables_.push_back(var);
  }

  // A variable that stands alone as an extent or a stride gets its value where it first occurs.
  bool Binds(const Expr& e) const {
    const auto* var = dyn_cast<VarNode>(e);
    return var != nullptr && !bound_.contains(var);
  }
  void BindTo(const Expr& e, llvm::Value* value) {
    if (!Binds(e)) return;
    const Var var(cast<VarNode>(e));
    Bind(var, b_.CreateTrunc(value, RegisterType(context_.llvm, var.dtype())));
  }
  void BindTo(const std::vector<Expr>& all, const std::function<std::vector<llvm::Value*>()>& values) {
    if (std::ranges::none_of(all, [&](const Expr& e) { return Binds(e); })) return;
    const std::vector<llvm::Value*> loaded = values();
    for (size_t i = 0; i < all.size(); ++i) BindTo(all[i], loaded[i]);
  }
  void BindVariables(size_t index) {
    const Buffer& buffer = function_->params[index].buffer;
    if (!buffer) return;
    BindTo(buffer->shape, [&] { return Extents(index); });
    BindTo(buffer->strides, [&] { return Strides(index); });
    if (buffer->elem_offset) BindTo(buffer->elem_offset, b_.getInt64(0));
  }

  void CallCompute() {
    llvm::Type* ptr = b_.getPtrTy();
    llvm::Value* workspace = llvm::Constant::getNullValue(ptr);
    llvm::Value* own = workspace;
    if (needed_ != nullptr) {
      llvm::StructType* type = CallType(context_.llvm);
      llvm::Value* needed = needed_;
      llvm::Value* given = b_.CreateLoad(ptr, b_.CreateStructGEP(type, code_.call, kWorkspace));
      llvm::Value* room = b_.CreateLoad(b_.getInt64Ty(), b_.CreateStructGEP(type, code_.call, kWorkspaceBytes));
      llvm::Value* rest = b_.CreateAnd(b_.CreatePtrToInt(given, b_.getInt64Ty()), b_.getInt64(63));
      llvm::Value* usable =
          b_.CreateAnd(b_.CreateAnd(b_.CreateIsNotNull(given), b_.CreateICmpSGE(room, needed)), b_.CreateIsNull(rest));
      auto* allocate = llvm::BasicBlock::Create(context_.llvm, "allocate", abi_);
      auto* ready = llvm::BasicBlock::Create(context_.llvm, "ready", abi_);
      llvm::BasicBlock* before = b_.GetInsertBlock();
      b_.CreateCondBr(usable, ready, allocate);
      b_.SetInsertPoint(allocate);
      auto* allocate_type = llvm::FunctionType::get(ptr, {b_.getInt64Ty(), b_.getInt64Ty()}, false);
      llvm::Value* fresh =
          b_.CreateCall(context_.module.getOrInsertFunction("aligned_alloc", allocate_type), {b_.getInt64(64), needed});
      Check(b_.CreateIsNotNull(fresh), kTwErrorMemory, "no memory for %lld bytes of temporaries", {needed});
      llvm::BasicBlock* allocated = b_.GetInsertBlock();
      b_.CreateBr(ready);
      b_.SetInsertPoint(ready);
      llvm::PHINode* either = b_.CreatePHI(ptr, 2);
      either->addIncoming(given, before);
      either->addIncoming(fresh, allocated);
      llvm::PHINode* to_free = b_.CreatePHI(ptr, 2);
      to_free->addIncoming(own, before);
      to_free->addIncoming(fresh, allocated);
      workspace = either;
      own = to_free;
    }
    std::vector<llvm::Value*> args = {code_.call, workspace};
    for (size_t i = 0; i < function_->params.size(); ++i) {
      const Param& param = function_->params[i];
      if (param.buffer || param.var.dtype().is_handle()) args.push_back(Data(i));
    }
    for (const Var& var : compute_.scalars) args.push_back(emitter_.Emit(Expr(var)));
    llvm::CallInst* code = b_.CreateCall(compute_.function, args);
    if (needed_ != nullptr) {
      auto* free_type = llvm::FunctionType::get(b_.getVoidTy(), {ptr}, false);
      b_.CreateCall(context_.module.getOrInsertFunction("free", free_type), {own});
    }
    b_.CreateRet(code);
  }

  ModuleContext& context_;
  const Function& function_;
  const ComputeFunction& compute_;
  llvm::Function* abi_;
  const bool checked_;
  FunctionEmitter emitter_;
  Builder& b_;
  ArgumentCode code_;
  llvm::Value* needed_ = nullptr;
  std::vector<Var> variables_;  // those of bound_, in the order of the arguments
  std::unordered_set<const VarNode*> bound_;
};

}  // namespace

llvm::StructType* CallType(llvm::LLVMContext& context) {
  llvm::Type* ptr = llvm::PointerType::getUnqual(context);
  llvm::Type* i64 = llvm::Type::getInt64Ty(context);
  return llvm::StructType::get(context, {ptr, ptr, i64, ptr, i64});
}
llvm::StructType* TensorType(llvm::LLVMContext& context) {
  llvm::Type* ptr = llvm::PointerType::getUnqual(context);
  llvm::Type* i32 = llvm::Type::getInt32Ty(context);
  return llvm::StructType::get(context, {ptr, i32, i32, i32, i32, ptr, ptr, llvm::Type::getInt64Ty(context)});
}
llvm::StructType* ParallelHookType(llvm::LLVMContext& context) {
  llvm::Type* ptr = llvm::PointerType::getUnqual(context);
  return llvm::StructType::get(context, {ptr, llvm::Type::getInt64Ty(context), ptr});
}

void EmitMessage(ModuleContext& context, Builder& builder, llvm::Value* call, const std::string& format,
                 llvm::ArrayRef<llvm::Value*> args) {
  llvm::StructType* type = CallType(context.llvm);
  llvm::Type* i64 = builder.getInt64Ty();
  llvm::Value* text = builder.CreateLoad(builder.getPtrTy(), builder.CreateStructGEP(type, call, kMessage));
  llvm::Value* room = builder.CreateLoad(i64, builder.CreateStructGEP(type, call, kMessageBytes));
  room = builder.CreateSelect(builder.CreateIsNull(text), builder.getInt64(0), room);
  std::vector<llvm::Value*> all = {text, room, builder.CreateGlobalString(format)};
  all.insert(all.end(), args.begin(), args.end());
  auto* snprintf_type =
      llvm::FunctionType::get(builder.getInt32Ty(), {builder.getPtrTy(), i64, builder.getPtrTy()}, true);
  builder.CreateCall(context.module.getOrInsertFunction("snprintf", snprintf_type), all);
}

namespace {

// NAME_workspace_bytes: of no arguments, or of the extents that it depends on.
void EmitWorkspaceFunction(ModuleContext& context, const Function& function, const ComputeFunction& compute) {
  llvm::Type* i64 = llvm::Type::getInt64Ty(context.llvm);
  llvm::Function* sized = context.module.getFunction(absl::StrCat(function->name, ".bytes"));
  const std::vector<llvm::Type*> types(sized == nullptr ? 0 : compute.scalars.size(), i64);
  auto* bytes = llvm::Function::Create(llvm::FunctionType::get(i64, types, false), llvm::Function::ExternalLinkage,
                                       absl::StrCat(function->name, "_workspace_bytes"), context.module);
  Builder b(llvm::BasicBlock::Create(context.llvm, "entry", bytes));
  if (sized == nullptr) return void(b.CreateRet(b.getInt64(static_cast<uint64_t>(compute.workspace_bytes))));
  llvm::StructType* type = CallType(context.llvm);
  std::vector<llvm::Value*> args = {b.CreateAlloca(type)};
  b.CreateStore(llvm::Constant::getNullValue(type), args[0]);
  for (llvm::Argument& extent : bytes->args()) args.push_back(&extent);
  b.CreateRet(b.CreateCall(sized, args));
}

// NAME, which checks its arguments.
absl::Status EmitChecked(ModuleContext& context, const Function& function, const ComputeFunction& compute) {
  llvm::Type *ptr = llvm::PointerType::getUnqual(context.llvm), *i32 = llvm::Type::getInt32Ty(context.llvm);
  auto* type = llvm::FunctionType::get(i32, {ptr, ptr, i32}, false);
  auto* abi = llvm::Function::Create(type, llvm::Function::ExternalLinkage, CSymbol(function->name), context.module);
  // A few hundred instructions that run once a call: optimizing them would take longer than many a kernel's body.
  abi->addFnAttr(llvm::Attribute::OptimizeNone);
  abi->addFnAttr(llvm::Attribute::NoInline);
  // Weak: a C program's own main wins, and nothing clashes.
  if (function->name == "main") {
    llvm::GlobalAlias::create(type, 0, llvm::GlobalValue::WeakAnyLinkage, function->name, abi, &context.module);
  }
  return AbiEmitter(context, function, compute, abi, true).Emit();
}

}  // namespace

absl::Status EmitAbi(ModuleContext& context, const Function& function, const ComputeFunction& compute) {
  for (const Param& param : function->params) {
    const DataType type = param.buffer ? param.buffer->dtype : param.var.dtype();
    if (type.is_integer() && type.bits() % 8 != 0) {
      return absl::UnimplementedError(absl::StrCat("function ", function->name, ": parameter ", param.var.name(),
                                                   " has type ", type.ToString(), ", which tensors hold packed"));
    }
  }
  llvm::Type *ptr = llvm::PointerType::getUnqual(context.llvm), *i32 = llvm::Type::getInt32Ty(context.llvm);
  if (!function->attrs.contains(kUncheckedOnly)) TW_RETURN_IF_ERROR(EmitChecked(context, function, compute));
  auto* unchecked =
      llvm::Function::Create(llvm::FunctionType::get(i32, {ptr, ptr, ptr}, false), llvm::Function::ExternalLinkage,
                             absl::StrCat(function->name, "_unchecked"), context.module);
  EmitWorkspaceFunction(context, function, compute);
  return AbiEmitter(context, function, compute, unchecked, false).Emit();
}

}  // namespace tilewright::codegen
