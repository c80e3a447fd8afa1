#include "schedule/movement/compute_inline.h"

#include <algorithm>

#include "base/status_macros.h"
#include "ir/mentions.h"
#include "ir/substitute.h"
#include "schedule/program/common_refusals.h"
#include "schedule/program/inline_body.h"
#include "schedule/program/instances.h"
#include "schedule/program/loop_tree.h"
#include "schedule/program/mutate_loop.h"
#include "schedule/program/relaxed_region.h"
#include "schedule/program/simplify_block.h"
#include "verify/structure/block_scope.h"

namespace tilewright {
namespace {

constexpr const char* kName = "compute_inline";

// Puts the producer's value in the place of loads of its buffer.
class Inliner : public MutatorOfMentions {
 public:
  Inliner(const BlockNode& producer, const StoreNode& store)
      : MutatorOfMentions({store.buffer->data.get()}), producer_(producer), store_(store) {}

 protected:
  Expr MutateLoad(const LoadNode* op, const Expr& self) override {
    if (!op->buffer.same_as(store_.buffer)) return Mutator::MutateLoad(op, self);
    const std::vector<Expr> at = MutateAll(op->indices);
    VarMap values;
    const std::vector<Expr> iters = *SolveIterators(producer_.iter_vars, store_.indices, at, &analyzer_);
    for (size_t i = 0; i < iters.size(); ++i) {
      const Var& var = producer_.iter_vars[i].var;
      values[var] = CastTo(var.dtype(), iters[i]);
    }
    return Substitute(store_.value, values);
  }
  Stmt MutateFor(const ForNode* op, const Stmt& self) override { return MutateLoop(op, self, this, &analyzer_); }
  Block MutateBlock(const Block& block) override {
    if (block->id == producer_.id) return block;
    arith::Analyzer::Scope inside(&analyzer_);
    BindIterators(block->iter_vars, &analyzer_);
    Block changed = Mutator::MutateBlock(block);
    // A block may declare that it reads the buffer, and not read it.
    if (changed.same_as(block) && !Mentions(block->reads, store_.buffer)) return block;
    return WithNewRegions(block, changed->fields(), producer_, store_.buffer);
  }

