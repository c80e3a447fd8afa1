#include <algorithm>
#include <iterator>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ir/functor.h"
#include "ir/interp/compiler.h"
#include "ir/thread_tags.h"

namespace tilewright::interp::internal {
namespace {

// The place of a tag in an Executor; -1: other tags.
int GridTag(std::string_view tag) {
  constexpr std::string_view kTags[] = {"blockIdx.x",      "blockIdx.y",      "blockIdx.z",
                                        "clusterCtaIdx.x", "clusterCtaIdx.y", "clusterCtaIdx.z",
                                        "threadIdx.x",     "threadIdx.y",     "threadIdx.z"};
  const auto found = std::ranges::find(kTags, tag);
  return found == std::end(kTags) ? -1 : static_cast<int>(found - std::begin(kTags));
}

}  // namespace

// Each statement gives its registers back and leaves no computed expressions behind.
void Compiler::Statement(const Stmt& s) {
  if (!error_.ok()) return;
  const Reg mark = next_;
  cache_.clear();
  offset_cache_.clear();
  NewStatement(s);
  cache_.clear();
  offset_cache_.clear();
  next_ = mark;
  while (!memory_slots_.empty() && memory_slots_.back() >= mark) memory_slots_.pop_back();
}

void Compiler::NewStatement(const Stmt& s) {
  switch (s->kind()) {
    case Kind::kFor:
      return Loop(cast<ForNode>(s));
    case Kind::kWhile:
      return While(cast<WhileNode>(s));
    case Kind::kIf:
      return If(cast<IfNode>(s));
    case Kind::kSeq:
      for (const Stmt& stmt : cast<SeqNode>(s)->stmts) Statement(stmt);
      return;
    case Kind::kStore:
      NoteUpdates(s);
      return Store(cast<StoreNode>(s));
    case Kind::kEvaluate: {
      const Expr& value = cast<EvaluateNode>(s)->value;
      if (!isa<StringImmNode>(value)) Value(value);
      return;
    }
    case Kind::kLetStmt: {
      const auto* op = cast<LetStmtNode>(s);
      if (op->var.dtype().is_handle()) {
        Buffer buffer;
        const Reg slot = SlotFromHandle(Pointer(op->value, &buffer));
        slots_[op->var.get()] = slot;
      } else {
        NoteUpdates(s);
        vars_[op->var.get()] = Value(op->value);
      }
      return Statement(op->body);
    }
    case Kind::kAttrStmt:
      return Statement(cast<AttrStmtNode>(s)->body);
    case Kind::kAssert: {
      const auto* op = cast<AssertNode>(s);
      const size_t holds = Emit(Op::kJumpIfNotZero, 0, ScalarValue(op->condition));
      Emit(Op::kFail, 0, 0, 0, 0, MessageIndex(absl::StrCat("assertion failed: ", op->message)));
      return PatchToHere(holds);
    }
    case Kind::kAllocate: {
      const auto* op = cast<AllocateNode>(s);
      AllocateBuffer(op->buffer);
      return Statement(op->body);
    }
    case Kind::kDeclBuffer: {
      const auto* op = cast<DeclBufferNode>(s);
      Slot(op->buffer);
      buffers_.emplace(op->buffer->data.get(), op->buffer);
      return Statement(op->body);
    }
    case Kind::kBlockRealize:
      return Realize(cast<BlockRealizeNode>(s));
    default:
      return Sync(cast<SyncNode>(s));
  }
}

void Compiler::While(const WhileNode* op) {
  const int start = Here();
  Emit(Op::kCountStep, 0);
  const size_t exit = Emit(Op::kJumpIfZero, 0, ScalarValue(op->condition));
  Statement(op->body);
  Emit(Op::kJump, 0, 0, 0, 0, start);
  PatchToHere(exit);
}

void Compiler::If(const IfNode* op) {
  const size_t to_else = Emit(Op::kJumpIfZero, 0, ScalarValue(op->condition));
  Statement(op->then_case);
  if (!op->else_case) return PatchToHere(to_else);
  const size_t to_end = Emit(Op::kJump, 0);
  PatchToHere(to_else);
  Statement(op->else_case);
  PatchToHere(to_end);
}

void Compiler::Loop(const ForNode* op) {
  const bool thread = op->kind == ForKind::kThreadBound &&
                      (absl::StartsWith(op->thread_tag, "threadIdx.") || absl::StartsWith(op->thread_tag, "vthread") ||
                       absl::StartsWith(op->thread_tag, "cthread"));
  if (thread && absl::StartsWith(op->thread_tag, "threadIdx.")) {
    thread_tags_[op->var.get()] = uint32_t{1} << GridTag(op->thread_tag);
    for (const ThreadTag& outer : threads_) {
      if (outer.tag == op->thread_tag) return JoinedThreadLoop(op, outer.var, outer.extent);
    }
  }
  // The loop's own registers: the variable is not shared with an expression, since it changes.
  const Reg var = NewReg();
  const Reg min = ScalarValue(op->min), extent = ScalarValue(op->extent);
  vars_[op->var.get()] = {var};
  loops_.emplace_back(op->var.name(), var);
  if (thread) {
    ThreadLoop(op, var, min, extent);
  } else {
    const Reg end = IntegerLane(BinaryOp::kAdd, DataType::Int(64), extent, min);
    const bool concurrent =
        op->kind == ForKind::kParallel || op->kind == ForKind::kVectorized || IsBlockTag(op->thread_tag);
    SerialLoop(op, var, min, end, concurrent && options_.check_races);
  }
  loops_.pop_back();
}

void Compiler::SerialLoop(const ForNode* op, Reg var, Reg min, Reg end, bool concurrent) {
  Emit(Op::kMove, var, min);
  const auto first = ConstantValue(min), last = ConstantValue(end);
  const bool runs = first && last && *first < *last;
  const size_t exit = runs ? 0 : Emit(Op::kJumpIfGe, 0, var, end);
  if (concurrent) {
    Emit(Op::kRegionBegin, 0, var, end, 0, static_cast<int>(code_.regions.size()));
    code_.regions.push_back(
        {.loop = op->var.name(), .blocks = IsBlockTag(op->thread_tag), .grid_tag = GridTag(op->thread_tag)});
  }
  const int start = Here();
  if (concurrent) Emit(Op::kStrandNext, 0, var);
  Statement(op->body);
  Emit(Op::kLoopNext, var, end, 0, 0, start);
  if (concurrent) Emit(Op::kRegionEnd, 0);
  if (!runs) PatchToHere(exit);
}

void Compiler::ThreadLoop(const ForNode* op, Reg var, Reg min, Reg extent) {
  const size_t fork = Emit(Op::kFork, var, extent, min, static_cast<int>(code_.regions.size()));
  std::vector<Reg> own_slots = memory_slots_;
  for (const VarNode* summed : thread_sums_[op->thread_tag]) {
    const auto slot = slots_.find(summed);
    if (slot != slots_.end()) std::erase(own_slots, slot->second);
  }
  code_.regions.push_back({.loop = op->thread_tag,
                           .threads = true,
                           .virtual_threads = absl::StartsWith(op->thread_tag, "vthread"),
                           .grid_tag = GridTag(op->thread_tag),
                           .slots = std::move(own_slots)});
  threads_.push_back({op->thread_tag, var, extent});
  Statement(op->body);
  threads_.pop_back();
  Emit(Op::kThreadEnd, 0);
  PatchToHere(fork);
}

// All threads of the tag come here together and each runs the iteration of its own index.
void Compiler::JoinedThreadLoop(const ForNode* op, Reg thread, Reg thread_extent) {
  Barrier(/*warp=*/false);
  const Reg min = ScalarValue(op->min), extent = ScalarValue(op->extent);
  vars_[op->var.get()] = {IntegerLane(BinaryOp::kAdd, DataType::Int(64), thread, min)};
  const bool all = ConstantValue(extent) && ConstantValue(extent) == ConstantValue(thread_extent);
  const size_t skip = all ? 0 : Emit(Op::kJumpIfGe, 0, thread, extent);
  Statement(op->body);
  if (!all) PatchToHere(skip);
  Barrier(/*warp=*/false);
}

std::pair<Reg, Reg> Compiler::LinearThread() {
  Reg number = Constant(0), count = Constant(1);
  for (const char* tag : {"threadIdx.x", "threadIdx.y", "threadIdx.z"}) {
    for (const ThreadTag& thread : threads_) {
      if (thread.tag != tag) continue;
      number = EmitValue(Op::kMadd64, thread.var, count, number);
      count = EmitValue(Op::kMul64, count, thread.extent);
    }
  }
  return {number, count};
}

void Compiler::Barrier(bool warp) {
  if (!warp) {
    Emit(Op::kBarrier, 0);
    return;
  }
  const auto [number, count] = LinearThread();
  Emit(Op::kBarrier, 0, number, count, 0, 0, /*t=*/1);
}

void Compiler::Sync(const SyncNode* op) {
  switch (op->sync) {
    case SyncKind::kBarrier:
      if (op->participants == OwnerLevel::kThread || op->participants == OwnerLevel::kCore) return;
      if (op->participants == OwnerLevel::kWarp || op->participants == OwnerLevel::kBlock) {
        return Barrier(op->participants == OwnerLevel::kWarp);
      }
      return Error(absl::UnimplementedError("barriers of warpgroups, clusters and the whole device"));
    case SyncKind::kAsyncCommit:
    case SyncKind::kAsyncWait:
      return;  // copies are complete when they are issued
    default:
      return Error(absl::UnimplementedError("arrive and wait"));
  }
}

void Compiler::Declare(const BufferRegion& region, bool write) {
  DeclaredRegion declared{region.buffer.get(), write, {}};
  if (region.region.size() != region.buffer->ndim()) {
    return Error(absl::InvalidArgumentError(
        absl::StrCat("a region of ", region.region.size(), " dimensions of buffer ", region.buffer->name)));
  }
  // What a region's own bounds load is not an access of the block.
  declaring_ = true;
  for (const Range& range : region.region) {
    declared.ranges.emplace_back(ScalarValue(range.min), ScalarValue(range.extent));
  }
  declaring_ = false;
  blocks_.back().regions.push_back(std::move(declared));
}

void Compiler::Init(const BlockNode& block) {
  std::vector<size_t> skips;
  for (const IterVar& iter : block.iter_vars) {
    if (iter.kind != IterKind::kReduce) continue;
    const Reg first = EmitValue(Op::kEq, vars_[iter.var.get()][0], ScalarValue(iter.domain.min));
    skips.push_back(Emit(Op::kJumpIfZero, 0, first));
  }
  Statement(block.init);
  for (size_t jump : skips) PatchToHere(jump);
}

void Compiler::Realize(const BlockRealizeNode* op) {
  const BlockNode* block = op->block.get();
  if (op->bindings.size() != block->iter_vars.size()) {
    return Error(absl::InvalidArgumentError(absl::StrCat("block \"", block->name, "\" has ", block->iter_vars.size(),
                                                         " iterators, but ", op->bindings.size(), " bindings")));
  }
  size_t skip = 0;
  if (!IsTrue(op->predicate)) skip = Emit(Op::kJumpIfZero, 0, ScalarValue(op->predicate));
  uint32_t combined_tags = 0;  // of threads that a reduction is across
  for (size_t i = 0; i < block->iter_vars.size(); ++i) {
    const IterVar& iter = block->iter_vars[i];
    uint32_t tags = 0;
    PreOrder(op->bindings[i], [&](const Expr& e) {
      const auto* var = dyn_cast<VarNode>(e);
      const auto known = var == nullptr ? thread_tags_.end() : thread_tags_.find(var);
      if (known != thread_tags_.end()) tags |= known->second;
      return true;
    });
    if (tags != 0) thread_tags_[iter.var.get()] = tags;
    if (iter.kind == IterKind::kReduce && block->init) combined_tags |= tags;
    const Reg value = ScalarValue(op->bindings[i]);
    vars_[iter.var.get()] = {value};
    if (!options_.check_bounds) continue;
    Emit(Op::kCheckDomain, 0, value, ScalarValue(iter.domain.min), ScalarValue(iter.domain.extent),
         static_cast<int>(code_.iterators.size()));
    code_.iterators.push_back({block->name, iter.var.name()});
  }
  blocks_.push_back({block, {}, {}, combined_tags != 0 ? ++reductions_of_threads_ : 0, combined_tags});
  for (const Buffer& buffer : block->alloc_buffers) AllocateBuffer(buffer);
  if (options_.check_regions) {
    for (const BufferRegion& region : block->reads) Declare(region, false);
    for (const BufferRegion& region : block->writes) Declare(region, true);
  }
  for (const MatchBuffer& match : block->match_buffers) MatchSubBuffer(match);
  if (block->init) Init(*block);
  Statement(block->body);
  blocks_.pop_back();
  if (!IsTrue(op->predicate)) PatchToHere(skip);
}

}  // namespace tilewright::interp::internal
