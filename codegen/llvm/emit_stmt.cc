// Statements: loops, branches, allocations, assertions.
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "codegen/abi/function_abi.h"
#include "codegen/llvm/emitter.h"
#include "codegen/llvm/pointer_facts.h"
#include "ir/annotations.h"
#include "llvm/IR/MDBuilder.h"

namespace tilewright::codegen {
namespace {

// Temporaries up to this size live on the stack: well below the smallest default stack of a thread (8 MiB on Linux, but
// callers choose) even when a few are alive.
constexpr int64_t kMaxStackBytes = 64 << 10;
constexpr int64_t kMaxStackBytesOfFunction = 512 << 10;
// Bytes of a parallel loop's temporaries in the workspace, all iterations together.
constexpr int64_t kMaxWorkspaceBytesOfLoop = 64 << 20;
// The boundary of vectors and cache lines.
constexpr uint64_t kTemporaryAlignment = 64;

bool OnCpu(MemoryKind kind) {
  return kind == MemoryKind::kGlobal || kind == MemoryKind::kLocal || kind == MemoryKind::kRegister;
}

}  // namespace

FunctionEmitter::FunctionEmitter(ModuleContext& context, llvm::Function* function, std::string name,
                                 bool inside_parallel)
    : context_(context),
      function_(function),
      name_(std::move(name)),
      inside_parallel_(inside_parallel),
      builder_(context.llvm) {
  builder_.SetInsertPoint(NewBlock("entry"));
  // a * b + c may be one fused operation (docs/numerics.md); nothing else about floating point is relaxed.
  llvm::FastMathFlags flags;
  flags.setAllowContract(true);
  builder_.setFastMathFlags(flags);
}

void FunctionEmitter::FailStmt(const std::string& message) { Fail(DataType::Int(32), message); }

llvm::BasicBlock* FunctionEmitter::NewBlock(const char* name) {
  return llvm::BasicBlock::Create(context_.llvm, name, function_);
}

absl::Status FunctionEmitter::EmitBody(const Stmt& body) {
  ConfigureTiles(body);
  Emit(body);
  ReleaseTiles();
  FenceStreams();
  builder_.CreateRet(builder_.getInt32(kTwOk));
  return status_;
}

void FunctionEmitter::Emit(const Stmt& s) {
  if (!s) return;
  switch (s->kind()) {
    case Kind::kFor:
      return EmitFor(cast<ForNode>(s));
    case Kind::kWhile:
      return EmitWhile(cast<WhileNode>(s));
    case Kind::kIf:
      return EmitIf(cast<IfNode>(s));
    case Kind::kSeq:
      return EmitSeq(cast<SeqNode>(s));
    case Kind::kStore:
      NoteUpdates(s);
      return EmitStore(cast<StoreNode>(s));
    case Kind::kEvaluate:
      if (!IsNoOp(s)) Emit(cast<EvaluateNode>(s)->value);
      return;
    case Kind::kLetStmt: {
      const auto* let = cast<LetStmtNode>(s);
      NoteUpdates(s);
      defines_pointers_ |= let->var.dtype().is_handle();
      values_[let->var.get()] = Emit(let->value);
      return Emit(let->body);
    }
    case Kind::kAttrStmt: {
      const auto* attribute = cast<AttrStmtNode>(s);
      if (attribute->key == kThreadsFrom && !inside_parallel_) worth_threads_ = Emit(attribute->value);
      const bool outside = std::exchange(streams_, streams_ || attribute->key == kStream);
      Emit(attribute->body);
      worth_threads_ = nullptr;
      streams_ = outside;
      return;
    }
    case Kind::kAssert:
      return EmitAssert(cast<AssertNode>(s));
    case Kind::kAllocate:
      return EmitAllocate(cast<AllocateNode>(s));
    case Kind::kDeclBuffer:
      return Emit(cast<DeclBufferNode>(s)->body);
    case Kind::kBlockRealize:
      return FailStmt(absl::StrCat("block ", cast<BlockRealizeNode>(s)->block->name, " was not lowered"));
    case Kind::kSync:
      return FailStmt("synchronization between threads of a GPU");
    default:
      TW_UNREACHABLE();
  }
}

void FunctionEmitter::EmitSeq(const SeqNode* op) {
  ++lists_around_;
  if (!EmitParts(op)) EmitStatements(op);
  --lists_around_;
}

void FunctionEmitter::EmitStatements(const SeqNode* op) {
  for (size_t i = 0; i < op->stmts.size(); ++i) {
    if (i + 1 == op->stmts.size() || !ZeroesNextSums(op->stmts[i], op->stmts[i + 1])) {
      Emit(op->stmts[i]);
      continue;
    }
    tile_sums_ = TileSums::kZero;
    Emit(op->stmts[i + 1]);
    // Nothing was added where all loops are empty.
    if (std::exchange(tile_sums_, TileSums::kInMemory) == TileSums::kZero) Emit(op->stmts[i]);
    ++i;
  }
}

void FunctionEmitter::EmitFor(const ForNode* op) {
  switch (op->kind) {
    case ForKind::kParallel:
      if (!inside_parallel_) return EmitParallel(op);
      break;  // A nested parallel loop runs serially.
    case ForKind::kSerial:
      break;
    case ForKind::kVectorized:
    case ForKind::kUnrolled:
      return FailStmt(absl::StrCat(ForKindName(op->kind), " loop ", op->var.name(), " was not lowered"));
    case ForKind::kThreadBound:
      return FailStmt(absl::StrCat("loop ", op->var.name(), " is bound to ", op->thread_tag,
                                   ", which this CPU target does not support"));
  }
  const std::optional<int64_t> extent = AsInt(op->extent);
  if (extent && *extent <= 0) return;
  if (EmitLoopKeepingTiles(op)) return;
  llvm::Value* begin = Emit(op->min);
  EmitSerialLoop(op->var, begin, Emit(op->extent), extent.has_value(), op->body);
}

// The test is at the end: that is the form in which LLVM hoists and strength-reduces.
void FunctionEmitter::EmitSerialLoop(const Var& var, llvm::Value* begin, llvm::Value* extent, bool nonempty,
                                     const Stmt& body) {
  llvm::Value* end = builder_.CreateNSWAdd(begin, extent);
  llvm::BasicBlock* loop = NewBlock("loop");
  llvm::BasicBlock* done = NewBlock("loop.done");
  if (nonempty) {
    builder_.CreateBr(loop);
  } else {
    builder_.CreateCondBr(builder_.CreateICmpSLT(begin, end), loop, done);
  }
  llvm::BasicBlock* before = builder_.GetInsertBlock();
  builder_.SetInsertPoint(loop);
  llvm::PHINode* index = builder_.CreatePHI(begin->getType(), 2, var.name());
  index->addIncoming(begin, before);
  values_[var.get()] = index;
  const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(extent);
  loops_.push_back({var.get(), constant != nullptr ? constant->getSExtValue() : std::numeric_limits<int64_t>::max()});
  Emit(body);
  StoreTileAmongProducts(body);
  loops_.pop_back();
  llvm::Value* next = builder_.CreateNSWAdd(index, llvm::ConstantInt::get(index->getType(), 1));
  index->addIncoming(next, builder_.GetInsertBlock());
  llvm::BranchInst* back = builder_.CreateCondBr(builder_.CreateICmpSLT(next, end), loop, done);
  // Unrolling is the schedule's decision.
  llvm::MDNode* no_unroll =
      llvm::MDNode::get(context_.llvm, llvm::MDString::get(context_.llvm, "llvm.loop.unroll.disable"));
  llvm::MDNode* metadata = llvm::MDNode::getDistinct(context_.llvm, {nullptr, no_unroll});
  metadata->replaceOperandWith(0, metadata);
  back->setMetadata(llvm::LLVMContext::MD_loop, metadata);
  builder_.SetInsertPoint(done);
}

void FunctionEmitter::EmitWhile(const WhileNode* op) {
  llvm::BasicBlock* test = NewBlock("while");
  llvm::BasicBlock* body = NewBlock("while.body");
  llvm::BasicBlock* done = NewBlock("while.done");
  builder_.CreateBr(test);
  builder_.SetInsertPoint(test);
  builder_.CreateCondBr(Emit(op->condition), body, done);
  builder_.SetInsertPoint(body);
  Emit(op->body);
  builder_.CreateBr(test);
  builder_.SetInsertPoint(done);
}

void FunctionEmitter::EmitIf(const IfNode* op) {
  llvm::Value* condition = Emit(op->condition);
  llvm::BasicBlock* then_block = NewBlock("if");
  llvm::BasicBlock* done = NewBlock("endif");
  llvm::BasicBlock* else_block = op->else_case ? NewBlock("else") : done;
  builder_.CreateCondBr(condition, then_block, else_block);
  builder_.SetInsertPoint(then_block);
  Emit(op->then_case);
  builder_.CreateBr(done);
  if (op->else_case) {
    builder_.SetInsertPoint(else_block);
    Emit(op->else_case);
    builder_.CreateBr(done);
  }
  builder_.SetInsertPoint(done);
}

llvm::AllocaInst* FunctionEmitter::EntryAlloca(llvm::Type* type, llvm::Value* count, uint64_t align,
                                               const std::string& name) {
  llvm::BasicBlock& entry = function_->getEntryBlock();
  Builder at_entry(&entry, entry.begin());
  llvm::AllocaInst* alloca = at_entry.CreateAlloca(type, count, name);
  alloca->setAlignment(llvm::Align(align));
  return alloca;
}

// The memory of temporaries:
//   small buffers of constant size            on the stack of the function (or of the parallel loop's body); those in
//                                             registers become values there
//   larger ones of constant size              in the workspace; those that are not alive together share memory. In a
//                                             parallel loop of constant extent each iteration has a part of it
//   all others                                on the heap, while the statement runs
void FunctionEmitter::EmitAllocate(const AllocateNode* op) {
  const Buffer& buffer = op->buffer;
  if (!OnCpu(buffer->scope.kind())) {
    return FailStmt(absl::StrCat("buffer ", buffer->name, " lies in scope \"", buffer->scope.text(),
                                 "\", which this CPU target does not support"));
  }
  llvm::Type* element = MemoryType(context_.llvm, buffer->dtype);
  const int64_t element_bytes = int64_t{buffer->dtype.bytes()} * buffer->dtype.lanes();
  const std::optional<int64_t> extent = AsInt(buffer->shape[0]);
  const uint64_t align = std::max(static_cast<uint64_t>(buffer->alignment), kTemporaryAlignment);
  llvm::Value*& data = values_[buffer->data.get()];
  const int64_t known_bytes = extent ? std::max<int64_t>(*extent, 1) * element_bytes : 0;
  // What stays in registers takes nothing of the stack.
  const bool has_room =
      buffer->scope.kind() == MemoryKind::kRegister || stack_bytes_ + known_bytes <= kMaxStackBytesOfFunction;
  if (extent && known_bytes <= kMaxStackBytes && has_room) {
    stack_bytes_ += known_bytes;
    const auto size = static_cast<uint64_t>(std::max<int64_t>(*extent, 1));
    llvm::AllocaInst* array = EntryAlloca(llvm::ArrayType::get(element, size), nullptr, align, buffer->name);
    if (buffer->scope.kind() == MemoryKind::kRegister) {
      array->setMetadata(kRegisterArray, llvm::MDNode::get(context_.llvm, {}));
    }
    data = array;
    return Emit(op->body);
  }
  const int64_t rounded_bytes = (known_bytes + 63) / 64 * 64;
  if (extent && align == kTemporaryAlignment && workspace_ != nullptr &&
      (!inside_parallel_ || workspace_top_ + rounded_bytes <= kMaxWorkspaceBytesOfLoop / workspace_parts_)) {
    data = builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), workspace_, static_cast<uint64_t>(workspace_top_));
    workspace_top_ += rounded_bytes;
    workspace_high_ = std::max(workspace_high_, workspace_top_);
    Emit(op->body);
    workspace_top_ -= rounded_bytes;
    return;
  }
  llvm::Value* count = EmitIndex(buffer->shape[0]);
  llvm::Value* bytes = builder_.CreateMul(count, builder_.getInt64(static_cast<uint64_t>(element_bytes)));
  bytes = builder_.CreateAnd(builder_.CreateAdd(bytes, builder_.getInt64(align - 1)), builder_.getInt64(~(align - 1)));
  data = LibcCall("aligned_alloc", builder_.getPtrTy(), {builder_.getInt64(align), bytes});
  llvm::BasicBlock* failed = NewBlock("no.memory");
  llvm::BasicBlock* allocated = NewBlock("allocated");
  builder_.CreateCondBr(builder_.CreateAnd(builder_.CreateIsNull(data), builder_.CreateIsNotNull(bytes)), failed,
                        allocated, llvm::MDBuilder(context_.llvm).createBranchWeights(1, 2000));
  builder_.SetInsertPoint(failed);
  EmitMessage(context_, builder_, call_, "no memory for the %lld bytes of %s",
              {bytes, builder_.CreateGlobalString(buffer->name)});
  Return(builder_.getInt32(kTwErrorMemory));
  builder_.SetInsertPoint(allocated);
  heap_.push_back(data);
  llvm::Value* pointer = data;
  Emit(op->body);
  heap_.pop_back();
  LibcCall("free", builder_.getVoidTy(), {pointer});
}

