// The exported functions: they bind the variables of shapes and strides and call `compute`. One checks every argument,
// the other (NAME_unchecked) takes the caller's word.
#include <unordered_set>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "codegen/abi/abi_type.h"
#include "codegen/abi/c_symbol.h"
#include "codegen/abi/function_abi.h"
#include "codegen/llvm/emit_sizes.h"
#include "codegen/llvm/emitter.h"
#include "codegen/llvm/pointer_facts.h"
#include "ir/annotations.h"
#include "ir/functor.h"
#include "llvm/IR/InlineAsm.h"

namespace tilewright::codegen {
namespace {

enum CallField : unsigned { kWorkspace = 1, kWorkspaceBytes = 2, kMessage = 3, kMessageBytes = 4 };
enum TensorField : unsigned {
  kData = 0,
  kDeviceType = 1,
  kNdim = 3,
  kDtype = 4,
  kShape = 5,
  kStrides = 6,
  kOffset = 7
};

// code | bits << 8 | lanes << 16, as TwDataType lies in memory on a little-endian machine.
uint32_t DtypeWord(DataType type) {
  const TwDataType word = AbiType(type);
  return word.code | static_cast<uint32_t>(word.bits) << 8 | static_cast<uint32_t>(word.lanes) << 16;
}

// One argument of the call while it is checked.
struct Argument {
  std::string label;  // "argument 0 (A)"
  const Param* param;
  llvm::Value* tensor = nullptr;
  llvm::Value* data = nullptr;               // byte_offset included
  std::vector<llvm::Value*> shape, strides;  // i64; strides of null tensors are the compact ones
  llvm::Value* bytes = nullptr;              // from `data` to behind the last element
};

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
        b_(emitter_.builder()) {}

  absl::Status Emit() {
    llvm::Constant* zeros = llvm::Constant::getNullValue(CallType(context_.llvm));
    auto* defaults = new llvm::GlobalVariable(context_.module, zeros->getType(), true,
                                              llvm::GlobalValue::InternalLinkage, zeros, "no_call");
    llvm::Value* given = abi_->getArg(0);
    call_ = b_.CreateSelect(b_.CreateIsNull(given), defaults, given);
    if (checked_) CheckCount();
    for (size_t i = 0; i < function_->params.size(); ++i) {
      if (checked_) {
        Load(i);
      } else {
        LoadUnchecked(i);
      }
    }
    for (Argument& argument : arguments_) BindVariables(argument);
    AskForBytes();
    if (checked_) CheckArguments();
    if (UsesAmx(function_->body)) AskForAmx();
    CallCompute();
    return emitter_.status();
  }

 private:
  // Returns `code` with a message from the exported function where `condition` is false.
  void Check(llvm::Value* condition, TwError code, const std::string& format, llvm::ArrayRef<llvm::Value*> args) {
    if (auto* constant = llvm::dyn_cast<llvm::ConstantInt>(condition); constant && constant->isOne()) return;
    auto* failed = llvm::BasicBlock::Create(context_.llvm, "refused", abi_);
    auto* passed = llvm::BasicBlock::Create(context_.llvm, "checked", abi_);
    b_.CreateCondBr(condition, passed, failed);
    b_.SetInsertPoint(failed);
    EmitMessage(context_, b_, call_, format, args);
    b_.CreateRet(b_.getInt32(code));
    b_.SetInsertPoint(passed);
  }

  void CheckCount() {
    const uint32_t expected = static_cast<uint32_t>(function_->params.size());
    llvm::Value* count = abi_->getArg(2);
    Check(b_.CreateICmpEQ(count, b_.getInt32(expected)), kTwErrorArgumentCount,
          absl::StrCat(function_->name, " takes ", expected, " arguments, got %d"), {count});
  }
  void CheckArguments() {
    for (Argument& argument : arguments_) CheckShape(argument);
    for (Argument& argument : arguments_) CheckStrides(argument);
    for (Argument& argument : arguments_) CheckData(argument);
    for (Argument& argument : arguments_) CheckAlignment(argument);
    CheckAliasing();
  }

