#include "codegen/lower/gpu/unify_threads.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "absl/strings/str_cat.h"
#include "codegen/lower/gpu/kernel_accesses.h"
#include "codegen/lower/gpu/spread_copy.h"
#include "ir/annotations.h"
#include "ir/arith/same_expr.h"
#include "ir/functor.h"
#include "ir/script/printer.h"
#include "ir/substitute.h"
#include "ir/thread_reductions.h"
#include "ir/thread_tags.h"
#include "verify/threads/kernels.h"

namespace tilewright {
namespace {

// Outermost first; virtual threads come after them, in the order of the program.
constexpr const char* kTags[] = {"blockIdx.z",      "blockIdx.y",  "blockIdx.x",  "clusterCtaIdx.z", "clusterCtaIdx.y",
                                 "clusterCtaIdx.x", "threadIdx.z", "threadIdx.y", "threadIdx.x"};

bool IsThreadTag(std::string_view tag) { return tag.starts_with("threadIdx"); }

bool IsBound(const Stmt& s) {
  const auto* loop = dyn_cast<ForNode>(s);
  return loop != nullptr && loop->kind == ForKind::kThreadBound;
}

template <class Predicate>
bool Contains(const Stmt& s, Predicate predicate) {
  bool found = false;
  PreOrder(s, [&](const Stmt& part) {
    found |= predicate(part);
    return !found;
  });
  return found;
}
bool HasBoundLoop(const Stmt& s) { return Contains(s, IsBound); }
bool RunsWarps(const Stmt& s) {
  return Contains(s, [](const Stmt& part) {
    const auto* realize = dyn_cast<BlockRealizeNode>(part);
    return realize != nullptr && RunsAsWarp(*realize->block);
  });
}

struct ThreadLoop {
  std::string tag;
  Var var;
  Expr extent;
  std::optional<int64_t> sharing = {};  // kSharingBlocks, where all loops of the tag say the same
};
std::optional<int64_t> SharingBlocks(const ForNode& loop) {
  const auto found = loop.annotations.find(kSharingBlocks);
  const auto* blocks = found == loop.annotations.end() ? nullptr : std::get_if<Expr>(&found->second.value);
  return blocks == nullptr || !loop.thread_tag.starts_with("blockIdx") ? std::nullopt : AsInt(*blocks);
}

// One kernel.
// The numbers of a pipeline's statements, of which the i-th has become counts[i]. An order's numbers are places: what
// one statement has become follows each other.
Annotation ForEachOf(const Annotation& annotation, const std::vector<size_t>& counts, std::string_view key) {
  const auto* numbers = std::get_if<Annotation::List>(&annotation.value);
  if (numbers == nullptr || numbers->size() != counts.size()) return annotation;
  const auto number = [&](size_t i) {
    const auto* value = std::get_if<Expr>(&(*numbers)[i].value);
    return value == nullptr ? 0 : AsInt(*value).value_or(0);
  };
  const bool order = key == kPipelineOrder;
  Annotation::List list;
  for (size_t i = 0; i < counts.size(); ++i) {
    int64_t first = number(i);
    for (size_t other = 0; order && other < counts.size(); ++other) {
      if (number(other) < number(i)) first += static_cast<int64_t>(counts[other]) - 1;
    }
    for (size_t part = 0; part < counts[i]; ++part) {
      list.push_back(MakeAnnotation(Expr(first + (order ? static_cast<int64_t>(part) : 0))));
    }
  }
  return {std::move(list)};
}

class Unifier : public StmtMutator {
 public:
  using StmtMutator::Mutate;
  Unifier(const BufferScopes& scopes, const GpuTarget& gpu, uint32_t* next_id)
      : scopes_(scopes), gpu_(gpu), next_id_(next_id) {}
  absl::Status status;

