#include "verify/structure/block_scope.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <set>
#include <span>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/check.h"
#include "base/list_change.h"
#include "ir/analysis.h"
#include "ir/functor.h"

namespace tilewright {
namespace {

// Whether one of the regions is of the buffer's memory, by whatever name.
bool MentionsMemory(const std::vector<BufferRegion>& regions, const Buffer& buffer) {
  return std::ranges::any_of(regions,
                             [&](const BufferRegion& region) { return region.buffer->data.same_as(buffer->data); });
}

// Some memory, as a set that may hold more: two bits for the memory of a buffer, one of each word.
class MemorySet {
 public:
  // The upper bits of a product depend on all bits of its factors.
  void Add(const Buffer& buffer) {
    const uint64_t number = reinterpret_cast<uintptr_t>(buffer->data.get()) * 0x9e3779b97f4a7c15U;
    first_ |= uint64_t{1} << (number >> 58);
    second_ |= uint64_t{1} << (number >> 52 & 63);
  }
  void Add(const std::vector<BufferRegion>& regions) {
    for (const BufferRegion& region : regions) Add(region.buffer);
  }
  bool MayMeet(const MemorySet& other) const { return (first_ & other.first_) != 0 && (second_ & other.second_) != 0; }

 private:
  uint64_t first_ = 0, second_ = 0;
};

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

// Adds the dependences between two blocks, whole buffers counted.
void AddDependences(const BlockNode& source, const BlockNode& destination, std::vector<Dependence>* dependences) {
  const auto add = [&](const std::vector<BufferRegion>& from, const std::vector<BufferRegion>& to,
                       DependenceKind kind) {
    for (const BufferRegion& region : from) {
      if (MentionsMemory(to, region.buffer)) dependences->push_back({source.id, destination.id, kind, region.buffer});
    }
  };
  add(source.writes, destination.reads, DependenceKind::kReadAfterWrite);
  add(source.writes, destination.writes, DependenceKind::kWriteAfterWrite);
  add(source.reads, destination.writes, DependenceKind::kWriteAfterRead);
}

// What memory a child of a scope touches and writes.
struct Memory {
  MemorySet touched, written;
  bool loads_around = false;  // in its bindings, or in bounds of the loops around it

  bool MayDependOn(const Memory& other) const {
    return written.MayMeet(other.touched) || touched.MayMeet(other.written);
  }
};

bool Loads(const Expr& e) {
  bool loads = false;
  PreOrder(e, [&](const Expr& part) {
    loads |= isa<LoadNode>(part);
    return !loads;
  });
  return loads;
}

Memory MemoryOf(const ScopeChild& child) {
  Memory memory;
  memory.written.Add(child.realize->block->writes);
  memory.touched = memory.written;
  memory.touched.Add(child.realize->block->reads);
  memory.loads_around =
      std::ranges::any_of(child.realize->bindings, Loads) ||
      std::ranges::any_of(child.loops, [](const ForNode* loop) { return Loads(loop->min) || Loads(loop->extent); });
  return memory;
}

// The statements of a block, each of which holds blocks of its own.
std::span<const Stmt> StatementsOf(const BlockNode& block) {
  const auto* list = dyn_cast<SeqNode>(block.body);
  return list != nullptr ? std::span<const Stmt>(list->stmts) : std::span(&block.body, 1);
}

// The only writer of its outputs, and no block before it reads them.
std::optional<std::string> WhyNotDominant(const BlockScope& scope, const ScopeChild& child) {
  for (const BufferRegion& write : child.realize->block->writes) {
    for (const uint32_t other : scope.Writers(write.buffer)) {
      if (other == child.id()) continue;
      return "block " + scope.Find(other)->realize->block->name + " also writes " + write.buffer->name;
    }
  }
  for (const Dependence& dependence : scope.DependencesOf(child.id())) {
    if (dependence.destination == child.id() && dependence.kind == DependenceKind::kWriteAfterRead) {
      return "block " + scope.Find(dependence.source)->realize->block->name + " reads " + dependence.buffer->name +
             " before it is written";
    }
  }
  return std::nullopt;
}

thread_local KeepBlockScopes* keeping = nullptr;

}  // namespace

struct BlockScope::Parts {
  struct Statement {
    size_t children = 0;
    bool is_other = false;  // or holds others between it and its blocks
  };

