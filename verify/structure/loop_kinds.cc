#include "verify/structure/loop_kinds.h"

#include <algorithm>
#include <unordered_set>

#include "ir/analysis.h"
#include "ir/functor.h"
#include "ir/iteration_buffers.h"
#include "verify/structure/commuting_updates.h"

namespace tilewright {
namespace {

// Blocks reached from a statement without entering a block, and stores on the way.
class Below : public Visitor {
 public:
  using Visitor::Visit;
  void Visit(const Expr&) override {}
  std::vector<const BlockRealizeNode*> blocks;
  std::vector<const StoreNode*> stores;

 protected:
  void VisitBlockRealize(const BlockRealizeNode* op) override { blocks.push_back(op); }
  void VisitStore(const StoreNode* op) override { stores.push_back(op); }
};

class Checker : public Visitor {
 public:
  using Visitor::Visit;
  explicit Checker(const Function& function) : of_iterations_(BuffersOfParallelIterations(function->body)) {}
  void Visit(const Expr&) override {}
  Diagnostics diagnostics;

 protected:
  void VisitFor(const ForNode* op) override {
    if (IsConcurrent(op->kind) && !IsInt(op->extent, 1)) Check(op);
    const bool iterations = op->kind == ForKind::kParallel || op->kind == ForKind::kVectorized;
    if (iterations && HoldsBarrier(threads_, op->body)) {
      Refuse(op, "threads meet inside of the " + std::string(ForKindName(op->kind)) + " loop " + op->var.name() +
                     ", whose iterations run at the same time");
    }
    const bool threads = op->kind == ForKind::kThreadBound;
    if (threads) threads_.push_back(op);
    Visitor::VisitFor(op);
    if (threads) threads_.pop_back();
  }

