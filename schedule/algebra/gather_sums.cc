#include "schedule/algebra/gather_sums.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/functor.h"
#include "ir/regions.h"
#include "ir/structural.h"
#include "schedule/algebra/conditional_factor.h"
#include "schedule/program/cache_stage.h"
#include "schedule/program/common_refusals.h"
#include "schedule/program/loop_tree.h"
#include "schedule/program/make_block.h"
#include "schedule/program/own_loops.h"
#include "schedule/program/simplify_block.h"
#include "schedule/program/sum_form.h"
#include "verify/structure/block_scope.h"

namespace tilewright {
namespace {

constexpr const char* kName = "gather_sums";

// Whether the block stores every element of a buffer.
bool WritesAllOf(const ScopeChild& child, const Buffer& buffer) {
  const BlockNode& block = *child.realize->block;
  const auto* store = dyn_cast<StoreNode>(block.body);
  if (store == nullptr || !store->buffer.same_as(buffer) || !IsTrue(child.realize->predicate)) return false;
  std::vector<const VarNode*> used;
  for (size_t d = 0; d < store->indices.size(); ++d) {
    const auto iter = std::ranges::find_if(
        block.iter_vars, [&](const IterVar& candidate) { return store->indices[d].same_as(candidate.var); });
    if (iter == block.iter_vars.end() || !IsInt(iter->domain.min, 0) ||
        !StructuralEqual(iter->domain.extent, buffer->shape[d]) ||
        std::ranges::find(used, iter->var.get()) != used.end()) {
      return false;
    }
    used.push_back(iter->var.get());
  }
  return true;
}

// The factor that the window moves along, and how.
class Gatherer {
 public:
  Gatherer(const BlockNode& block, const std::vector<bool>& in_window) : block_(block), in_window_(in_window) {
    BindIterators(block.iter_vars, &analyzer_);
  }

  // Whether the factor is an element of which the window chooses places, and the sums know what else it is.
  bool Find(const Expr& factor) {
    conditions_.clear();
    places_.clear();
    core_ = WithoutConditions(factor, &conditions_);
    const Expr* element = &core_;
    while (isa<CastNode>(*element)) element = &cast<CastNode>(*element)->value;
    load_ = dyn_cast<LoadNode>(*element);
    if (load_ == nullptr || std::ranges::any_of(conditions_, [&](const Expr& e) { return UsesSummed(e); }))
      return false;
    for (size_t d = 0; d < load_->indices.size(); ++d) {
      const Expr& index = load_->indices[d];
      if (!UsesWindow(index) || !UsesSpatial(index)) {
        if (!StaysInside(d)) return false;
        continue;
      }
      if (UsesSummed(index)) return false;
      const DataType dtype = index.dtype();
      places_.push_back({d, Var("place" + std::to_string(d), dtype)});
    }
    return !places_.empty();
  }

  Buffer image() const { return load_->buffer; }

  // The iterators of the sums, without those that are summed over: those that `others` use, then places.
  std::vector<IterVar> Iterators(const std::vector<Expr>& others) const {
    std::vector<IterVar> iterators;
    for (const bool window : {false, true}) {
      for (size_t i = 0; i < block_.iter_vars.size(); ++i) {
        const IterVar& iter = block_.iter_vars[i];
        if (in_window_[i] != window || (!window && iter.kind == IterKind::kReduce)) continue;
        const auto uses = [&](const Expr& e) { return UsesVar(e, iter.var); };
        bool used = std::ranges::any_of(others, uses);
        for (size_t d = 0; d < load_->indices.size(); ++d) used |= !IsPlace(d) && uses(load_->indices[d]);
        if (used) iterators.push_back({iter.var, iter.domain, IterKind::kSpatial});
      }
    }
    for (const Place& place : places_) {
      const Expr& extent = load_->buffer->shape[place.dim];
      iterators.push_back({place.var, {Const(extent.dtype(), 0), extent}, IterKind::kSpatial});
    }
    return iterators;
  }

  // The factor at a place.
  Expr AtPlace() const {
    std::vector<Expr> indices = load_->indices;
    for (const Place& place : places_) indices[place.dim] = place.var;
    const Expr element = load_->buffer.Load(std::move(indices));
    return RewriteExpr(core_, [&](const Expr& e) -> Expr { return e.get() == load_ ? element : e; });
  }

