#include "verify/structure/block_scope.h"

#include <algorithm>
#include <set>
#include <unordered_set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/check.h"
#include "ir/analysis.h"
#include "ir/functor.h"

namespace tilewright {
namespace {

// Whether one of the regions is of the buffer's memory, by whatever name.
bool MentionsMemory(const std::vector<BufferRegion>& regions, const Buffer& buffer) {
  return std::ranges::any_of(regions,
                             [&](const BufferRegion& region) { return region.buffer->data.same_as(buffer->data); });
}

void AddOnce(std::vector<uint32_t>& ids, uint32_t id) {
  if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
}

// Walks from a scope to its blocks without entering them.
class ChildCollector : public Visitor {
 public:
  using Visitor::Visit;
  void Visit(const Expr&) override {}
  std::vector<ScopeChild> children;
  bool has_other_statements = false;

 protected:
  void VisitFor(const ForNode* op) override {
    loops_.push_back(op);
    Visit(op->body);
    loops_.pop_back();
  }
  void VisitBlockRealize(const BlockRealizeNode* op) override { children.push_back({op, loops_}); }
  void VisitWhile(const WhileNode* op) override {
    has_other_statements = true;
    Visitor::VisitWhile(op);
  }
  void VisitIf(const IfNode* op) override {
    has_other_statements = true;
    Visitor::VisitIf(op);
  }
  void VisitStore(const StoreNode*) override { has_other_statements = true; }
  void VisitEvaluate(const EvaluateNode* op) override { has_other_statements |= !isa<IntImmNode>(op->value); }
  void VisitLetStmt(const LetStmtNode* op) override {
    has_other_statements = true;
    Visitor::VisitLetStmt(op);
  }
  void VisitAllocate(const AllocateNode* op) override {
    has_other_statements = true;
    Visitor::VisitAllocate(op);
  }
  void VisitSync(const SyncNode*) override { has_other_statements = true; }

 private:
  std::vector<const ForNode*> loops_;
};

// The blocks that touch each buffer, so that the time is that of the dependences, not of all pairs of blocks.
class TouchedBefore {
 public:
  void Add(size_t child, const BlockNode& block) {
    for (const BufferRegion& region : block.reads) Add(child, false, region);
    for (const BufferRegion& region : block.writes) Add(child, true, region);
  }
  // Those on which the block may depend, in order.
  const std::vector<size_t>& Sources(const BlockNode& block) {
    sources_.clear();
    for (const BufferRegion& region : block.reads) AddSources(region, false);
    for (const BufferRegion& region : block.writes) AddSources(region, true);
    std::ranges::sort(sources_);
    sources_.erase(std::unique(sources_.begin(), sources_.end()), sources_.end());
    return sources_;
  }

 private:
  static constexpr size_t kNone = ~size_t{0};
  struct Touch {
    size_t child;
    size_t before;  // the touch of the same memory before this one, in the same list
  };
  // The last ones of some memory.
  struct Last {
    size_t touch = kNone, write = kNone;
  };

  void Add(size_t child, bool writes, const BufferRegion& region) {
    Last& last = last_[region.buffer->data.get()];
    touches_.push_back({child, std::exchange(last.touch, touches_.size())});
    if (writes) writes_.push_back({child, std::exchange(last.write, writes_.size())});
  }
  // Those that write the buffer, and its readers where it is written now. Blocks that read a buffer too are not walked
  // through: all may.
  void AddSources(const BufferRegion& region, bool writes) {
    const auto found = last_.find(region.buffer->data.get());
    if (found == last_.end()) return;
    const std::vector<Touch>& list = writes ? touches_ : writes_;
    for (size_t i = writes ? found->second.touch : found->second.write; i != kNone; i = list[i].before) {
      sources_.push_back(list[i].child);
    }
  }