  Stmt Run(const Stmt& kernel) {
    FindLoops(kernel);
    Stmt body = Mutate(kernel);
    CheckBlocks();
    body = Substitute(body, values_);
    for (auto it = loops_.rbegin(); it != loops_.rend(); ++it) {
      ForNode::Fields fields;
      fields.id = (*next_id_)++;
      fields.var = it->var;
      fields.min = Const(it->var.dtype(), 0);
      fields.extent = it->extent;
      fields.kind = ForKind::kThreadBound;
      fields.thread_tag = it->tag;
      if (it->sharing) fields.annotations[kSharingBlocks] = MakeAnnotation(Expr(*it->sharing));
      fields.body = std::move(body);
      body = For(std::move(fields));
    }
    return body;
  }

 protected:
  Stmt MutateFor(const ForNode* op, const Stmt& self) override {
    if (op->kind != ForKind::kThreadBound) {
      if (!HasBoundLoop(self) && !HasBlocks(self)) return Guarded(self);
      const Apart apart(*this, DiffersByThread(op->min) || DiffersByThread(op->extent));
      return op->annotations.contains(kPipelineStage) ? Pipeline(op, self) : StmtMutator::MutateFor(op, self);
    }
    const ThreadLoop& loop = LoopOf(op->thread_tag);
    values_[op->var] = CastTo(op->var.dtype(), loop.var);
    std::vector<const ForNode*> outer_blocks = blocks_around_;
    const auto outer = around_.find(op->thread_tag);
    const std::optional<Around> outer_around = outer == around_.end() ? std::nullopt : std::optional(outer->second);
    const auto extent = AsInt(op->extent), all = AsInt(loop.extent);
    const bool whole = extent && all ? *extent == *all : arith::SameExpr(op->extent, loop.extent);
    around_[op->thread_tag] = {whole ? True() : loop.var < CastTo(loop.var.dtype(), op->extent), op->extent};
    if (IsThreadTag(op->thread_tag)) thread_vars_.insert(op->var.get());
    if (IsBlockTag(op->thread_tag)) blocks_around_.push_back(op);
    Stmt body = Mutate(op->body);
    blocks_around_ = std::move(outer_blocks);
    if (outer_around) {
      around_[op->thread_tag] = *outer_around;
    } else {
      around_.erase(op->thread_tag);
    }
    return body;
  }
  // A statement of a pipeline may become several, without the loops over threads around them: all of its stage.
  Stmt Pipeline(const ForNode* op, const Stmt& self) {
    const auto* sequence = dyn_cast<SeqNode>(op->body);
    if (sequence == nullptr) return StmtMutator::MutateFor(op, self);
    std::vector<Stmt> statements;
    std::vector<size_t> counts;
    for (const Stmt& s : sequence->stmts) {
      statements.push_back(Mutate(s));
      const auto* parts = dyn_cast<SeqNode>(statements.back());
      counts.push_back(parts == nullptr ? 1 : parts->stmts.size());
    }
    ForNode::Fields fields = op->fields();
    fields.body = Sequence(std::move(statements));
    for (const char* key : {kPipelineStage, kPipelineOrder}) {
      const auto numbers = fields.annotations.find(key);
      if (numbers != fields.annotations.end()) numbers->second = ForEachOf(numbers->second, counts, key);
    }
    return For(std::move(fields));
  }
  Stmt MutateWhile(const WhileNode* op, const Stmt& self) override {
    const Apart apart(*this, DiffersByThread(op->condition));
    return HasBoundLoop(self) || HasBlocks(self) ? StmtMutator::MutateWhile(op, self) : Guarded(self);
  }
  Stmt MutateIf(const IfNode* op, const Stmt& self) override {
    const Apart apart(*this, DiffersByThread(op->condition));
    return HasBoundLoop(self) || HasBlocks(self) ? StmtMutator::MutateIf(op, self) : Guarded(self);
  }
  Stmt MutateLetStmt(const LetStmtNode* op, const Stmt& self) override {
    if (DiffersByThread(op->value)) thread_vars_.insert(op->var.get());
    return StmtMutator::MutateLetStmt(op, self);
  }
  Stmt MutateStore(const StoreNode*, const Stmt& self) override { return Guarded(self); }
  Stmt MutateEvaluate(const EvaluateNode*, const Stmt& self) override { return IsNoOp(self) ? self : Guarded(self); }
  Stmt MutateBlockRealize(const BlockRealizeNode* op, const Stmt& self) override {
    const Stmt& body = op->block->body;
    const Apart apart(*this, DiffersByThread(op->predicate));
    for (size_t i = 0; i < op->bindings.size(); ++i) {
      if (DiffersByThread(op->bindings[i])) thread_vars_.insert(op->block->iter_vars[i].var.get());
    }
    if (HasBoundLoop(body) || HasBlocks(body)) return StmtMutator::MutateBlockRealize(op, self);
    if (Stmt spread = Spread(op, self)) return spread;
    const Expr condition = Condition(self, RunsAsWarp(*op->block));
    return IsTrue(condition) ? self : Realize(op->bindings, And(op->predicate, condition), op->block);
  }

