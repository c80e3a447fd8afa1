#include "schedule/movement/reverse_compute_inline.h"

#include <algorithm>

#include "base/status_macros.h"
#include "ir/arith/region.h"
#include "ir/functor.h"
#include "ir/structural.h"
#include "ir/substitute.h"
#include "schedule/program/common_refusals.h"
#include "schedule/program/conjuncts.h"
#include "schedule/program/inline_body.h"
#include "schedule/program/instances.h"
#include "schedule/program/loop_tree.h"
#include "schedule/program/simplify_block.h"
#include "verify/structure/block_scope.h"

namespace tilewright {
namespace {

constexpr const char* kName = "reverse_compute_inline";

// The loads of a buffer in an expression.
std::vector<const LoadNode*> LoadsOf(const Expr& e, const Buffer& buffer) {
  std::vector<const LoadNode*> loads;
  PreOrder(e, [&](const Expr& part) {
    const auto* load = dyn_cast<LoadNode>(part);
    if (load != nullptr && load->buffer.same_as(buffer)) loads.push_back(load);
    return true;
  });
  return loads;
}

class ReverseInliner {
 public:
  ReverseInliner(const Function& function, const BlockScope& scope, const ScopeChild& consumer)
      : function_(function), scope_(scope), consumer_(consumer) {}

  Outcome<ReverseComputeInlineResult> Apply() {
    for (auto check : {&ReverseInliner::CheckConsumer, &ReverseInliner::FindProducer, &ReverseInliner::CheckProducer,
                       &ReverseInliner::CheckAccesses}) {
      if (std::optional<Refusal> refusal = (this->*check)()) return *refusal;
    }
    return Rewrite();
  }

 private:
  using Check = std::optional<Refusal>;

  const BlockNode& consumer() const { return *consumer_.realize->block; }
  const BlockNode& producer() const { return *producer_->realize->block; }
  Refusal Refuse(const char* reason, std::vector<uint32_t> objects, std::vector<std::string> texts = {}) const {
    return Refusal{kName, reason, std::move(objects), {}, std::move(texts)};
  }

  Check CheckConsumer() {
    const uint32_t id = consumer_.id();
    if (scope_.has_other_statements()) {
      return Refuse("the scope of {block0} holds statements other than loops and blocks", {id});
    }
    if (consumer().init) return Refuse("{block0} has an init", {id});
    if (auto reason = WhyNotComplete(scope_, consumer_))
      return Refuse("{block0} is not complete: {text0}", {id}, {*reason});
    store_ = AsSingleStore(consumer());
    if (store_ == nullptr) return Refuse("the body of {block0} is not one store", {id});
    if (!IsPure(store_->value)) return Refuse("the value of {block0} has effects", {id});
    if (!PredicateOnlyGuardsDomains(*consumer_.realize, &analyzer_)) {
      return Refusal{kName,
                     "the predicate {expr0} of {block0} says more than that its iterators are inside of their domains",
                     {id},
                     {consumer_.realize->predicate}};
    }
    // Each element of the producer has an instance of its own in the loops of the producer then.
    if (!RunsAllInstances(*consumer_.realize, consumer_.loops, &analyzer_)) {
      return Refuse("the loops of {block0} may not run all instances that its domains allow", {id});
    }
    return std::nullopt;
  }

  Check FindProducer() {
    const uint32_t id = consumer_.id();
    const std::vector<uint32_t> producers = scope_.Producers(id);
    if (producers.empty()) return Refuse("{block0} has no producer", {id});
    producer_ = scope_.Find(producers.back());
    for (const uint32_t other : producers) {
      const bool is_done = producer_->loops.empty() || IsDoneBefore(scope_, *scope_.Find(other), *producer_->loops[0]);
      if (other == producer_->id() || is_done) continue;
      return Refuse("{block0} also reads what {block1} makes in the loops of {block2}", {id, other, producer_->id()});
    }
    if (producer().writes.size() != 1) return Refuse("{block1} does not write one buffer", {id, producer_->id()});
    buffer_ = producer().writes[0].buffer;
    const auto& local = scope_.block()->alloc_buffers;
    if (std::none_of(local.begin(), local.end(), [&](const Buffer& b) { return b.same_as(buffer_); })) {
      return Refuse("{text0}, which {block1} writes, outlives the scope", {id, producer_->id()}, {buffer_->name});
    }
    for (uint32_t reader : scope_.Readers(buffer_)) {
      if (reader != id && reader != producer_->id())
        return Refuse("{block1} also reads {text0}", {id, reader}, {buffer_->name});
    }
    return std::nullopt;
  }

