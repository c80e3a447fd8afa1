#include "codegen/lower/common/plan_allocations.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ir/arith/analyzer.h"
#include "ir/changes/may_change.h"
#include "ir/functor.h"
#include "ir/iteration_buffers.h"
#include "ir/regions.h"

namespace tilewright {
namespace {

// Loops and blocks around a place, outermost first.
using Places = std::vector<const StmtNode*>;

struct Use {
  Buffer buffer;
  size_t declared = 0;  // number of places around the declaring block, itself included
  Places common;        // places around all uses so far
  bool used = false;
};

// Memory of a block or of a warp is one for all of the threads that allocate it together.
bool Shares(const ForNode* loop, MemoryKind memory) {
  return loop->kind == ForKind::kVectorized || (loop->kind == ForKind::kThreadBound && memory == MemoryKind::kGlobal);
}

bool ThreadsShare(const ForNode* loop, MemoryKind memory) {
  return loop->thread_tag.starts_with("threadIdx") && (memory == MemoryKind::kShared || memory == MemoryKind::kWarp);
}

class UseCollector : public Visitor {
 public:
  using Visitor::Visit;
  std::unordered_map<const VarNode*, Use> uses;  // by data pointer
  std::vector<const VarNode*> declared;          // their data pointers in order

 protected:
  void VisitVar(const VarNode* op) override {
    if (op->dtype().is_handle()) Record(op, places_.size());
  }
  void VisitLoad(const LoadNode* op) override {
    Record(op->buffer->data.get(), places_.size());
    Visitor::VisitLoad(op);
  }
  void VisitStore(const StoreNode* op) override {
    Record(op->buffer->data.get(), places_.size());
    Visitor::VisitStore(op);
  }
  void VisitWhile(const WhileNode* op) override {
    // What is used inside is used at the while loop.
    const size_t limit = std::exchange(limit_, std::min(limit_, places_.size()));
    Visitor::VisitWhile(op);
    limit_ = limit;
  }
  void VisitFor(const ForNode* op) override {
    places_.push_back(op);
    depth_of_var_[op->var.get()] = places_.size() - 1;
    Visitor::VisitFor(op);
    places_.pop_back();
  }
  void VisitBlockRealize(const BlockRealizeNode* op) override {
    const BlockNode& block = *op->block;
    size_t carried = places_.size();  // outermost loop that carries values for this block
    for (size_t i = 0; i < op->bindings.size(); ++i) {
      const size_t depth = OutermostLoop(op->bindings[i]);
      depth_of_var_[block.iter_vars[i].var.get()] = depth;
      if (block.iter_vars[i].kind != IterKind::kSpatial) carried = std::min(carried, depth);
    }
    places_.push_back(op);
    for (const Buffer& buffer : block.alloc_buffers) {
      uses[buffer->data.get()] = {buffer, places_.size(), {}, false};
      declared.push_back(buffer->data.get());
    }
    for (const BufferRegion& region : block.writes) Record(region.buffer->data.get(), carried);
    for (const MatchBuffer& match : block.match_buffers) Record(match.source.buffer->data.get(), places_.size());
    Visitor::VisitBlockRealize(op);
    places_.pop_back();
  }

 private:
  size_t OutermostLoop(const Expr& e) {
    size_t depth = places_.size();
    PreOrder(e, [&](const Expr& sub) {
      const auto* var = dyn_cast<VarNode>(sub);
      if (auto it = var ? depth_of_var_.find(var) : depth_of_var_.end(); it != depth_of_var_.end()) {
        depth = std::min(depth, it->second);
      }
      return true;
    });
    return depth;
  }
  // `data` is used inside of the first `depth` places.
  void Record(const VarNode* data, size_t depth) {
    auto it = uses.find(data);
    if (it == uses.end()) return;
    Use& use = it->second;
    const Places now(places_.begin(), places_.begin() + static_cast<ptrdiff_t>(std::min(depth, limit_)));
    if (!std::exchange(use.used, true)) {
      use.common = now;
      return;
    }
    auto end = std::mismatch(use.common.begin(), use.common.end(), now.begin(), now.end()).first;
    use.common.erase(end, use.common.end());
  }