 private:
  static bool HasBlocks(const Stmt& s) {
    return Contains(s, [](const Stmt& part) { return isa<BlockRealizeNode>(part); });
  }

  void Refuse(std::string reason) {
    if (status.ok()) status = absl::InvalidArgumentError(std::move(reason));
  }

  void FindLoops(const Stmt& kernel) {
    std::vector<ThreadLoop> found;
    PreOrder(kernel, [&](const Stmt& s) {
      if (IsBound(s)) AddLoop(*cast<ForNode>(s), &found);
      return true;
    });
    const bool lanes = std::any_of(found.begin(), found.end(), [](const auto& l) { return l.tag == "threadIdx.x"; });
    if (!lanes && RunsWarps(kernel)) found.push_back({"threadIdx.x", Var("threadIdx_x"), Expr(gpu_.warp_size)});
    const bool threads =
        std::any_of(found.begin(), found.end(), [](const auto& l) { return l.tag.starts_with("threadIdx"); });
    if (!threads) found.push_back({"threadIdx.x", Var("threadIdx_x"), Expr(1)});
    for (const char* tag : kTags) {
      for (const ThreadLoop& loop : found) {
        if (loop.tag == tag) loops_.push_back(loop);
      }
    }
    for (const ThreadLoop& loop : found) {
      if (std::find(std::begin(kTags), std::end(kTags), loop.tag) == std::end(kTags)) loops_.push_back(loop);
    }
  }

  void AddLoop(const ForNode& loop, std::vector<ThreadLoop>* found) {
    if (!IsInt(loop.min, 0)) {
      Refuse(absl::StrCat("loop ", loop.var.name(), " is bound to ", loop.thread_tag, " and does not start at 0"));
    }
    if (!loop.thread_tag.starts_with("blockIdx") && !AsInt(loop.extent)) {
      Refuse(absl::StrCat("loop ", loop.var.name(), " is bound to ", loop.thread_tag, ", but its extent ",
                          Print(loop.extent), " is not a constant"));
    }
    const auto known = std::find_if(found->begin(), found->end(),
                                    [&](const ThreadLoop& other) { return other.tag == loop.thread_tag; });
    if (known == found->end()) {
      std::string name = loop.var.name();
      found->push_back({loop.thread_tag, Var(std::move(name), loop.var.dtype()), loop.extent, SharingBlocks(loop)});
      return;
    }
    if (known->sharing != SharingBlocks(loop)) known->sharing.reset();
    const auto extent = AsInt(known->extent), other = AsInt(loop.extent);
    if (extent && other) {
      if (*other > *extent) known->extent = Const(known->var.dtype(), *other);
    } else if (!arith::SameExpr(known->extent, loop.extent)) {
      Refuse(absl::StrCat("loop ", loop.var.name(), " is bound to ", loop.thread_tag, " with an extent of ",
                          Print(loop.extent), ", another loop of the kernel with ", Print(known->extent)));
    }
  }

