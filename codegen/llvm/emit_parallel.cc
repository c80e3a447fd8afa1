// Parallel loops: the body becomes a function, the loop a call of the caller's TwParallelHook.
//
//   for i in T.parallel(n): body        closure = {0, call, captures...}
//                                       if (hook) code = hook->parallel_for(hook->pool, thunk, &closure, n, 0)
//                                       else      code = body(0, n, call, captures...)
//
// `thunk(begin, end, closure)` unpacks the captures and calls `body`; that second function exists because parameters,
// unlike loaded pointers, can be `noalias`. A body that fails leaves its code in the closure. Its temporaries lie in
// the part of the workspace that belongs to its first iteration: ranges are disjoint, so no other body uses it.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/abi/function_abi.h"
#include "codegen/llvm/emitter.h"
#include "codegen/llvm/free_variables.h"
#include "codegen/llvm/pointer_facts.h"

namespace tilewright::codegen {
namespace {

enum ClosureField : unsigned { kStatus = 0, kCall = 1, kFirstCapture = 2 };
// The first capture among the arguments of the body.
constexpr size_t kFirstCaptured = 3;

llvm::Function* MakeThunk(ModuleContext& context, llvm::Function* body, llvm::StructType* closure_type,
                          const std::string& name) {
  llvm::Type* ptr = llvm::PointerType::getUnqual(context.llvm);
  llvm::Type* i64 = llvm::Type::getInt64Ty(context.llvm);
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context.llvm), {i64, i64, ptr}, false);
  auto* thunk = llvm::Function::Create(type, llvm::Function::InternalLinkage, name, context.module);
  Builder b(llvm::BasicBlock::Create(context.llvm, "entry", thunk));
  llvm::Value* closure = thunk->getArg(2);
  std::vector<llvm::Value*> args = {thunk->getArg(0), thunk->getArg(1)};
  for (unsigned i = kCall; i < closure_type->getNumElements(); ++i) {
    args.push_back(b.CreateLoad(closure_type->getElementType(i), b.CreateStructGEP(closure_type, closure, i)));
  }
  llvm::Value* code = b.CreateCall(body, args);
  llvm::BasicBlock* failed = llvm::BasicBlock::Create(context.llvm, "failed", thunk);
  llvm::BasicBlock* done = llvm::BasicBlock::Create(context.llvm, "done", thunk);
  b.CreateCondBr(b.CreateIsNotNull(code), failed, done);
  b.SetInsertPoint(failed);
  llvm::StoreInst* store =
      b.CreateAlignedStore(code, b.CreateStructGEP(closure_type, closure, kStatus), llvm::Align(4));
  store->setAtomic(llvm::AtomicOrdering::Monotonic);
  b.CreateBr(done);
  b.SetInsertPoint(done);
  b.CreateRetVoid();
  return thunk;
}

}  // namespace

void FunctionEmitter::BindCaptures(const std::vector<const VarNode*>& variables, llvm::ArrayRef<llvm::Value*> captured,
                                   size_t first, bool distinct) {
  for (size_t i = 0; i < variables.size(); ++i) {
    llvm::Argument* arg = function_->getArg(static_cast<unsigned>(first + i));
    values_[variables[i]] = arg;
    if (arg->getType()->isPointerTy() && distinct) arg->addAttr(llvm::Attribute::NoAlias);
    // What an alloca or a parameter is known to be aligned to.
    const llvm::Align align = captured[i]->getPointerAlignment(context_.module.getDataLayout());
    if (arg->getType()->isPointerTy()) arg->addAttr(llvm::Attribute::getWithAlignment(context_.llvm, align));
  }
}

