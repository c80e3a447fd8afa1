#include "schedule/reduction/compose_reduction.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "ir/analysis.h"
#include "ir/arith/region.h"
#include "ir/substitute.h"
#include "schedule/program/common_refusals.h"
#include "schedule/program/instances.h"
#include "schedule/program/loop_tree.h"
#include "schedule/program/relaxed_region.h"
#include "verify/structure/block_scope.h"

namespace tilewright {
namespace {

constexpr const char* kName = "compose_reduction";

std::vector<const StoreNode*> StoresOf(const Stmt& body) {
  Stmt inside = body;
  while (const auto* let = dyn_cast<LetStmtNode>(inside)) inside = let->body;
  const auto* seq = dyn_cast<SeqNode>(inside);
  std::vector<const StoreNode*> stores;
  for (const Stmt& stmt : seq == nullptr ? std::vector<Stmt>{inside} : seq->stmts) {
    stores.push_back(dyn_cast<StoreNode>(stmt));
    if (stores.back() == nullptr) return {};
  }
  return stores;
}

class Composer {
 public:
  Composer(const Function& function, uint32_t init, uint32_t update)
      : function_(function),
        scope_(BlockScope::Around(function, update)),
        init_(scope_.Find(init)),
        update_(scope_.Find(update)) {}

  Outcome<Function> Apply(uint32_t init_id, uint32_t update_id) {
    if (init_ == nullptr || update_ == nullptr || init_ >= update_) {
      return Refusal{kName, "{block0} does not come before {block1} in one scope", {init_id, update_id}};
    }
    if (scope_.has_other_statements()) {
      return Refusal{kName, "the scope of {block0} holds statements other than loops and blocks", {init_id}};
    }
    while (common_ < std::min(init_->loops.size(), update_->loops.size()) &&
           init_->loops[common_] == update_->loops[common_]) {
      ++common_;
    }
    for (auto check :
         {&Composer::CheckKinds, &Composer::MatchStores, &Composer::CheckInstances, &Composer::CheckNeighbors}) {
      if (std::optional<Refusal> refusal = (this->*check)()) return *refusal;
    }
    return Rewrite();
  }

 private:
  using Check = std::optional<Refusal>;
  const BlockNode& init() const { return *init_->realize->block; }
  const BlockNode& update() const { return *update_->realize->block; }
  Refusal Refuse(const char* reason, std::vector<std::string> texts = {}) const {
    return Refusal{kName, reason, {init_->id(), update_->id()}, {}, std::move(texts)};
  }

  Check CheckKinds() {
    for (const IterVar& iter : init().iter_vars) {
      if (iter.kind != IterKind::kSpatial)
        return Refuse("the iterator {text0} of {block0} is not spatial", {iter.var.name()});
    }
    for (const IterVar& iter : update().iter_vars) {
      if (iter.kind == IterKind::kSpatial || iter.kind == IterKind::kReduce) continue;
      return Refuse("the iterator {text0} of {block1} is neither spatial nor reduce", {iter.var.name()});
    }
    if (init().init || update().init) return Refuse("{block0} or {block1} has an init already");
    return std::nullopt;
  }