 private:
  const BlockNode& producer_;
  const StoreNode& store_;
  arith::Analyzer analyzer_;
};

size_t SharedLoops(const ScopeChild& a, const ScopeChild& b) {
  const auto [of_a, of_b] = std::ranges::mismatch(a.loops, b.loops);
  return static_cast<size_t>(of_a - a.loops.begin());
}

// Whether all that use what the block computes come before another one that overwrites what it reads: no loop that the
// block is not in repeats them after it.
bool IsUsedBefore(const BlockScope& scope, const ScopeChild& child, uint32_t overwriter) {
  const ScopeChild& other = *scope.Find(overwriter);
  for (const uint32_t id : scope.Consumers(child.id())) {
    const ScopeChild& consumer = *scope.Find(id);
    if (&consumer >= &other || SharedLoops(consumer, other) > SharedLoops(child, other)) return false;
  }
  return true;
}

std::optional<Refusal> WhyNotInlinable(const BlockScope& scope, const ScopeChild& child) {
  const uint32_t id = child.id();
  const BlockNode& block = *child.realize->block;
  if (scope.has_other_statements()) {
    return Refusal{kName, "the scope of {block0} holds statements other than loops and blocks", {id}};
  }
  if (block.init) return Refusal{kName, "{block0} has an init", {id}};
  if (auto reason = WhyNotComplete(scope, child)) {
    return Refusal{kName, "{block0} is not complete: {text0}", {id}, {}, {*reason}};
  }
  if (scope.IsOutput(child)) return Refusal{kName, "{block0} writes a buffer that outlives its scope", {id}};
  for (const Dependence& dependence : scope.DependencesOf(id)) {
    if (dependence.source == id && dependence.kind == DependenceKind::kWriteAfterRead &&
        !IsUsedBefore(scope, child, dependence.destination)) {
      return Refusal{kName,
                     "{block1} overwrites {text0}, which {block0} reads",
                     {id, dependence.destination},
                     {},
                     {dependence.buffer->name}};
    }
  }
  const StoreNode* store = AsSingleStore(block);
  if (store == nullptr || block.writes.size() != 1)
    return Refusal{kName, "the body of {block0} is not one store", {id}};
  if (!IsPure(store->value)) return Refusal{kName, "the value of {block0} has effects", {id}};
  return std::nullopt;
}

// Whether the block stores a box of the buffer, each element once, and no other block reads what is outside of it.
bool StoresAllThatIsRead(const BlockScope& scope, const ScopeChild& child, arith::Analyzer* analyzer) {
  const BlockNode& block = *child.realize->block;
  const std::vector<Range> box = RelaxedRegion(block.writes[0], *child.realize, child.loops).region;
  Expr instances = Const(DataType::Int(64), 1), elements = instances;
  for (const IterVar& iter : block.iter_vars) instances = instances * iter.domain.extent;
  for (const Range& range : box) elements = elements * range.extent;
  if (!analyzer->CanProveEqual(instances, elements)) return false;
  for (const ScopeChild& other : scope.children()) {
    for (const BufferRegion& read : other.realize->block->reads) {
      if (!read.buffer.same_as(block.writes[0].buffer)) continue;
      if (!ProvablyInside(analyzer, RelaxedRegion(read, *other.realize, other.loops).region, box)) return false;
    }
  }
  return true;
}

// Every element of the buffer that is read comes from exactly one instance.
std::optional<Refusal> WhyNotOneInstanceEach(const BlockScope& scope, const ScopeChild& child, const StoreNode& store) {
  const BlockNode& block = *child.realize->block;
  arith::Analyzer analyzer;
  if (!PredicateOnlyGuardsDomains(*child.realize, &analyzer)) {
    return Refusal{kName,
                   "the predicate {expr0} of {block0} says more than that its iterators are inside of their domains",
                   {block.id},
                   {child.realize->predicate}};
  }
  if (!SolveIterators(block.iter_vars, store.indices, store.indices, &analyzer)) {
    return Refusal{kName, "instances of {block0} may store the same element", {block.id}};
  }
  Expr instances = Const(DataType::Int(64), 1), elements = instances;
  for (const IterVar& iter : block.iter_vars) instances = instances * iter.domain.extent;
  for (const Expr& extent : store.buffer->shape) elements = elements * extent;
  if (!analyzer.CanProveEqual(instances, elements) && !StoresAllThatIsRead(scope, child, &analyzer)) {
    return Refusal{kName, "{block0} may not store all elements of {text0}", {block.id}, {}, {store.buffer->name}};
  }
  return std::nullopt;
}

}  // namespace

Outcome<ComputeInlineResult> ComputeInline(const Function& function, uint32_t block_id) {
  TW_ASSIGN_OR_RETURN(Path path, PathToInnerBlock(kName, function, block_id));
  const BlockScope scope = BlockScope::Around(function, block_id);
  const ScopeChild* child = scope.Find(block_id);
  if (child == nullptr) return Refusal{kName, "{block0} lies in the init of a block", {block_id}};
  if (SubtreeOfOnly(path) == nullptr) return Refusal{kName, "{block0} is the only block of its scope", {block_id}};
  if (auto refusal = WhyNotInlinable(scope, *child)) return *refusal;
  const BlockNode& block = *child->realize->block;
  const StoreNode& store = *AsSingleStore(block);
  if (auto refusal = WhyNotOneInstanceEach(scope, *child, store)) return *refusal;
  if (UsedOtherThanByLoads(scope.block()->body, store.buffer)) {
    return Refusal{kName, "{text0} is used other than by loads", {block_id}, {}, {store.buffer->name}};
  }
  const Stmt body = Inliner(block, store).Mutate(scope.block()->body);
  return ComputeInlineResult{RemoveInlined(function, *scope.block(), body, block_id, store.buffer)};
}

}  // namespace tilewright