  // The workspace that this call needs; null: none. A function that says it (emit_sizes.h) may refuse the extents.
  void AskForBytes() {
    if (llvm::Function* bytes = context_.module.getFunction(absl::StrCat(function_->name, ".bytes"))) {
      std::vector<llvm::Value*> args = {call_};
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

  llvm::Value* Field(llvm::Value* tensor, TensorField field) {
    llvm::StructType* type = TensorType(context_.llvm);
    return b_.CreateLoad(type->getElementType(field), b_.CreateStructGEP(type, tensor, field));
  }

  void Load(size_t index) {
    const Param& param = function_->params[index];
    const bool is_scalar = !param.buffer && !param.var.dtype().is_handle();
    Argument argument;
    argument.param = &param;
    argument.label = absl::StrCat("argument ", index, " (", param.buffer ? param.buffer->name : param.var.name(), ")");
    llvm::Type* ptr = b_.getPtrTy();
    argument.tensor = b_.CreateLoad(ptr, b_.CreateConstInBoundsGEP1_64(ptr, abi_->getArg(1), index));
    Check(b_.CreateIsNotNull(argument.tensor), kTwErrorNullArgument, argument.label + " is null", {});
    llvm::Value* base = Field(argument.tensor, kData);
    if (!param.buffer) Check(b_.CreateIsNotNull(base), kTwErrorNullArgument, argument.label + " has no data", {});
    llvm::Value* device = Field(argument.tensor, kDeviceType);
    Check(b_.CreateICmpEQ(device, b_.getInt32(kTwCpu)), kTwErrorDevice,
          argument.label + " lies on a device of type %d, not on the CPU", {device});
    argument.data = b_.CreateGEP(b_.getInt8Ty(), base, Field(argument.tensor, kOffset));
    emitter_.Bind(param.var, argument.data);
    if (param.buffer) emitter_.Bind(param.buffer->data, argument.data);
    if (param.buffer || is_scalar) {
      const DataType type = param.buffer ? param.buffer->dtype : param.var.dtype();
      const uint64_t rank = param.buffer ? param.buffer->ndim() : 0;
      llvm::Value* ndim = Field(argument.tensor, kNdim);
      Check(b_.CreateICmpEQ(ndim, b_.getInt32(static_cast<uint32_t>(rank))), kTwErrorRank,
            absl::StrCat(argument.label, " has %d dimensions, expected ", rank), {ndim});
      llvm::Value* dtype = Field(argument.tensor, kDtype);
      Check(b_.CreateICmpEQ(dtype, b_.getInt32(DtypeWord(type))), kTwErrorType,
            absl::StrCat(argument.label, " is not of type ", type.ToString()), {});
    }
    if (is_scalar) {
      llvm::Value* value = b_.CreateLoad(MemoryType(context_.llvm, param.var.dtype()), argument.data);
      emitter_.Bind(param.var, FromMemory(b_, param.var.dtype(), value));
      bound_.insert(param.var.get());
    }
    if (param.buffer) LoadShape(argument);
    arguments_.push_back(std::move(argument));
  }

  // From the arrays of pointers to elements and to extents.
  void LoadUnchecked(size_t index) {
    const Param& param = function_->params[index];
    llvm::Type *ptr = b_.getPtrTy(), *i64 = b_.getInt64Ty();
    Argument argument{.label = "", .param = &param};
    argument.data = b_.CreateLoad(ptr, b_.CreateConstInBoundsGEP1_64(ptr, abi_->getArg(1), index));
    emitter_.Bind(param.var, argument.data);
    if (param.buffer) {
      emitter_.Bind(param.buffer->data, argument.data);
      llvm::Value* shape = b_.CreateLoad(ptr, b_.CreateConstInBoundsGEP1_64(ptr, abi_->getArg(2), index));
      llvm::Value* product = b_.getInt64(1);
      argument.shape.resize(param.buffer->ndim());
      argument.strides.resize(param.buffer->ndim());
      for (size_t i = param.buffer->ndim(); i-- > 0;) {
        argument.shape[i] = b_.CreateLoad(i64, b_.CreateConstInBoundsGEP1_64(i64, shape, i));
        argument.strides[i] = product;
        product = b_.CreateMul(product, argument.shape[i]);
      }
    } else if (!param.var.dtype().is_handle()) {
      llvm::Value* value = b_.CreateLoad(MemoryType(context_.llvm, param.var.dtype()), argument.data);
      emitter_.Bind(param.var, FromMemory(b_, param.var.dtype(), value));
      bound_.insert(param.var.get());
    }
    arguments_.push_back(std::move(argument));
  }

  void LoadShape(Argument& argument) {
    const size_t rank = argument.param->buffer->ndim();
    llvm::Type* i64 = b_.getInt64Ty();
    auto element = [&](llvm::Value* array, size_t i) {
      return b_.CreateLoad(i64, b_.CreateConstInBoundsGEP1_64(i64, array, i));
    };
    if (rank == 0) return;
    llvm::Value* shape = Field(argument.tensor, kShape);
    for (size_t i = 0; i < rank; ++i) argument.shape.push_back(element(shape, i));
    argument.strides.resize(rank);
    std::vector<llvm::Value*> compact(rank);
    llvm::Value* product = b_.getInt64(1);
    for (size_t i = rank; i-- > 0;) {
      compact[i] = product;
      product = b_.CreateMul(product, argument.shape[i]);
    }
    llvm::Value* strides = Field(argument.tensor, kStrides);
    auto* given = llvm::BasicBlock::Create(context_.llvm, "strides", abi_);
    auto* done = llvm::BasicBlock::Create(context_.llvm, "strides.done", abi_);
    llvm::BasicBlock* before = b_.GetInsertBlock();
    b_.CreateCondBr(b_.CreateIsNull(strides), done, given);
    b_.SetInsertPoint(given);
    for (size_t i = 0; i < rank; ++i) argument.strides[i] = element(strides, i);
    b_.CreateBr(done);
    b_.SetInsertPoint(done);
    for (size_t i = 0; i < rank; ++i) {
      llvm::PHINode* phi = b_.CreatePHI(i64, 2);
      phi->addIncoming(argument.strides[i], given);
      phi->addIncoming(compact[i], before);
      argument.strides[i] = phi;
    }
  }

  // A variable that stands alone as an extent or a stride gets its value where it first occurs.
  void BindTo(const Expr& e, llvm::Value* value) {
    const auto* var = dyn_cast<VarNode>(e);
    if (var == nullptr || !bound_.insert(var).second) return;
    emitter_.Bind(Var(var), b_.CreateTrunc(value, RegisterType(context_.llvm, var->dtype())));
  }
  void BindVariables(const Argument& argument) {
    const Buffer& buffer = argument.param->buffer;
    if (!buffer) return;
    for (size_t i = 0; i < buffer->ndim(); ++i) BindTo(buffer->shape[i], argument.shape[i]);
    for (size_t i = 0; i < buffer->strides.size(); ++i) BindTo(buffer->strides[i], argument.strides[i]);
    if (buffer->elem_offset) BindTo(buffer->elem_offset, b_.getInt64(0));
  }

  void CheckShape(const Argument& argument) {
    const Buffer& buffer = argument.param->buffer;
    if (!buffer) return;
    for (size_t i = 0; i < buffer->ndim(); ++i) {
      llvm::Value* expected = emitter_.EmitIndex(buffer->shape[i]);
      llvm::Value* same = b_.CreateICmpEQ(argument.shape[i], expected);
      llvm::Value* sound = b_.CreateICmpSGE(argument.shape[i], b_.getInt64(0));
      Check(b_.CreateAnd(same, sound), kTwErrorShape,
            absl::StrCat(argument.label, ": dimension ", i, " has extent %lld, expected %lld"),
            {argument.shape[i], expected});
    }
  }

  void CheckStrides(Argument& argument) {
    const Buffer& buffer = argument.param->buffer;
    if (!buffer) return;
    llvm::Value* expected = b_.getInt64(1);
    llvm::Value* last = b_.getInt64(0);  // index of the last element
    llvm::Value* empty = b_.getFalse();
    for (llvm::Value* extent : argument.shape) empty = b_.CreateOr(empty, b_.CreateIsNull(extent));
    for (size_t i = buffer->ndim(); i-- > 0;) {
      llvm::Value* extent = argument.shape[i];
      if (!buffer->strides.empty()) expected = emitter_.EmitIndex(buffer->strides[i]);
      // The stride of a single element is never used, and none is where there are no elements.
      llvm::Value* same = b_.CreateICmpEQ(argument.strides[i], expected);
      llvm::Value* unused = b_.CreateOr(b_.CreateICmpSLE(extent, b_.getInt64(1)), empty);
      Check(b_.CreateOr(same, unused), kTwErrorStrides,
            absl::StrCat(argument.label, ": dimension ", i, " has stride %lld, expected %lld"),
            {argument.strides[i], expected});
      llvm::Value* before_end = b_.CreateSub(extent, b_.getInt64(1));
      last = b_.CreateAdd(last, b_.CreateMul(before_end, expected));
      if (buffer->strides.empty()) expected = b_.CreateMul(expected, extent);
    }
    const uint64_t element = static_cast<uint64_t>(buffer->dtype.bytes() * buffer->dtype.lanes());
    llvm::Value* bytes = b_.CreateMul(b_.CreateAdd(last, b_.getInt64(1)), b_.getInt64(element));
    argument.bytes = b_.CreateSelect(empty, b_.getInt64(0), bytes);
  }

  // Arrays without elements may have no memory.
  void CheckData(const Argument& argument) {
    if (!argument.param->buffer) return;
    llvm::Value* given = b_.CreateIsNotNull(Field(argument.tensor, kData));
    Check(b_.CreateOr(given, b_.CreateIsNull(argument.bytes)), kTwErrorNullArgument, argument.label + " has no data",
          {});
  }

  void CheckAlignment(const Argument& argument) {
    const Buffer& buffer = argument.param->buffer;
    if (!buffer || buffer->alignment <= 1) return;
    llvm::Value* address = b_.CreatePtrToInt(argument.data, b_.getInt64Ty());
    llvm::Value* rest = b_.CreateAnd(address, b_.getInt64(static_cast<uint64_t>(buffer->alignment) - 1));
    Check(b_.CreateIsNull(rest), kTwErrorAlignment,
          absl::StrCat(argument.label, " is not aligned to ", buffer->alignment, " bytes"), {});
  }

  // The same memory with the same extents.
  llvm::Value* IsSameTensor(const Argument& a, const Argument& b) {
    llvm::Value* same = b_.CreateICmpEQ(a.data, b.data);
    for (size_t d = 0; d < a.shape.size(); ++d) {
      same = b_.CreateAnd(same, b_.CreateICmpEQ(a.shape[d], b.shape[d]));
    }
    return same;
  }

  void CheckAliasing() {
    const std::unordered_set<const VarNode*> written = WrittenBuffers(function_->body);
    auto is_written = [&](const Argument& a) {
      return a.param->buffer && (written.contains(a.param->buffer->data.get()) || written.contains(a.param->var.get()));
    };
    for (size_t i = 0; i < arguments_.size(); ++i) {
      for (size_t j = i + 1; j < arguments_.size(); ++j) {
        const Argument &a = arguments_[i], &b = arguments_[j];
        if (!a.param->buffer || !b.param->buffer || (!is_written(a) && !is_written(b))) continue;
        llvm::Value* a_begin = b_.CreatePtrToInt(a.data, b_.getInt64Ty());
        llvm::Value* b_begin = b_.CreatePtrToInt(b.data, b_.getInt64Ty());
        llvm::Value* a_first = b_.CreateICmpULE(b_.CreateAdd(a_begin, a.bytes), b_begin);
        llvm::Value* b_first = b_.CreateICmpULE(b_.CreateAdd(b_begin, b.bytes), a_begin);
        llvm::Value* allowed = b_.CreateOr(a_first, b_first);
        if (MayShareMemory(context_, function_->name, i, j)) allowed = b_.CreateOr(allowed, IsSameTensor(a, b));
        Check(allowed, kTwErrorAliasing,
              absl::StrCat(a.label, " and ", b.label, " overlap, and one of them is written"), {});
      }
    }
  }

  void CallCompute() {
    llvm::Type* ptr = b_.getPtrTy();
    llvm::Value* workspace = llvm::Constant::getNullValue(ptr);
    llvm::Value* own = workspace;
    if (needed_ != nullptr) {
      llvm::StructType* type = CallType(context_.llvm);
      llvm::Value* needed = needed_;
      llvm::Value* given = b_.CreateLoad(ptr, b_.CreateStructGEP(type, call_, kWorkspace));
      llvm::Value* room = b_.CreateLoad(b_.getInt64Ty(), b_.CreateStructGEP(type, call_, kWorkspaceBytes));
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
    std::vector<llvm::Value*> args = {call_, workspace};
    for (const Argument& argument : arguments_) {
      if (argument.param->buffer || argument.param->var.dtype().is_handle()) args.push_back(argument.data);
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
  llvm::Value *call_ = nullptr, *needed_ = nullptr;
  std::vector<Argument> arguments_;
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