  // The init block's iterators as those of the update that store to the same place.
  Check MatchStores() {
    const std::vector<const StoreNode*> starts = StoresOf(init().body), updates = StoresOf(update().body);
    if (starts.empty() || starts.size() != updates.size()) {
      return Refuse("{block0} and {block1} do not store once to each of the same buffers");
    }
    for (const StoreNode* store : updates) {
      const auto start = std::find_if(starts.begin(), starts.end(),
                                      [&](const StoreNode* other) { return other->buffer.same_as(store->buffer); });
      if (start == starts.end()) return Refuse("{block0} does not store to {text0}", {store->buffer->name});
      for (size_t d = 0; d < store->indices.size(); ++d) {
        const auto* from = dyn_cast<VarNode>((*start)->indices[d]);
        const auto* to = dyn_cast<VarNode>(store->indices[d]);
        if (from == nullptr || to == nullptr) {
          return Refuse("an index of {text0} is not an iterator by itself", {store->buffer->name});
        }
        const auto [entry, added] = iters_.emplace(Var(from), Var(to));
        if (!added && !entry->second.same_as(Var(to))) {
          return Refuse("{block0} and {block1} index {text0} by different iterators", {store->buffer->name});
        }
      }
    }
    for (const IterVar& iter : init().iter_vars) {
      if (iters_.contains(iter.var)) continue;
      if (!IsInt(iter.domain.extent, 1)) {
        return Refuse("the iterator {text0} of {block0} indexes no output", {iter.var.name()});
      }
      iters_[iter.var] = iter.domain.min;
    }
    for (const BufferRegion& write : init().writes) {
      if (Mentions(init().reads, write.buffer)) return Refuse("{block0} reads {text0}", {write.buffer->name});
    }
    for (const IterVar& iter : update().iter_vars) {
      const bool indexes =
          std::any_of(iters_.begin(), iters_.end(), [&](const auto& entry) { return entry.second.same_as(iter.var); });
      if (indexes == (iter.kind == IterKind::kSpatial) || IsInt(iter.domain.extent, 1)) continue;
      return Refuse("the iterator {text0} of {block1} does not index the outputs as its kind says", {iter.var.name()});
    }
    return std::nullopt;
  }

  Check CheckInstances() {
    arith::Analyzer analyzer;
    for (const ScopeChild* child : {init_, update_}) {
      if (RunsAllInstances(*child->realize, child->loops, &analyzer)) continue;
      return Refusal{kName, "not all instances of {block0} run", {child->id()}};
    }
    // Else the init would stand before each of the runs, of which there is but one sum now.
    if (!RunsEachInstanceOnce(*update_->realize, update_->loops, &analyzer)) {
      return Refusal{kName, "instances of {block0} may run more than once", {update_->id()}};
    }
    VarMap start;
    for (const ForNode* loop : update_->loops) start[loop->var] = loop->min;
    for (size_t i = 0; i < update().iter_vars.size(); ++i) {
      const IterVar& iter = update().iter_vars[i];
      if (iter.kind != IterKind::kReduce) continue;
      if (!analyzer.CanProve(iter.domain.extent >= 1)) {
        return Refuse("the iterator {text0} of {block1} may have no value, and then nothing would set the outputs",
                      {iter.var.name()});
      }
      const Expr& binding = update_->realize->bindings[i];
      for (size_t l = 0; l < common_; ++l) {
        if (!UsesVar(binding, update_->loops[l]->var) || IsInt(update_->loops[l]->extent, 1)) continue;
        return Refusal{kName,
                       "{loop1}, above both blocks, takes part in the reduction of {block0}",
                       {update_->id(), update_->loops[l]->id}};
      }
      if (!analyzer.CanProveEqual(Substitute(binding, start), iter.domain.min)) {
        return Refuse("the iterator {text0} of {block1} does not start at its least value", {iter.var.name()});
      }
    }
    for (size_t l = 0; l < common_; ++l) {
      analyzer.Bind(init_->loops[l]->var, Range{init_->loops[l]->min, init_->loops[l]->extent});
    }
    for (const BufferRegion& write : init().writes) {
      const auto updated = std::find_if(update().writes.begin(), update().writes.end(),
                                        [&](const BufferRegion& other) { return other.buffer.same_as(write.buffer); });
      const bool same = updated != update().writes.end() && Covers(*init_, write, *update_, *updated, &analyzer) &&
                        Covers(*update_, *updated, *init_, write, &analyzer);
      if (!same) return Refuse("{block0} and {block1} may write different elements of {text0}", {write.buffer->name});
    }
    return std::nullopt;
  }