  Check CheckProducer() {
    const std::vector<uint32_t> both = {consumer_.id(), producer_->id()};
    const auto* body = dyn_cast<StoreNode>(producer().body);
    if (body == nullptr || !body->buffer.same_as(buffer_) || body->predicate || !producer().match_buffers.empty()) {
      return Refuse("the body of {block1} is not one store", both);
    }
    produced_ = body;
    const std::optional<std::string> not_complete = WhyNotComplete(scope_, *producer_);
    if (!not_complete) return std::nullopt;
    if (WhyNotReduction(scope_, *producer_)) {
      return Refuse("{block1} is neither complete ({text0}) nor a reduction", both, {*not_complete});
    }
    const auto* init = dyn_cast<StoreNode>(producer().init);
    if (init == nullptr || init->predicate) return Refuse("the init of {block1} is not one store", both);
    const auto* moved = dyn_cast<LoadNode>(store_->value);
    if (moved == nullptr || !moved->buffer.same_as(buffer_)) {
      return Refuse("{block1} is a reduction, and {block0} does more than move its elements", both);
    }
    for (const LoadNode* own : LoadsOf(produced_->value, buffer_)) {
      for (size_t d = 0; d < own->indices.size(); ++d) {
        if (!StructuralEqual(own->indices[d], produced_->indices[d]) ||
            !StructuralEqual(init->indices[d], produced_->indices[d])) {
          return Refuse("{block1} reads other elements of {text0} than it writes", both, {buffer_->name});
        }
      }
    }
    return std::nullopt;
  }

  // The consumer reads one element per instance, another in each; its iterators follow from where it reads.
  Check CheckAccesses() {
    const std::vector<uint32_t> object = {consumer_.id()};
    if (UsedOtherThanByLoads(scope_.block()->body, buffer_)) {
      return Refuse("{text0} is used other than by loads and stores", object, {buffer_->name});
    }
    const std::vector<const LoadNode*> loads = LoadsOf(store_->value, buffer_);
    for (const LoadNode* load : loads) {
      for (size_t d = 0; d < load->indices.size(); ++d) {
        if (!StructuralEqual(load->indices[d], loads[0]->indices[d])) {
          return Refuse("{block0} reads {text0} at different indices", object, {buffer_->name});
        }
      }
    }
    if (loads.empty()) return Refuse("{block0} does not load from {text0}", object, {buffer_->name});
    for (const Expr& index : store_->indices) {
      if (!LoadsOf(index, buffer_).empty())
        return Refuse("{block0} stores where {text0} says", object, {buffer_->name});
    }
    if (!EveryInstanceHasAProducer(loads[0]->indices)) {
      return Refuse("{block0} may read elements of {text0} that {block1} does not write",
                    {consumer_.id(), producer_->id()}, {buffer_->name});
    }
    arith::Analyzer::Scope inside(&analyzer_);
    for (const IterVar& iter : producer().iter_vars) analyzer_.Bind(iter.var, iter.domain);
    std::optional<std::vector<Expr>> iters =
        SolveIterators(consumer().iter_vars, loads[0]->indices, produced_->indices, &analyzer_);
    if (!iters) return Refuse("instances of {block0} may read the same element of {text0}", object, {buffer_->name});
    // Elements that no instance reads: where an iterator leaves its domain, or where an index is not what it reads.
    for (size_t i = 0; i < iters->size(); ++i) {
      const IterVar& iter = consumer().iter_vars[i];
      values_[iter.var] = CastTo(iter.var.dtype(), (*iters)[i]);
      used_.push_back(iter.domain.min <= values_[iter.var]);
      used_.push_back(values_[iter.var] < iter.domain.min + iter.domain.extent);
    }
    for (size_t d = 0; d < produced_->indices.size(); ++d) {
      used_.push_back(produced_->indices[d] == Substitute(loads[0]->indices[d], values_));
    }
    return std::nullopt;
  }

