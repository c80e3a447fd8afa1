#include "codegen/lower/plan_allocations.h"

#include <algorithm>
#include <unordered_map>

#include "ir/builtin.h"
#include "ir/functor.h"

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

bool Shares(const ForNode* loop, MemoryKind memory) {
  if (loop->kind == ForKind::kVectorized) return true;
  if (loop->kind != ForKind::kThreadBound) return false;
  if (memory == MemoryKind::kGlobal) return true;
  return memory == MemoryKind::kShared && loop->thread_tag.starts_with("threadIdx");
}

class UseCollector : public Visitor {
 public:
  using Visitor::Visit;
  std::unordered_map<const VarNode*, Use> uses;  // by data pointer

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
  std::unordered_map<const StmtNode*, std::vector<Buffer>> placed;
  for (auto& [data, use] : collector.uses) {
    if (!use.used) continue;
    for (size_t i = use.declared; i < use.common.size(); ++i) {
      const auto* loop = dyn_cast<ForNode>(use.common[i]);
      if (loop != nullptr && Shares(loop, use.buffer->scope.kind())) use.common.resize(i);
    }
    placed[use.common.back()].push_back(use.buffer);
  }
  // The order of a hash table is no order: keep programs reproducible.
  for (auto& [place, buffers] : placed) {
    std::sort(buffers.begin(), buffers.end(), [](const Buffer& a, const Buffer& b) { return a->name < b->name; });
  }
  return function.WithBody(AllocationMover(std::move(placed)).Mutate(function->body), function->next_id);
}

}  // namespace tilewright