  // Whether one surely writes, in an iteration of the loops around both, what the other may write.
  bool Covers(const ScopeChild& outer, const BufferRegion& provided, const ScopeChild& inner,
              const BufferRegion& needed, arith::Analyzer* analyzer) const {
    const auto may = arith::MayTouch(InLoops(inner, needed), OwnLoops(inner), inner.realize->predicate, analyzer);
    const auto must = arith::MustCover(InLoops(outer, provided), OwnLoops(outer), outer.realize->predicate, analyzer);
    return may && must && ProvablyInside(analyzer, *may, *must);
  }
  static arith::Region InLoops(const ScopeChild& child, const BufferRegion& region) {
    VarMap values;
    for (size_t i = 0; i < child.realize->bindings.size(); ++i) {
      values[child.realize->block->iter_vars[i].var] = child.realize->bindings[i];
    }
    return Substitute(region, values).region;
  }
  arith::Domain OwnLoops(const ScopeChild& child) const {
    arith::Domain domain;
    for (size_t l = common_; l < child.loops.size(); ++l) {
      domain.push_back({child.loops[l]->var, {child.loops[l]->min, child.loops[l]->extent}});
    }
    return domain;
  }

  Check CheckNeighbors() {
    for (const ScopeChild& child : scope_.children()) {
      if (&child == init_ || &child == update_) continue;
      const bool in_nest = SharesOwnLoop(child, *init_) || SharesOwnLoop(child, *update_);
      if (!in_nest && (&child < init_ || &child > update_)) continue;
      const BlockNode& block = *child.realize->block;
      for (const BufferRegion& write : init().writes) {
        if (!Mentions(block.reads, write.buffer) && !Mentions(block.writes, write.buffer)) continue;
        return Refusal{kName,
                       "{block2}, between {block0} and {block1}, uses {text0}",
                       {init_->id(), update_->id(), child.id()},
                       {},
                       {write.buffer->name}};
      }
      for (const BufferRegion& read : init().reads) {
        if (!Mentions(block.writes, read.buffer)) continue;
        return Refusal{
            kName, "{block1} writes {text0}, which {block0} reads", {init_->id(), child.id()}, {}, {read.buffer->name}};
      }
    }
    return std::nullopt;
  }
  bool SharesOwnLoop(const ScopeChild& child, const ScopeChild& with) const {
    return child.loops.size() > common_ && with.loops.size() > common_ && child.loops[common_] == with.loops[common_];
  }

  Outcome<Function> Rewrite() const {
    BlockNode::Fields block = update().fields();
    constexpr std::string_view kSuffix = "_update";
    if (block.name.ends_with(kSuffix)) block.name.resize(block.name.size() - kSuffix.size());
    block.init = Substitute(init().body, iters_);
    std::vector<BufferRegion> reads;
    for (const BufferRegion& read : init().reads) {
      if (!Mentions(block.reads, read.buffer)) reads.push_back(Substitute(read, iters_));
    }
    for (const BufferRegion& read : block.reads) {
      if (!Mentions(block.writes, read.buffer)) reads.push_back(read);
    }
    block.reads = std::move(reads);
    const Stmt composed = Realize(update_->realize->bindings, update_->realize->predicate, Block(std::move(block)));
    const Function with_init = ReplaceIn(function_, update_->realize, composed, function_->next_id);
    return RemoveFrom(with_init, SubtreeOfOnly(FindPath(with_init, init_->id())));
  }

  const Function& function_;
  const BlockScope scope_;
  const ScopeChild *init_, *update_;
  size_t common_ = 0;  // loops around both
  VarMap iters_;       // of the init block, in terms of the update's
};

}  // namespace

Outcome<Function> ComposeReduction(const Function& function, uint32_t init_block, uint32_t update_block) {
  for (uint32_t block : {init_block, update_block}) {
    TW_ASSIGN_OR_RETURN(Path path, PathToInnerBlock(kName, function, block));
  }
  return Composer(function, init_block, update_block).Apply(init_block, update_block);
}

}  // namespace tilewright