  Places places_;
  size_t limit_ = SIZE_MAX;
  std::unordered_map<const VarNode*, size_t> depth_of_var_;
};

// Finds out how a buffer is first used in a statement: the first use in the order of the text decides.
class FirstUse : public Visitor {
 public:
  explicit FirstUse(const Buffer& buffer) : buffer_(buffer) {}
  using Visitor::Visit;
  bool IsWrite(const Stmt& s) {
    Visit(s);
    return first_ == kWrite;
  }

 protected:
  void VisitLoad(const LoadNode* op) override {
    Visitor::VisitLoad(op);
    if (op->buffer->data.same_as(buffer_->data)) See(kRead);
  }
  void VisitVar(const VarNode* op) override {
    if (op == buffer_->data.get()) See(kRead);
  }
  void VisitStore(const StoreNode* op) override {
    Visitor::VisitStore(op);
    if (op->buffer->data.same_as(buffer_->data)) See(kWrite);
  }
  void VisitBlockRealize(const BlockRealizeNode* op) override {
    // An init comes before what the block reads of its own output.
    const bool writes = Mentions(op->block->writes, buffer_);
    if (op->block->init && writes) See(kWrite);
    if (Mentions(op->block->reads, buffer_)) See(kRead);
    if (writes) See(kWrite);
    Visitor::VisitBlockRealize(op);
  }

 private:
  enum Kind { kNone, kRead, kWrite };
  void See(Kind kind) {
    if (first_ == kNone) first_ = kind;
  }
  const Buffer& buffer_;
  Kind first_ = kNone;
};

// Whether each run of `body` computes all that it reads of the buffer, so that no run needs what another one left.
bool ComputesWhatItReads(const Stmt& body, const Buffer& buffer, arith::Analyzer* analyzer) {
  if (!FirstUse(buffer).IsWrite(body)) return false;
  const AccessRegions regions = DetectRegions(body);
  auto find = [&](const std::vector<BufferRegion>& list) {
    return std::find_if(list.begin(), list.end(), [&](const BufferRegion& r) { return r.buffer.same_as(buffer); });
  };
  const auto read = find(regions.reads), written = find(regions.writes);
  if (read == regions.reads.end()) return true;
  if (written == regions.writes.end()) return false;
  // The same element by its index in memory may be another one once that index changed.
  const StoredMemory stored(body);
  const auto may_change = [&](const Range& range) {
    return stored.MayChange(range.min) || stored.MayChange(range.extent);
  };
  for (size_t d = 0; d < buffer->ndim(); ++d) {
    const Range &r = read->region[d], &w = written->region[d];
    if (may_change(r) || may_change(w)) return false;
    if (!analyzer->CanProveLessEqual(w.min, r.min)) return false;
    if (!analyzer->CanProveLessEqual(r.min + r.extent, w.min + w.extent)) return false;
  }
  return true;
}

// Whether each iteration has memory of that scope for itself: blocks and threads do, whatever they leave in it.
bool HasItsOwn(const ForNode* loop, const Scope& scope) {
  if (loop->kind != ForKind::kThreadBound) return false;
  if (loop->thread_tag.starts_with("blockIdx")) return scope.owner() < OwnerLevel::kDevice;
  return loop->thread_tag.starts_with("threadIdx") && scope.owner() == OwnerLevel::kThread;
}

// Leaves the loops and blocks, innermost first, whose runs use what earlier runs left in the buffer. One that belongs
// to the iterations of parallel loops, or of loops over blocks or threads, stays inside of them.
void LeaveCarryingPlaces(Use* use, bool of_parallel_iterations) {
  size_t least = use->declared;
  for (size_t i = use->declared; i < use->common.size(); ++i) {
    const auto* loop = dyn_cast<ForNode>(use->common[i]);
    if (loop == nullptr) continue;
    const bool parallel = of_parallel_iterations && loop->kind == ForKind::kParallel;
    if (parallel || HasItsOwn(loop, use->buffer->scope)) least = i + 1;
  }
  while (use->common.size() > least) {
    arith::Analyzer analyzer;
    Stmt body;
    std::vector<const ForNode*> sharing;
    for (const StmtNode* place : use->common) {
      if (const auto* loop = dyn_cast<ForNode>(place)) {
        if (ThreadsShare(loop, use->buffer->scope.kind())) {
          sharing.push_back(loop);
        } else {
          analyzer.Bind(loop->var, Range{loop->min, loop->extent});
        }
        body = loop->body;
      } else if (const auto* realize = dyn_cast<BlockRealizeNode>(place)) {
        for (const IterVar& iter : realize->block->iter_vars) analyzer.Bind(iter.var, iter.domain);
        body = realize->block->body;
      }
    }
    // What one thread reads another one may have written.
    for (const ForNode* loop : sharing) {
      ForNode::Fields fields = loop->fields();
      fields.body = std::move(body);
      body = For(std::move(fields));
    }
    if (ComputesWhatItReads(body, use->buffer, &analyzer)) return;
    use->common.pop_back();
  }
}

class AllocationMover : public Mutator {
 public:
  explicit AllocationMover(std::unordered_map<const StmtNode*, std::vector<Buffer>> placed)
      : placed_(std::move(placed)) {}
  using Mutator::Mutate;
  Expr Mutate(const Expr& e) override { return e; }
  Stmt MutateFor(const ForNode* op, const Stmt& self) override {
    Stmt mutated = Mutator::MutateFor(op, self);
    auto it = placed_.find(op);
    if (it == placed_.end()) return mutated;
    ForNode::Fields fields = cast<ForNode>(mutated)->fields();
    fields.body = Allocate(it->second, fields.body);
    return For(std::move(fields));
  }
  Stmt MutateBlockRealize(const BlockRealizeNode* op, const Stmt& self) override {
    Stmt mutated = Mutator::MutateBlockRealize(op, self);
    auto it = placed_.find(op);
    const auto* realize = cast<BlockRealizeNode>(mutated);
    if (it == placed_.end() && realize->block->alloc_buffers.empty()) return mutated;
    BlockNode::Fields fields = realize->block->fields();
    fields.alloc_buffers.clear();
    if (it != placed_.end()) fields.body = Allocate(it->second, fields.body);
    return Realize(realize->bindings, realize->predicate, Block(std::move(fields)));
  }