  absl::flat_hash_map<const VarNode*, Last> last_;  // by memory, which may have several names
  std::vector<Touch> touches_, writes_;             // the second of the first
  std::vector<size_t> sources_;
};

// Dependences between each pair of blocks that touch the same buffer, whole buffers counted.
std::vector<Dependence> FindDependences(const std::vector<ScopeChild>& children) {
  std::vector<Dependence> dependences;
  TouchedBefore touched;
  for (size_t later = 0; later < children.size(); ++later) {
    const BlockNode* destination = children[later].realize->block.get();
    for (const size_t earlier : touched.Sources(*destination)) {
      const BlockNode* source = children[earlier].realize->block.get();
      auto add = [&](const std::vector<BufferRegion>& from, const std::vector<BufferRegion>& to, DependenceKind kind) {
        for (const BufferRegion& region : from) {
          if (MentionsMemory(to, region.buffer))
            dependences.push_back({source->id, destination->id, kind, region.buffer});
        }
      };
      add(source->writes, destination->reads, DependenceKind::kReadAfterWrite);
      add(source->writes, destination->writes, DependenceKind::kWriteAfterWrite);
      add(source->reads, destination->writes, DependenceKind::kWriteAfterRead);
    }
    touched.Add(later, *destination);
  }
  return dependences;
}

// The only writer of its outputs, and no block before it reads them.
std::optional<std::string> WhyNotDominant(const BlockScope& scope, const ScopeChild& child) {
  for (const BufferRegion& write : child.realize->block->writes) {
    for (const ScopeChild& other : scope.children()) {
      if (other.id() != child.id() && MentionsMemory(other.realize->block->writes, write.buffer)) {
        return "block " + other.realize->block->name + " also writes " + write.buffer->name;
      }
    }
  }
  for (const Dependence& dependence : scope.dependences()) {
    if (dependence.destination == child.id() && dependence.kind == DependenceKind::kWriteAfterRead) {
      return "block " + scope.Find(dependence.source)->realize->block->name + " reads " + dependence.buffer->name +
             " before it is written";
    }
  }
  return std::nullopt;
}

}  // namespace

BlockScope BlockScope::Of(const BlockNode* block) {
  BlockScope scope;
  scope.block_ = block;
  ChildCollector collector;
  collector.Visit(block->body);  // not the init, which is part of the block's own computation
  scope.children_ = std::move(collector.children);
  scope.has_other_statements_ = collector.has_other_statements;
  scope.dependences_ = FindDependences(scope.children_);
  return scope;
}

BlockScope BlockScope::Around(const Function& function, uint32_t id) {
  Path path = FindPath(function, id);
  TW_CHECK(path.size() > 1) << "no loop or block " << id << " below the root of " << function->name;
  for (size_t i = path.size() - 1; i-- > 0;) {
    if (const auto* realize = dyn_cast<BlockRealizeNode>(path[i])) return Of(realize->block.get());
  }
  TW_CHECK(false) << "no block around " << id;
  return {};
}

const ScopeChild* BlockScope::Find(uint32_t block_id) const {
  for (const ScopeChild& child : children_) {
    if (child.id() == block_id) return &child;
  }
  return nullptr;
}

std::vector<uint32_t> BlockScope::Producers(uint32_t block_id) const {
  std::vector<uint32_t> ids;
  for (const Dependence& dependence : dependences_) {
    if (dependence.destination == block_id && dependence.kind != DependenceKind::kWriteAfterRead) {
      AddOnce(ids, dependence.source);
    }
  }
  return ids;
}
std::vector<uint32_t> BlockScope::Consumers(uint32_t block_id) const {
  std::vector<uint32_t> ids;
  for (const Dependence& dependence : dependences_) {
    if (dependence.source == block_id && dependence.kind != DependenceKind::kWriteAfterRead) {
      AddOnce(ids, dependence.destination);
    }
  }
  return ids;
}
std::vector<uint32_t> BlockScope::Writers(const Buffer& buffer) const {
  std::vector<uint32_t> ids;
  for (const ScopeChild& child : children_) {
    if (MentionsMemory(child.realize->block->writes, buffer)) ids.push_back(child.id());
  }
  return ids;
}
std::vector<uint32_t> BlockScope::Readers(const Buffer& buffer) const {
  std::vector<uint32_t> ids;
  for (const ScopeChild& child : children_) {
    if (MentionsMemory(child.realize->block->reads, buffer)) ids.push_back(child.id());
  }
  return ids;
}
std::vector<uint32_t> BlockScope::Outputs() const {
  std::vector<uint32_t> ids;
  std::unordered_set<const VarNode*> local;
  for (const Buffer& buffer : block_->alloc_buffers) local.insert(buffer->data.get());
  for (const ScopeChild& child : children_) {
    for (const BufferRegion& write : child.realize->block->writes) {
      if (!local.contains(write.buffer->data.get())) AddOnce(ids, child.id());
    }
  }
  return ids;
}

std::optional<std::string> WhyNotComplete(const BlockScope& scope, const ScopeChild& child) {
  const BlockNode* block = child.realize->block.get();
  for (const IterVar& iter : block->iter_vars) {
    if (iter.kind != IterKind::kSpatial) {
      return "its iterator " + iter.var.name() + " is " + IterKindName(iter.kind) + ", not spatial";
    }
  }
  if (block->init) return "it has an init";
  if (auto reason = WhyNotDominant(scope, child)) return reason;
  for (const BufferRegion& write : block->writes) {
    if (MentionsMemory(block->reads, write.buffer)) return "it reads " + write.buffer->name + ", which it also writes";
  }
  return std::nullopt;
}

std::optional<std::string> WhyNotReduction(const BlockScope& scope, const ScopeChild& child) {
  const BlockNode* block = child.realize->block.get();
  if (!block->init) return "it has no init";
  for (const IterVar& iter : block->iter_vars) {
    if (iter.kind != IterKind::kSpatial && iter.kind != IterKind::kReduce) {
      return "its iterator " + iter.var.name() + " is " + IterKindName(iter.kind);
    }
  }
  if (auto reason = WhyNotDominant(scope, child)) return reason;
  for (const BufferRegion& write : block->writes) {
    for (const Range& range : write.region) {
      for (const IterVar& iter : block->iter_vars) {
        if (iter.kind == IterKind::kReduce && UsesVar(range.min, iter.var)) {
          return "its reduce iterator " + iter.var.name() + " indexes the output " + write.buffer->name;
        }
      }
    }
  }
  return std::nullopt;
}

bool HasTrivialBindings(const BlockRealizeNode& realize, const std::vector<const ForNode*>& loops) {
  std::set<const Node*> used;
  for (size_t i = 0; i < realize.bindings.size(); ++i) {
    const Expr& binding = realize.bindings[i];
    const auto* var = dyn_cast<VarNode>(binding);
    if (var == nullptr) {
      if (!isa<IntImmNode>(binding) || !IsInt(realize.block->iter_vars[i].domain.extent, 1)) return false;
      continue;
    }
    const bool is_loop =
        std::any_of(loops.begin(), loops.end(), [&](const ForNode* loop) { return loop->var.get() == var; });
    if (!is_loop || !used.insert(var).second) return false;
  }
  return true;
}

}  // namespace tilewright