  const ThreadLoop& LoopOf(const std::string& tag) const {
    return *std::find_if(loops_.begin(), loops_.end(), [&](const ThreadLoop& loop) { return loop.tag == tag; });
  }

  // Whether threads of a block may have different values of it.
  bool DiffersByThread(const Expr& e) const {
    bool differs = false;
    PreOrder(e, [&](const Expr& part) {
      const auto* var = dyn_cast<VarNode>(part);
      differs |= isa<LoadNode>(part) || isa<CallNode>(part) || (var != nullptr && thread_vars_.contains(var));
      return !differs;
    });
    return differs;
  }

  // While it lives, statements are executed by threads that others may not be with.
  class Apart {
   public:
    Apart(Unifier& unifier, bool apart) : unifier_(unifier), before_(unifier.apart_) { unifier.apart_ |= apart; }
    ~Apart() { unifier_.apart_ = before_; }
    Apart(const Apart&) = delete;
    Apart& operator=(const Apart&) = delete;

   private:
    Unifier& unifier_;
    const bool before_;
  };

  // An AutoCopy block between memories that the threads of a block share, made by them together: the threads of the
  // loops around, and all in the other dimensions. Null where the block is another one.
  Stmt Spread(const BlockRealizeNode* op, const Stmt& self) {
    const bool copies = op->block->annotations.contains(kAutoCopy) && !op->block->init && !apart_;
    if (!copies) return {};
    bool differs = false;
    PreOrderExprs(self, [&](const Expr& part) {
      const auto* var = dyn_cast<VarNode>(part);
      differs |= var != nullptr && thread_vars_.contains(var);
      return !differs;
    });
    if (differs) return {};
    const Accesses accesses = AccessesOf(self, scopes_);
    const bool shared = std::ranges::all_of(
        accesses.list, [](const KernelAccess& access) { return MemoryOwner(access.scope) >= OwnerLevel::kBlock; });
    if (!shared || accesses.unknown_writes) return {};
    std::vector<ThreadAxis> threads;
    for (const ThreadLoop& loop : loops_) {
      if (!IsThreadTag(loop.tag)) continue;
      const auto around = around_.find(loop.tag);
      threads.push_back({loop.var, *AsInt(around == around_.end() ? loop.extent : around->second.extent)});
    }
    const std::optional<Stmt> body = SpreadCopy(op->block->body, threads, next_id_);
    if (!body) return {};
    BlockNode::Fields fields = op->block->fields();
    fields.annotations.erase(kAutoCopy);
    fields.body = *body;
    const Expr condition = Condition(self, /*by_warps=*/false, /*together=*/true);
    return Realize(op->bindings, IsTrue(condition) ? op->predicate : And(op->predicate, condition),
                   Block(std::move(fields)));
  }

  // Which threads execute `s`; `by_warps`: all lanes of a warp do; `together`: the threads of a block share the work.
  Expr Condition(const Stmt& s, bool by_warps, bool together = false) {
    const Accesses accesses = AccessesOf(s, scopes_);
    Record(accesses);
    OwnerLevel least = OwnerLevel::kDevice, most = OwnerLevel::kThread;
    for (const KernelAccess& access : accesses.list) {
      if (!access.write) continue;
      const OwnerLevel owner = MemoryOwner(access.scope);
      least = std::min(least, owner);
      most = std::max(most, owner);
    }
    if (accesses.unknown_writes) most = OwnerLevel::kDevice;
    Expr condition = True();
    bool first_only = false;
    for (const ThreadLoop& loop : loops_) {
      if (const auto around = around_.find(loop.tag); around != around_.end()) {
        condition = And(condition, around->second.condition);
        continue;
      }
      if (together && IsThreadTag(loop.tag)) continue;
      if (by_warps && loop.tag == "threadIdx.x") continue;
      // Each owner of the memory executes what writes it.
      const OwnerLevel shared_by = IsBlockTag(loop.tag) ? OwnerLevel::kDevice : OwnerLevel::kBlock;
      if (most < shared_by || IsInt(loop.extent, 1)) continue;
      condition = And(condition, loop.var == 0);
      first_only = true;
    }
    if (first_only && least < OwnerLevel::kBlock) {
      Refuse(
          absl::StrCat("a statement outside of the loops over threads writes memory of one thread and memory that "
                       "threads share:\n",
                       Print(s)));
    }
    return condition;
  }