  // The element of `sums`, which have the iterators, that the window chooses.
  Expr Gathered(const Buffer& sums, const std::vector<IterVar>& iterators) const {
    std::vector<Expr> indices;
    for (const IterVar& iter : iterators) {
      const auto place = std::ranges::find_if(places_, [&](const Place& p) { return p.var.same_as(iter.var); });
      indices.push_back(place == places_.end() ? Expr(iter.var) : load_->indices[place->dim]);
    }
    const Expr element = sums.Load(std::move(indices));
    return conditions_.empty() ? element : IfThenElse(AllOf(conditions_), element, Const(element.dtype(), 0));
  }

 private:
  struct Place {
    size_t dim;
    Var var;
  };

  bool UsesWindow(const Expr& e) const { return UsesReduction(e, true); }
  bool UsesSummed(const Expr& e) const { return UsesReduction(e, false); }

  bool UsesSpatial(const Expr& e) const {
    return std::ranges::any_of(
        block_.iter_vars, [&](const IterVar& iter) { return iter.kind == IterKind::kSpatial && UsesVar(e, iter.var); });
  }

  bool UsesReduction(const Expr& e, bool in_window) const {
    for (size_t i = 0; i < block_.iter_vars.size(); ++i) {
      const IterVar& iter = block_.iter_vars[i];
      if (iter.kind == IterKind::kReduce && in_window_[i] == in_window && UsesVar(e, iter.var)) return true;
    }
    return false;
  }

  bool IsPlace(size_t dim) const {
    return std::ranges::any_of(places_, [&](const Place& place) { return place.dim == dim; });
  }

  // Whether a dimension is inside of the buffer also where the conditions do not hold.
  bool StaysInside(size_t dim) {
    const Expr& index = load_->indices[dim];
    return conditions_.empty() || (analyzer_.CanProve(Const(index.dtype(), 0) <= index) &&
                                   analyzer_.CanProve(index < load_->buffer->shape[dim]));
  }