  // An instance that reads nothing of the producer's (padding, say) would be lost with the consumer's loops.
  bool EveryInstanceHasAProducer(const std::vector<Expr>& read) {
    arith::Domain reading, writing;
    for (const IterVar& iter : consumer().iter_vars) reading.push_back({iter.var, iter.domain});
    for (const IterVar& iter : producer().iter_vars) {
      // What is written does not depend on the reduction.
      if (iter.kind == IterKind::kSpatial) writing.push_back({iter.var, iter.domain});
    }
    auto needed = arith::MayTouch(BufferRegion::Point(buffer_, read).region, reading, Expr(), &analyzer_);
    auto provided =
        arith::MustCover(BufferRegion::Point(buffer_, produced_->indices).region, writing, Expr(), &analyzer_);
    return needed && provided && arith::Covers(*provided, *needed, {}, &analyzer_);
  }

  ReverseComputeInlineResult Rewrite() {
    BlockNode::Fields fields = producer().fields();
    std::vector<Expr> indices;
    for (const Expr& index : store_->indices) indices.push_back(Substitute(index, values_));
    fields.body = Store(store_->buffer, NewValue(indices), indices);
    if (fields.init) fields.init = Store(store_->buffer, cast<StoreNode>(fields.init)->value, indices);
    const Stmt realize = Realize(producer_->realize->bindings, NewPredicate(),
                                 WithNewRegions(producer_->realize->block, std::move(fields), consumer(), buffer_));
    const Stmt body = ReplaceStmt(scope_.block()->body, producer_->realize, realize);
    return {RemoveInlined(function_, *scope_.block(), body, consumer_.id(), buffer_)};
  }

  // The consumer's value with the producer's in it; a reduction goes on in the consumer's buffer.
  Expr NewValue(const std::vector<Expr>& indices) {
    if (producer().init) {
      return RewriteExpr(produced_->value, [&](const Expr& e) -> Expr {
        const auto* load = dyn_cast<LoadNode>(e);
        return load != nullptr && load->buffer.same_as(buffer_) ? store_->buffer.Load(indices) : e;
      });
    }
    return RewriteExpr(Substitute(store_->value, values_), [&](const Expr& e) -> Expr {
      const auto* load = dyn_cast<LoadNode>(e);
      return load != nullptr && load->buffer.same_as(buffer_) ? produced_->value : e;
    });
  }

  Expr NewPredicate() {
    arith::Analyzer analyzer;
    for (const ForNode* loop : producer_->loops) analyzer.Bind(loop->var, Range{loop->min, loop->extent});
    VarMap bindings;
    const BlockRealizeNode& realize = *producer_->realize;
    for (size_t i = 0; i < realize.bindings.size(); ++i) {
      bindings[producer().iter_vars[i].var] = realize.bindings[i];
      // An instance runs inside of the domains only.
      const Range& domain = producer().iter_vars[i].domain;
      analyzer.Assume(And(domain.min <= realize.bindings[i], realize.bindings[i] < domain.min + domain.extent));
    }
    Expr predicate = realize.predicate;
    analyzer.Assume(predicate);  // what it says need not be said again
    for (const Expr& condition : used_) {
      const Expr needed = analyzer.Simplify(Substitute(condition, bindings));
      if (!IsTrue(needed)) predicate = WithGuard(predicate, needed);
    }
    return predicate;
  }

  const Function& function_;
  const BlockScope& scope_;
  const ScopeChild& consumer_;
  const ScopeChild* producer_ = nullptr;
  Buffer buffer_;                        // between the two
  const StoreNode* store_ = nullptr;     // the consumer's
  const StoreNode* produced_ = nullptr;  // the producer's
  VarMap values_;                        // the consumer's iterators in terms of the producer's
  std::vector<Expr> used_;               // conditions for an element to be used
  arith::Analyzer analyzer_;
};

}  // namespace

Outcome<ReverseComputeInlineResult> ReverseComputeInline(const Function& function, uint32_t block_id) {
  TW_ASSIGN_OR_RETURN(Path path, PathToInnerBlock(kName, function, block_id));
  const BlockScope scope = BlockScope::Around(function, block_id);
  const ScopeChild* child = scope.Find(block_id);
  if (child == nullptr) return Refusal{kName, "{block0} lies in the init of a block", {block_id}};
  return ReverseInliner(function, scope, *child).Apply();
}

}  // namespace tilewright