 private:
  static Stmt Allocate(const std::vector<Buffer>& buffers, Stmt body) {
    for (auto it = buffers.rbegin(); it != buffers.rend(); ++it) {
      body = Stmt(new AllocateNode(*it, {}, std::move(body)));
    }
    return body;
  }
  std::unordered_map<const StmtNode*, std::vector<Buffer>> placed_;
};

}  // namespace

Function PlanAllocations(const Function& function) {
  UseCollector collector;
  collector.Visit(function->body);
  const std::unordered_set<const VarNode*> of_iterations = BuffersOfParallelIterations(function->body);
  std::unordered_map<const StmtNode*, std::vector<Buffer>> placed;
  for (const VarNode* data : collector.declared) {
    Use& use = collector.uses[data];
    if (!use.used) continue;
    for (size_t i = use.declared; i < use.common.size(); ++i) {
      const auto* loop = dyn_cast<ForNode>(use.common[i]);
      if (loop != nullptr && Shares(loop, use.buffer->scope.kind())) use.common.resize(i);
    }
    LeaveCarryingPlaces(&use, of_iterations.contains(data));
    // By name, and in the order of their declaration where names are equal.
    std::vector<Buffer>& there = placed[use.common.back()];
    const auto by_name = [](const Buffer& a, const Buffer& b) { return a->name < b->name; };
    there.insert(std::upper_bound(there.begin(), there.end(), use.buffer, by_name), use.buffer);
  }
  return function.WithBody(AllocationMover(std::move(placed)).Mutate(function->body), function->next_id);
}

}  // namespace tilewright