  Block block;
  std::vector<ScopeChild> children;
  std::vector<uint32_t> ids;          // of the children
  std::vector<Memory> memory;         // that each child touches
  std::vector<Statement> statements;  // of the block's body; not of the init, which is part of its own computation

  explicit Parts(const BlockNode* of) : block(of) { Replace({0, 0, StatementsOf(*of).size()}); }

  // Makes them the parts of another block.
  void Become(const BlockNode* other) {
    const auto is_same = [](const Stmt& a, const Stmt& b) { return a.same_as(b); };
    const ListChange change = ListChange::Between(StatementsOf(*block), StatementsOf(*other), is_same);
    const Block before = std::exchange(block, Block(other));
    Replace(change);
  }

 private:
  void Replace(const ListChange& change) {
    const auto place = [](auto& list, size_t i) { return list.begin() + static_cast<std::ptrdiff_t>(i); };
    const auto count = [&](size_t begin, size_t end) {
      return std::accumulate(place(statements, begin), place(statements, end), size_t{0},
                             [](size_t sum, const Statement& statement) { return sum + statement.children; });
    };
    const size_t first = count(0, change.begin), replaced = count(change.begin, change.end_before);
    std::vector<ScopeChild> found;
    std::vector<Statement> changed;
    for (const Stmt& stmt : StatementsOf(*block).subspan(change.begin, change.end_after - change.begin)) {
      ChildCollector collector;
      collector.Visit(stmt);
      changed.push_back({collector.children.size(), collector.has_other_statements});
      std::ranges::move(collector.children, std::back_inserter(found));
    }
    statements.erase(place(statements, change.begin), place(statements, change.end_before));
    statements.insert(place(statements, change.begin), changed.begin(), changed.end());
    children.erase(place(children, first), place(children, first + replaced));
    std::vector<Memory> touched;
    std::vector<uint32_t> found_ids;
    for (const ScopeChild& child : found) {
      found_ids.push_back(child.id());
      touched.push_back(MemoryOf(child));
    }
    memory.erase(place(memory, first), place(memory, first + replaced));
    memory.insert(place(memory, first), touched.begin(), touched.end());
    ids.erase(place(ids, first), place(ids, first + replaced));
    ids.insert(place(ids, first), found_ids.begin(), found_ids.end());
    children.insert(place(children, first), std::move_iterator(found.begin()), std::move_iterator(found.end()));
  }
};

// By the ids of blocks that hold lists of statements: others have little to keep.
struct KeepBlockScopes::Kept {
  absl::flat_hash_map<uint32_t, std::shared_ptr<BlockScope::Parts>> parts;
};

KeepBlockScopes::KeepBlockScopes() : kept_(std::make_unique<Kept>()), outer_(std::exchange(keeping, this)) {}
KeepBlockScopes::~KeepBlockScopes() { keeping = outer_; }

BlockScope BlockScope::Of(const BlockNode* block) {
  BlockScope scope;
  if (keeping == nullptr || !isa<SeqNode>(block->body)) {
    scope.parts_ = std::make_shared<Parts>(block);
    return scope;
  }
  std::shared_ptr<Parts>& parts = keeping->kept_->parts[block->id];
  if (parts == nullptr) parts = std::make_shared<Parts>(block);
  if (parts->block.get() != block) {
    if (parts.use_count() != 1) parts = std::make_shared<Parts>(*parts);
    parts->Become(block);
  }
  scope.parts_ = parts;
  return scope;
}

const BlockNode* BlockScope::block() const { return parts_->block.get(); }
const std::vector<ScopeChild>& BlockScope::children() const { return parts_->children; }
bool BlockScope::has_other_statements() const {
  return std::ranges::any_of(parts_->statements, &Parts::Statement::is_other);
}

// Between each pair of blocks that touch the same buffer.
std::vector<Dependence> BlockScope::Dependences() const {
  std::vector<Dependence> dependences;
  TouchedBefore touched;
  for (size_t later = 0; later < children().size(); ++later) {
    const BlockNode& destination = *children()[later].realize->block;
    for (const size_t earlier : touched.Sources(destination)) {
      AddDependences(*children()[earlier].realize->block, destination, &dependences);
    }
    touched.Add(later, destination);
  }
  return dependences;
}

std::vector<const ScopeChild*> BlockScope::ChildrenThatMayTouch(const Buffer& buffer) const {
  MemorySet memory;
  memory.Add(buffer);
  std::vector<const ScopeChild*> found;
  for (size_t i = 0; i < children().size(); ++i) {
    if (parts_->memory[i].touched.MayMeet(memory)) found.push_back(&children()[i]);
  }
  return found;
}

std::vector<Dependence> BlockScope::DependencesOf(uint32_t block_id) const {
  std::vector<Dependence> dependences;
  const ScopeChild* child = Find(block_id);
  if (child == nullptr) return dependences;
  const auto own = static_cast<size_t>(child - children().data());
  for (size_t i = 0; i < children().size(); ++i) {
    if (i == own || !parts_->memory[i].MayDependOn(parts_->memory[own])) continue;
    const BlockNode& other = *children()[i].realize->block;
    if (i < own) AddDependences(other, *child->realize->block, &dependences);
    if (i > own) AddDependences(*child->realize->block, other, &dependences);
  }
  return dependences;
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
  const auto found = std::ranges::find(parts_->ids, block_id);
  return found == parts_->ids.end() ? nullptr : &children()[static_cast<size_t>(found - parts_->ids.begin())];
}

std::optional<size_t> BlockScope::FirstStatementOf(const std::vector<uint32_t>& block_ids) const {
  const auto first = std::ranges::find_first_of(parts_->ids, block_ids);
  if (first == parts_->ids.end()) return std::nullopt;
  auto before = static_cast<size_t>(first - parts_->ids.begin());
  size_t place = 0;
  for (; before >= parts_->statements[place].children; ++place) before -= parts_->statements[place].children;
  return place;
}

bool BlockScope::LoadsAround(const ScopeChild& child) const {
  return parts_->memory[static_cast<size_t>(&child - children().data())].loads_around;
}

std::vector<uint32_t> BlockScope::Producers(uint32_t block_id) const {
  std::vector<uint32_t> ids;
  for (const Dependence& dependence : DependencesOf(block_id)) {
    if (dependence.destination == block_id && dependence.kind != DependenceKind::kWriteAfterRead) {
      AddOnce(ids, dependence.source);
    }
  }
  return ids;
}
std::vector<uint32_t> BlockScope::Consumers(uint32_t block_id) const {
  std::vector<uint32_t> ids;
  for (const Dependence& dependence : DependencesOf(block_id)) {
    if (dependence.source == block_id && dependence.kind != DependenceKind::kWriteAfterRead) {
      AddOnce(ids, dependence.destination);
    }
  }
  return ids;
}
std::vector<uint32_t> BlockScope::Writers(const Buffer& buffer) const {
  std::vector<uint32_t> ids;
  for (const ScopeChild* child : ChildrenThatMayTouch(buffer)) {
    if (MentionsMemory(child->realize->block->writes, buffer)) ids.push_back(child->id());
  }
  return ids;
}
std::vector<uint32_t> BlockScope::Readers(const Buffer& buffer) const {
  std::vector<uint32_t> ids;
  for (const ScopeChild* child : ChildrenThatMayTouch(buffer)) {
    if (MentionsMemory(child->realize->block->reads, buffer)) ids.push_back(child->id());
  }
  return ids;
}
bool BlockScope::IsOutput(const ScopeChild& child) const {
  const auto is_local = [&](const BufferRegion& write) {
    return std::ranges::any_of(block()->alloc_buffers,
                               [&](const Buffer& local) { return local->data.same_as(write.buffer->data); });
  };
  return !std::ranges::all_of(child.realize->block->writes, is_local);
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