  Stmt Guarded(const Stmt& s) {
    const Expr condition = Condition(s, CallsWarpInstruction(s));
    return IsTrue(condition) ? s : If(condition, s);
  }

  static bool CallsWarpInstruction(const Stmt& s) {
    bool found = false;
    PreOrderExprs(s, [&](const Expr& e) {
      const auto* call = dyn_cast<CallNode>(e);
      found |= call != nullptr && IsWarpInstruction(call->op);
      return !found;
    });
    return found;
  }

  // Remembers below which loops over blocks global memory is touched.
  void Record(const Accesses& accesses) {
    for (const KernelAccess& access : accesses.list) {
      if (MemoryOwner(access.scope) == OwnerLevel::kDevice) global_.push_back({access, blocks_around_});
    }
  }

  // Blocks run in any order: what one writes, another one may not touch.
  void CheckBlocks() {
    const bool many = std::any_of(loops_.begin(), loops_.end(), [](const ThreadLoop& loop) {
      return IsBlockTag(loop.tag) && !IsInt(loop.extent, 1);
    });
    if (!many) return;
    for (const auto& [access, loops] : global_) {
      if (!access.write) continue;
      for (const auto& [other, other_loops] : global_) {
        if (other.data != access.data || other_loops == loops) continue;
        return Refuse(absl::StrCat("buffer ", access.data->name,
                                   " is written below one loop over blocks of a kernel and used below another one; "
                                   "blocks do not wait for each other: make two kernels of it"));
      }
    }
  }

  const BufferScopes& scopes_;
  const GpuTarget& gpu_;
  uint32_t* next_id_;
  std::vector<ThreadLoop> loops_;
  struct Around {
    Expr condition;  // under which a thread runs the loop
    Expr extent;
  };
  std::map<std::string, Around> around_;            // by the tags of the loops around
  std::unordered_set<const VarNode*> thread_vars_;  // that differ between the threads of a block
  bool apart_ = false;
  std::vector<const ForNode*> blocks_around_;
  std::vector<std::pair<KernelAccess, std::vector<const ForNode*>>> global_;
  VarMap values_;
};

// Splits a function into kernels and what the host does.
class Host : public StmtMutator {
 public:
  using StmtMutator::Mutate;
  Host(const Function& function, const BufferScopes& scopes, const GpuTarget& gpu)
      : scopes_(scopes), gpu_(gpu), next_id_(function->next_id), reducing_(LoopsOfThreadReductions(function)) {}
  absl::Status status;
  uint32_t next_id() const { return next_id_; }