 private:
  void Check(const ForNode* loop) {
    Below below;
    below.Visit(loop->body);
    if (auto reason = WhyNotConcurrent(*loop, loop->kind, loop->thread_tag, below.blocks)) Refuse(loop, *reason);
    for (const StoreNode* store : below.stores) {
      bool distinct = false;
      for (const Expr& index : store->indices) distinct |= UsesVar(index, loop->var);
      // Buffers of a thread or of registers have one instance for each iteration of a thread-bound loop, those that are
      // used in one parallel loop only for each of its iterations.
      const bool own = loop->kind == ForKind::kParallel
                           ? of_iterations_.contains(store->buffer->data.get())
                           : loop->kind == ForKind::kThreadBound && store->buffer->scope.owner() == OwnerLevel::kThread;
      if (!distinct && !own && !IsInt(loop->extent, 1)) {
        Refuse(loop, "all iterations of the " + std::string(ForKindName(loop->kind)) + " loop " + loop->var.name() +
                         " store to the same elements of " + store->buffer->name);
      }
    }
  }
  void Refuse(const ForNode* loop, std::string reason) {
    diagnostics.push_back({Verdict::kRefuted, "loop kinds", loop->id, std::move(reason)});
  }
  const std::unordered_set<const VarNode*> of_iterations_;
  std::vector<const ForNode*> threads_;  // loops around that are bound to threads
};

bool IsAllocatedIn(const Stmt& body, const Buffer& buffer) {
  bool found = false;
  PreOrder(body, [&](const Stmt& s) {
    const auto* allocate = dyn_cast<AllocateNode>(s);
    found = found || (allocate != nullptr && allocate->buffer.same_as(buffer));
    const auto* realize = dyn_cast<BlockRealizeNode>(s);
    found = found || (realize != nullptr && std::ranges::any_of(realize->block->alloc_buffers, [&](const Buffer& own) {
                        return own.same_as(buffer);
                      }));
    return !found;
  });
  return found;
}

bool ContainsBlock(const Stmt& s) {
  bool found = false;
  if (!s) return false;
  PreOrder(s, [&](const Stmt& part) {
    found |= isa<BlockRealizeNode>(part);
    return !found;
  });
  return found;
}

// Why the threads of a loop cannot sum by the block; nothing where they can.
std::optional<std::string> WhyNotAcrossThreads(const ForNode& loop, const BlockNode& block) {
  // A sum in memory of each thread is known to all of them, unless the memory is of one iteration of the loop.
  for (const BufferRegion& write : block.writes) {
    if (write.buffer->scope.owner() == OwnerLevel::kThread && IsAllocatedIn(loop.body, write.buffer)) {
      return "the threads of loop " + loop.var.name() + " reduce by block " + block.name + " into " +
             write.buffer->name + ", of which each thread has its own";
    }
  }
  // No thread has the sum of all nested blocks.
  const bool nests = ContainsBlock(block.body) || ContainsBlock(block.init);
  for (const BufferRegion& write : block.writes) {
    if (nests && write.buffer->scope.owner() == OwnerLevel::kThread) {
      return "the threads of loop " + loop.var.name() + " reduce by the blocks inside of block " + block.name +
             " into " + write.buffer->name + ", of which each thread has its own";
    }
  }
  if (!UpdatesCommute(block)) {
    return "the threads of loop " + loop.var.name() + " reduce by block " + block.name +
           ", whose updates do not commute";
  }
  const ForNode* inner = nullptr;
  PreOrder(block.body, [&](const Stmt& s) {
    const auto* below = dyn_cast<ForNode>(s);
    if (below != nullptr && below->kind == ForKind::kThreadBound) inner = below;
    return inner == nullptr;
  });
  if (inner == nullptr) return std::nullopt;
  return "the threads of loop " + loop.var.name() + " reduce by block " + block.name + ", in which loop " +
         inner->var.name() + " runs over threads again";
}

}  // namespace

bool IsConcurrent(ForKind kind) {
  return kind == ForKind::kParallel || kind == ForKind::kVectorized || kind == ForKind::kThreadBound;
}

std::optional<std::string> WhyNotConcurrent(const ForNode& loop, ForKind kind, const std::string& thread_tag,
                                            const std::vector<const BlockRealizeNode*>& blocks) {
  const bool may_reduce = kind == ForKind::kThreadBound && thread_tag.rfind("threadIdx", 0) == 0;
  for (const BlockRealizeNode* realize : blocks) {
    for (size_t i = 0; i < realize->bindings.size(); ++i) {
      const IterVar& iter = realize->block->iter_vars[i];
      // What opaque iterations touch is the business of verify/threads/races.h.
      if (iter.kind != IterKind::kReduce || !UsesVar(realize->bindings[i], loop.var)) continue;
      if (may_reduce && realize->block->init) {
        if (auto reason = WhyNotAcrossThreads(loop, *realize->block)) return reason;
        continue;
      }
      return "loop " + loop.var.name() + " is bound to the reduce iterator " + iter.var.name() + " of block " +
             realize->block->name + ", so its iterations are not independent";
    }
  }
  return std::nullopt;
}

bool HoldsBarrier(const std::vector<const ForNode*>& above, const Stmt& s) {
  const auto is_thread = [](const ForNode* l) { return l->thread_tag.starts_with("threadIdx"); };
  if (std::none_of(above.begin(), above.end(), is_thread)) return false;
  bool found = false;
  PreOrder(s, [&](const Stmt& part) {
    if (const auto* inner = dyn_cast<ForNode>(part); inner != nullptr && is_thread(inner)) {
      found |= std::any_of(above.begin(), above.end(),
                           [&](const ForNode* outer) { return outer->thread_tag == inner->thread_tag; });
    }
    const auto* sync = dyn_cast<SyncNode>(part);
    found |= sync != nullptr && sync->sync == SyncKind::kBarrier;
    return !found;
  });
  return found;
}

Diagnostics CheckLoopKinds(const Function& function) {
  Checker checker(function);
  checker.Visit(function->body);
  return std::move(checker.diagnostics);
}

}  // namespace tilewright