void FunctionEmitter::EmitAssert(const AssertNode* op) {
  llvm::BasicBlock* failed = NewBlock("assert.failed");
  llvm::BasicBlock* done = NewBlock("assert.holds");
  builder_.CreateCondBr(Emit(op->condition), done, failed);
  builder_.SetInsertPoint(failed);
  EmitMessage(context_, builder_, call_, "assertion failed: %s", {builder_.CreateGlobalString(op->message)});
  Return(builder_.getInt32(kTwErrorAssertion));
  builder_.SetInsertPoint(done);
}

void FunctionEmitter::Return(llvm::Value* code) {
  ReleaseTiles();
  for (llvm::Value* pointer : heap_) LibcCall("free", builder_.getVoidTy(), {pointer});
  builder_.CreateRet(code);
}

void FunctionEmitter::ReturnIfError(llvm::Value* code) {
  llvm::BasicBlock* failed = NewBlock("failed");
  llvm::BasicBlock* done = NewBlock("passed");
  llvm::MDNode* unlikely = llvm::MDBuilder(context_.llvm).createBranchWeights(1, 2000);
  builder_.CreateCondBr(builder_.CreateIsNotNull(code), failed, done, unlikely);
  builder_.SetInsertPoint(failed);
  Return(code);
  builder_.SetInsertPoint(done);
}

}  // namespace tilewright::codegen