 protected:
  Stmt MutateSeq(const SeqNode* op, const Stmt&) override {
    std::vector<Stmt> result;
    for (size_t i = 0; i < op->stmts.size();) {
      const size_t end = EndOfKernel(op->stmts, i);
      const std::vector<Stmt> part(op->stmts.begin() + static_cast<ptrdiff_t>(i),
                                   op->stmts.begin() + static_cast<ptrdiff_t>(end));
      result.push_back(end - i > 1 ? Kernel(Sequence(part)) : Mutate(part[0]));
      i = end;
    }
    return Sequence(std::move(result));
  }
  Stmt MutateFor(const ForNode* op, const Stmt& self) override {
    // What threads reduce together is in their own memory until the last term.
    const bool host = op->kind != ForKind::kThreadBound && HasBoundLoop(self) && SharedInside(self).empty() &&
                      !reducing_.contains(op);
    return host ? StmtMutator::MutateFor(op, self) : Kernel(self);
  }
  Stmt MutateWhile(const WhileNode*, const Stmt& self) override { return Kernel(self); }
  Stmt MutateStore(const StoreNode*, const Stmt& self) override { return Kernel(self); }
  Stmt MutateEvaluate(const EvaluateNode*, const Stmt& self) override { return IsNoOp(self) ? self : Kernel(self); }
  Stmt MutateIf(const IfNode* op, const Stmt& self) override {
    return HasBoundLoop(self) ? StmtMutator::MutateIf(op, self) : Kernel(self);
  }
  Stmt MutateBlockRealize(const BlockRealizeNode* op, const Stmt& self) override {
    const bool root = op->block->iter_vars.empty() && !op->block->init;
    return root || HasBoundLoop(self) ? StmtMutator::MutateBlockRealize(op, self) : Kernel(self);
  }

 private:
  Stmt Kernel(const Stmt& s) {
    Unifier unifier(scopes_, gpu_, &next_id_);
    Stmt kernel = unifier.Run(s);
    if (status.ok()) status = unifier.status;
    CheckOwned(s);
    return kernel;
  }

  // Memory that does not outlive a kernel and is declared outside of `s`.
  std::set<const VarNode*> SharedInside(const Stmt& s) const {
    std::set<const VarNode*> shared;
    for (const KernelAccess& access : AccessesOf(s, scopes_).list) {
      if (MemoryOwner(access.scope) != OwnerLevel::kDevice) shared.insert(access.data);
    }
    PreOrder(s, [&](const Stmt& part) {
      if (const auto* allocate = dyn_cast<AllocateNode>(part)) shared.erase(allocate->buffer->data.get());
      if (const auto* realize = dyn_cast<BlockRealizeNode>(part)) {
        for (const Buffer& buffer : realize->block->alloc_buffers) shared.erase(buffer->data.get());
      }
      return true;
    });
    return shared;
  }

  // One behind the last statement that belongs to the kernel of the first: it shares such memory, or has no threads as
  // the first has none.
  size_t EndOfKernel(const std::vector<Stmt>& stmts, size_t first) const {
    size_t end = first + 1;
    std::set<const VarNode*> shared = SharedInside(stmts[first]);
    for (size_t i = first + 1; i < stmts.size(); ++i) {
      const std::set<const VarNode*> other = SharedInside(stmts[i]);
      const bool meets = std::any_of(other.begin(), other.end(), [&](const VarNode* v) { return shared.contains(v); });
      if (!meets && (i != end || HasBoundLoop(stmts[first]) || HasBoundLoop(stmts[i]))) continue;
      for (; end <= i; ++end) {
        const std::set<const VarNode*> more = SharedInside(stmts[end]);
        shared.insert(more.begin(), more.end());
      }
    }
    return end;
  }

  void CheckOwned(const Stmt& s) {
    for (const VarNode* data : SharedInside(s)) {
      if (kernel_of_.emplace(data, s.get()).first->second == s.get() || !status.ok()) continue;
      status = absl::InvalidArgumentError(
          absl::StrCat("buffer ", data->name, " does not lie in global memory and is used by two kernels"));
    }
  }

  const BufferScopes& scopes_;
  const GpuTarget& gpu_;
  uint32_t next_id_;
  const std::unordered_set<const ForNode*> reducing_;  // loops that threads reduce together over
  std::unordered_map<const VarNode*, const StmtNode*> kernel_of_;
};

}  // namespace

absl::StatusOr<Function> UnifyThreads(const Function& function, const GpuTarget& gpu) {
  const BufferScopes scopes = ScopesOf(function);
  Host host(function, scopes, gpu);
  Stmt body = host.Mutate(function->body);
  if (!host.status.ok()) return host.status;
  return function.WithBody(std::move(body), host.next_id());
}

}  // namespace tilewright