  const BlockNode& block_;
  const std::vector<bool>& in_window_;
  arith::Analyzer analyzer_;
  Expr core_;
  const LoadNode* load_ = nullptr;
  std::vector<Expr> conditions_;
  std::vector<Place> places_;
};

// Which iterators the window has; a refusal unless they are reduce ones, and some others are, too.
Outcome<std::vector<bool>> InWindow(const BlockNode& block, const std::vector<int64_t>& window) {
  std::vector<bool> in_window(block.iter_vars.size(), false);
  for (const int64_t position : window) {
    const auto i = static_cast<size_t>(position);
    if (position < 0 || i >= in_window.size() || in_window[i] || block.iter_vars[i].kind != IterKind::kReduce) {
      return Refusal{kName,     "{num0} names no reduce iterator of {block0}, or one twice", {block.id}, {}, {},
                     {position}};
    }
    in_window[i] = true;
  }
  bool sums = false;
  for (size_t i = 0; i < in_window.size(); ++i) {
    const IterVar& iter = block.iter_vars[i];
    sums |= iter.kind == IterKind::kReduce && !in_window[i];
    if (!IsInt(iter.domain.min, 0)) {
      return Refusal{kName, "the iterator {text0} of {block0} does not start at 0", {block.id}, {}, {iter.var.name()}};
    }
  }
  if (window.empty() || !sums) {
    return Refusal{kName, "some of the reduce iterators of {block0} are a window, not none and not all", {block.id}};
  }
  return in_window;
}

// The block with the loops that stay, which adds `term`.
Stmt GatherBlock(const Path& path, const BlockRealizeNode& realize, const StoreNode& store, const Expr& term,
                 const std::vector<bool>& in_window) {
  const BlockNode& block = *realize.block;
  BlockNode::Fields fields = block.fields();
  fields.iter_vars.clear();
  std::vector<Expr> bindings;
  for (size_t i = 0; i < block.iter_vars.size(); ++i) {
    if (block.iter_vars[i].kind == IterKind::kReduce && !in_window[i]) continue;
    fields.iter_vars.push_back(block.iter_vars[i]);
    bindings.push_back(realize.bindings[i]);
  }
  fields.body = Store(store.buffer, store.buffer.Load(store.indices) + term, store.indices);
  AccessRegions regions = DetectRegions(*Block(fields));
  fields.reads = std::move(regions.reads);
  fields.writes = std::move(regions.writes);
  std::vector<ForNode::Fields> loops;
  for (const ForNode* loop : LoopsAbove(path)) {
    if (std::ranges::any_of(bindings, [&](const Expr& binding) { return binding.same_as(loop->var); })) {
      loops.push_back(loop->fields());
    }
  }
  return Nest(std::move(loops), Realize(std::move(bindings), True(), Block(std::move(fields))));
}

// The sum that the block is.
Outcome<SumForm> FindSum(const BlockNode& block, const BlockScope& scope) {
  if (auto reason = WhyNotReduction(scope, *scope.Find(block.id))) {
    return Refusal{kName, "{block0} is not a reduction: {text0}", {block.id}, {}, {*reason}};
  }
  std::optional<SumForm> sum = AsSum(block);
  if (!sum || Reads(sum->term, sum->store->buffer)) {
    return Refusal{kName, "{block0} does not add something to what it stores to", {block.id}};
  }
  const DataType type = sum->store->buffer->dtype;
  if (!type.is_float() || type.bits() < 32) {
    return Refusal{kName, "{text0} is not kept in float32 or float64", {block.id}, {}, {sum->store->buffer->name}};
  }
  return *sum;
}

}  // namespace

Outcome<GatherSumsResult> GatherSums(const Function& function, uint32_t block_id, const std::vector<int64_t>& window) {
  TW_ASSIGN_OR_RETURN(Path path, PathToInnerBlock(kName, function, block_id));
  const auto* realize = cast<BlockRealizeNode>(path.back());
  const BlockNode& block = *realize->block;
  if (auto refusal = WhyNotInOwnLoops(kName, path)) return *refusal;
  const BlockScope scope = BlockScope::Around(function, block_id);
  TW_ASSIGN_OR_RETURN(const SumForm sum, FindSum(block, scope));
  TW_ASSIGN_OR_RETURN(const std::vector<bool> in_window, InWindow(block, window));

  std::vector<Expr> factors = FactorsOf(sum.term);
  Gatherer gatherer(block, in_window);
  const auto moved = std::ranges::find_if(factors, [&](const Expr& factor) { return gatherer.Find(factor); });
  if (moved == factors.end() || factors.size() < 2) {
    return Refusal{kName, "the window moves along no factor of {block0} by itself", {block_id}};
  }
  const Buffer image = gatherer.image();
  if (std::ranges::any_of(scope.block()->alloc_buffers, [&](const Buffer& b) { return b.same_as(image); }) &&
      std::ranges::none_of(scope.children(), [&](const ScopeChild& c) { return WritesAllOf(c, image); })) {
    return Refusal{kName, "{text0} is not known to be written everywhere", {block_id}, {}, {image->name}};
  }

  std::vector<Expr> others;
  for (auto it = factors.begin(); it != factors.end(); ++it) {
    if (it != moved) others.push_back(*it);
  }
  std::vector<IterVar> iterators = gatherer.Iterators(others);
  std::vector<Expr> shape, indices;
  for (const IterVar& iter : iterators) {
    shape.push_back(iter.domain.extent);
    indices.push_back(iter.var);
  }
  const Buffer sums(block.name + "_sums", std::move(shape), sum.store->buffer->dtype);
  const Stmt gather = GatherBlock(path, *realize, *sum.store, gatherer.Gathered(sums, iterators), in_window);
  *moved = gatherer.AtPlace();
  Expr product = factors[0];
  for (size_t i = 1; i < factors.size(); ++i) product = product * factors[i];
  for (size_t i = 0; i < block.iter_vars.size(); ++i) {
    if (block.iter_vars[i].kind == IterKind::kReduce && !in_window[i]) iterators.push_back(block.iter_vars[i]);
  }
  GatherSumsResult result;
  uint32_t next_id = function->next_id;
  const Stmt ahead = MakeBlock({.name = sums->name,
                                .iters = iterators,
                                .target = sums,
                                .indices = indices,
                                .value = sums.Load(indices) + product,
                                .init = Const(sums->dtype, 0)},
                               &next_id, &result.block);
  const Stmt body = ReplaceStmt(scope.block()->body, OutermostOwnLoop(path), Sequence({ahead, gather}));
  result.function = WithScopeBody(function, *scope.block(), body, {sums}, next_id);
  return result;
}

}  // namespace tilewright