void FunctionEmitter::EmitParallel(const ForNode* op) {
  std::vector<const VarNode*> free = FreeVariables(op->body);
  std::erase(free, op->var.get());
  llvm::Type* i64 = builder_.getInt64Ty();
  llvm::Type* ptr = builder_.getPtrTy();
  llvm::Type* i32 = builder_.getInt32Ty();

  // What the body receives: the range, the call, the loop's first iteration, the workspace and how much of it is one
  // iteration's, the captures.
  std::vector<llvm::Value*> captured = {Emit(op->min), llvm::Constant::getNullValue(ptr), builder_.getInt64(0)};
  const size_t kFirstVariable = captured.size();
  for (const VarNode* var : free) captured.push_back(EmitVar(var));
  std::vector<llvm::Type*> fields = {i32, ptr};
  std::vector<llvm::Type*> params = {i64, i64, ptr};
  for (llvm::Value* value : captured) {
    fields.push_back(value->getType());
    params.push_back(value->getType());
  }

  const std::string name = absl::StrCat(function_->getName().str(), ".parallel.", op->var.name());
  auto* body = llvm::Function::Create(llvm::FunctionType::get(i32, params, false), llvm::Function::InternalLinkage,
                                      name, context_.module);
  body->addFnAttr(llvm::Attribute::NoInline);
  const bool distinct = !defines_pointers_ && !DefinesPointers(op->body);
  FunctionEmitter inner(context_, body, name_, true);
  inner.set_call(body->getArg(2));
  inner.defines_pointers_ = defines_pointers_;
  llvm::Argument *first = body->getArg(3), *workspace = body->getArg(4), *part_bytes = body->getArg(5);
  inner.BindCaptures(free, llvm::ArrayRef(captured).drop_front(kFirstVariable), kFirstCaptured + kFirstVariable,
                     distinct);
  Builder& b = inner.builder();
  const std::optional<int64_t> parts = AsInt(op->extent);
  if (workspace_ != nullptr && parts && *parts > 0) {
    inner.workspace_ = b.CreateGEP(b.getInt8Ty(), workspace, b.CreateMul(body->getArg(0), part_bytes));
    inner.workspace_parts_ = *parts;
    if (distinct) workspace->addAttr(llvm::Attribute::NoAlias);
  }
  llvm::Type* index = first->getType();
  llvm::Value* begin = b.CreateNSWAdd(first, b.CreateTrunc(body->getArg(0), index));
  llvm::Value* count = b.CreateTrunc(b.CreateNSWSub(body->getArg(1), body->getArg(0)), index);
  inner.ConfigureTiles(op->body);
  inner.EmitSerialLoop(op->var, begin, count, false, op->body);
  inner.ReleaseTiles();
  inner.FenceStreams();
  b.CreateRet(b.getInt32(kTwOk));
  if (status_.ok()) status_ = inner.status();
  if (inner.workspace_high_ > 0) {
    captured[1] = builder_.CreateConstGEP1_64(builder_.getInt8Ty(), workspace_, static_cast<uint64_t>(workspace_top_));
    captured[2] = builder_.getInt64(static_cast<uint64_t>(inner.workspace_high_));
    workspace_high_ = std::max(workspace_high_, workspace_top_ + *parts * inner.workspace_high_);
  }

  auto* closure_type = llvm::StructType::get(context_.llvm, fields);
  llvm::Value* closure = EntryAlloca(closure_type, nullptr, 8, "closure");
  std::vector<llvm::Value*> args = {builder_.getInt64(0), EmitIndex(op->extent), call_};
  args.insert(args.end(), captured.begin(), captured.end());
  ForkOrCall(body, args, closure, closure_type);
}

void FunctionEmitter::ForkOrCall(llvm::Function* body, const std::vector<llvm::Value*>& args, llvm::Value* closure,
                                 llvm::StructType* closure_type) {
  llvm::Type* i64 = builder_.getInt64Ty();
  llvm::Type* ptr = builder_.getPtrTy();
  llvm::Type* i32 = builder_.getInt32Ty();
  llvm::Value* extent = args[1];
  llvm::BasicBlock* ask = NewBlock("parallel.hook");
  llvm::BasicBlock* fork = NewBlock("parallel.fork");
  llvm::BasicBlock* serial = NewBlock("parallel.serial");
  llvm::BasicBlock* done = NewBlock("parallel.done");
  llvm::StructType* hook_type = ParallelHookType(context_.llvm);
  llvm::Value* hook = builder_.CreateLoad(ptr, builder_.CreateStructGEP(CallType(context_.llvm), call_, 0));
  builder_.CreateCondBr(builder_.CreateIsNull(hook), serial, ask);
  builder_.SetInsertPoint(ask);
  llvm::Value* run = builder_.CreateLoad(ptr, builder_.CreateStructGEP(hook_type, hook, 2));
  llvm::Value* alone = builder_.CreateICmpSLE(extent, builder_.getInt64(0));
  if (llvm::Value* worth = std::exchange(worth_threads_, nullptr)) {
    alone = builder_.CreateOr(alone, builder_.CreateNot(worth));
  }
  builder_.CreateCondBr(builder_.CreateOr(alone, builder_.CreateIsNull(run)), serial, fork);
  builder_.SetInsertPoint(fork);
  builder_.CreateStore(builder_.getInt32(kTwOk), builder_.CreateStructGEP(closure_type, closure, kStatus));
  builder_.CreateStore(call_, builder_.CreateStructGEP(closure_type, closure, kCall));
  for (unsigned i = kFirstCapture; i < closure_type->getNumElements(); ++i) {
    builder_.CreateStore(args[kFirstCaptured + i - kFirstCapture], builder_.CreateStructGEP(closure_type, closure, i));
  }
  llvm::Function* thunk = MakeThunk(context_, body, closure_type, absl::StrCat(body->getName().str(), ".thunk"));
  llvm::Value* pool = builder_.CreateLoad(ptr, builder_.CreateStructGEP(hook_type, hook, 0));
  auto* run_type = llvm::FunctionType::get(i32, {ptr, ptr, ptr, i64, i64}, false);
  llvm::Value* hook_code = builder_.CreateCall(run_type, run, {pool, thunk, closure, extent, builder_.getInt64(0)});
  llvm::Value* body_code = builder_.CreateLoad(i32, builder_.CreateStructGEP(closure_type, closure, kStatus));
  llvm::Value* forked = builder_.CreateSelect(builder_.CreateIsNull(hook_code), body_code, hook_code);
  builder_.CreateBr(done);
  builder_.SetInsertPoint(serial);
  llvm::Value* in_order = builder_.CreateCall(body, args);
  builder_.CreateBr(done);
  builder_.SetInsertPoint(done);
  llvm::PHINode* code = builder_.CreatePHI(i32, 2);
  code->addIncoming(forked, fork);
  code->addIncoming(in_order, serial);
  ReturnIfError(code);
}

}  // namespace tilewright::codegen
