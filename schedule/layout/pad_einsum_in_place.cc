#include "schedule/layout/pad_einsum_in_place.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/regions.h"
#include "ir/structural.h"
#include "ir/substitute.h"
#include "schedule/layout/padded_extents.h"
#include "schedule/program/loop_tree.h"
#include "verify/structure/block_scope.h"

namespace tilewright {
namespace {

constexpr const char* kName = "pad_einsum_in_place";

// New extents, by what they belong to.
struct Padding : PaddedExtents {
  std::map<uint32_t, Expr> guards;  // of producers, by the block's id
  std::unordered_map<Buffer, std::map<size_t, Expr>, IdentityHash, IdentityEqual> buffers;  // by dimension
};

class EinsumPadder {
 public:
  EinsumPadder(const Function& function, const BlockScope& scope, const ScopeChild& einsum)
      : function_(function), scope_(scope), einsum_(einsum) {}

  std::optional<Refusal> Plan(const std::vector<int64_t>& padding);
  Function Apply() const;

 private:
  Refusal No(const char* reason, std::vector<std::string> texts = {}) const {
    return {kName, reason, {einsum_.id()}, {}, std::move(texts)};
  }
  // The iterator and its loop get the new extent.
  std::optional<Refusal> PadIterator(const ScopeChild& child, size_t iterator, const Expr& extent);
  // Dimensions of buffers that padded iterators of the einsum index.
  std::optional<Refusal> CollectBuffers();
  // How long a dimension has to be for an index of padded iterators.
  std::optional<Expr> ExtentThatHolds(const Expr& index, const Expr& old) const;
  std::optional<Refusal> PadProducer(const Buffer& buffer, const std::map<size_t, Expr>& dims);

  const Function& function_;
  const BlockScope& scope_;
  const ScopeChild& einsum_;
  Padding plan_;
};

// Whether two extents are the same at all sizes.
bool SameExtent(const Expr& a, const Expr& b) {
  arith::Analyzer analyzer;
  return IsInt(analyzer.Simplify(CastTo(b.dtype(), a) - b), 0);
}

// The longer of two extents.
Expr Longer(const Expr& a, const Expr& b) {
  arith::Analyzer analyzer;
  return analyzer.Simplify(Max(a, b));
}

// The least multiple of `multiple` that is no less.
Expr PaddedExtent(const Expr& extent, int64_t multiple) {
  arith::Analyzer analyzer;
  const Expr unit = Const(extent.dtype(), multiple);
  return analyzer.Simplify(FloorDiv(extent + (unit - 1), unit) * unit);
}

Expr WithoutCasts(Expr e) {
  while (const auto* cast_node = dyn_cast<CastNode>(e)) e = cast_node->value;
  return e;
}

// An element of a buffer, a constant, or a product of such: zero where an element that it is made of is padding.
bool IsProductOfElements(const Expr& e) {
  const Expr value = WithoutCasts(e);
  const auto* product = dyn_cast<BinaryNode>(value);
  if (product == nullptr) return isa<LoadNode>(value) || isa<IntImmNode>(value) || isa<FloatImmNode>(value);
  return product->op == BinaryOp::kMul && IsProductOfElements(product->a) && IsProductOfElements(product->b);
}

bool IsSumOfProducts(const BlockNode& block) {
  const auto* store = dyn_cast<StoreNode>(block.body);
  if (store == nullptr || !block.init) return false;
  const auto* add = dyn_cast<BinaryNode>(store->value);
  if (add == nullptr || add->op != BinaryOp::kAdd) return false;
  auto is_product = [](const Expr& e) { return isa<BinaryNode>(WithoutCasts(e)) && IsProductOfElements(e); };
  const auto is_output = [&](const Expr& e) {
    const auto* load = dyn_cast<LoadNode>(e);
    return load != nullptr && load->buffer.same_as(store->buffer) && StructuralEqual(load->indices, store->indices);
  };
  return (is_output(add->a) && is_product(add->b)) || (is_product(add->a) && is_output(add->b));
}

std::optional<Refusal> EinsumPadder::PadIterator(const ScopeChild& child, size_t iterator, const Expr& extent) {
  const BlockNode& block = *child.realize->block;
  const IterVar& iter = block.iter_vars[iterator];
  for (const ForNode* loop : child.loops) {
    if (child.realize->bindings[iterator].get() != loop->var.get()) continue;
    const bool own =
        IsInt(loop->min, 0) && SameExtent(loop->extent, iter.domain.extent) && BlocksBelow(loop->body).size() == 1;
    if (!own) break;
    plan_.iterators[iter.var] = extent;
    plan_.loops[loop->id] = extent;
    return std::nullopt;
  }
  return No("the iterator {text0} of block {text1} is not bound to a loop of its own over its domain",
            {iter.var.name(), block.name});
}

std::optional<Expr> EinsumPadder::ExtentThatHolds(const Expr& index, const Expr& old) const {
  arith::Analyzer analyzer;
  Domains domains;
  for (const IterVar& iter : einsum_.realize->block->iter_vars) {
    const auto padded = plan_.iterators.find(iter.var);
    const Range domain{iter.domain.min, padded == plan_.iterators.end() ? iter.domain.extent : padded->second};
    analyzer.Bind(iter.var, domain);
    domains[iter.var] = domain;
  }
  const arith::Bounds bounds = analyzer.ConstBounds(index);
  if (bounds.IsFinite()) {
    if (bounds.min < 0) return std::nullopt;
    return Longer(old, Const(old.dtype(), bounds.max + 1));
  }
  const std::optional<Range> values = RelaxRange({index, Const(index.dtype(), 1)}, domains);
  if (!values || !analyzer.CanProve(values->min >= 0)) return std::nullopt;
  return Longer(old, CastTo(old.dtype(), values->min + values->extent));
}

std::optional<Refusal> EinsumPadder::CollectBuffers() {
  std::optional<Refusal> refusal;
  std::unordered_set<const VarNode*> indexing;
  const Buffer& output = cast<StoreNode>(einsum_.realize->block->body)->buffer;
  auto visit = [&](const Buffer& buffer, const std::vector<Expr>& indices) {
    for (size_t d = 0; d < indices.size(); ++d) {
      for (const auto& [iterator, extent] : plan_.iterators) {
        if (!UsesVar(indices[d], iterator)) continue;
        indexing.insert(iterator.get());
        const Expr& old = buffer->shape[d];
        const auto* iter = &einsum_.realize->block->iter_vars[0];
        while (!iter->var.same_as(iterator)) ++iter;
        std::optional<Expr> wanted;
        if (indices[d].get() == iterator.get() && SameExtent(old, iter->domain.extent)) {
          wanted = extent;
        } else if (iter->kind == IterKind::kSpatial && !buffer.same_as(output)) {
          wanted = ExtentThatHolds(indices[d], old);
        }
        if (!wanted) {
          refusal = No("{text0} is not indexed by the iterator {text1} alone, over a whole dimension",
                       {buffer->name, iterator.name()});
          return;
        }
        if (SameExtent(*wanted, old)) continue;
        Expr& padded = plan_.buffers[buffer][d];
        padded = padded ? Longer(padded, *wanted) : *wanted;
      }
    }
  };
  auto visit_all = [&](const Stmt& s) {
    PreOrder(s, [&](const Stmt& stmt) {
      if (const auto* store = dyn_cast<StoreNode>(stmt)) visit(store->buffer, store->indices);
      return true;
    });
    PreOrderExprs(s, [&](const Expr& e) {
      if (const auto* load = dyn_cast<LoadNode>(e)) visit(load->buffer, load->indices);
      return true;
    });
  };
  visit_all(einsum_.realize->block->init);
  visit_all(einsum_.realize->block->body);
  if (refusal) return refusal;
  // A factor that is the same along a padded sum is not a zero there.
  for (const IterVar& iter : einsum_.realize->block->iter_vars) {
    if (iter.kind == IterKind::kReduce && plan_.iterators.contains(iter.var) && !indexing.contains(iter.var.get())) {
      return No("{block0} adds the same along the padded iterator {text0}", {iter.var.name()});
    }
  }
  return std::nullopt;
}

std::optional<Refusal> EinsumPadder::PadProducer(const Buffer& buffer, const std::map<size_t, Expr>& dims) {
  const std::vector<uint32_t> writers = scope_.Writers(buffer);
  const bool is_output = std::find(writers.begin(), writers.end(), einsum_.id()) != writers.end();
  if (writers.size() != 1) return No("{text0} is not written by exactly one block", {buffer->name});
  if (is_output) return std::nullopt;
  const ScopeChild& producer = *scope_.Find(writers[0]);
  const BlockNode& block = *producer.realize->block;
  const auto* store = dyn_cast<StoreNode>(block.body);
  if (store == nullptr || block.init) return No("block {text0} does more than store one value", {block.name});
  Expr guard;
  for (const auto& [dim, extent] : dims) {
    size_t iterator = 0;
    while (iterator < block.iter_vars.size() && block.iter_vars[iterator].var.get() != store->indices[dim].get()) {
      ++iterator;
    }
    if (iterator == block.iter_vars.size() || block.iter_vars[iterator].kind != IterKind::kSpatial ||
        !IsInt(block.iter_vars[iterator].domain.min, 0) ||
        !SameExtent(block.iter_vars[iterator].domain.extent, buffer->shape[dim])) {
      return No("block {text0} does not write {text1} at a spatial iterator that runs over the whole dimension",
                {block.name, buffer->name});
    }
    if (auto refusal = PadIterator(producer, iterator, extent)) return refusal;
    const Expr inside = block.iter_vars[iterator].var < buffer->shape[dim];
    guard = guard ? And(guard, inside) : inside;
  }
  plan_.guards[block.id] = guard;
  return std::nullopt;
}

std::optional<Refusal> EinsumPadder::Plan(const std::vector<int64_t>& padding) {
  const BlockNode& block = *einsum_.realize->block;
  if (padding.size() != block.iter_vars.size()) {
    Refusal refusal = No("{num0} paddings are given for the {num1} iterators of {block0}");
    refusal.numbers = {std::ssize(padding), std::ssize(block.iter_vars)};
    return refusal;
  }
  if (!IsSumOfProducts(block)) return No("{block0} does not add a product of elements to its output");
  for (size_t i = 0; i < padding.size(); ++i) {
    const IterVar& iter = block.iter_vars[i];
    if (padding[i] <= 0) {
      Refusal refusal = No("the padding of the iterator {text0} is {num0}, which is not positive", {iter.var.name()});
      refusal.numbers = {padding[i]};
      return refusal;
    }
    if (padding[i] == 1) continue;
    if (!IsInt(iter.domain.min, 0)) {
      return No("the domain of the iterator {text0} does not start at 0", {iter.var.name()});
    }
    const Expr padded = PaddedExtent(iter.domain.extent, padding[i]);
    if (SameExtent(padded, iter.domain.extent)) continue;
    if (auto refusal = PadIterator(einsum_, i, padded)) return refusal;
  }
  if (auto refusal = CollectBuffers()) return refusal;
  const auto& local = scope_.block()->alloc_buffers;
  for (const auto& [buffer, dims] : plan_.buffers) {
    if (std::none_of(local.begin(), local.end(), [&](const Buffer& b) { return b.same_as(buffer); })) {
      return No("{text0} is not allocated by the block around {block0}", {buffer->name});
    }
    if (auto refusal = PadProducer(buffer, dims)) return refusal;
  }
  return std::nullopt;
}

// Producers write zeros where their guards do not hold.
class PaddingRewriter : public ExtentRewriter {
 public:
  PaddingRewriter(const Padding& plan, BufferMap buffers) : ExtentRewriter(plan, std::move(buffers)), plan_(plan) {}

 protected:
  Block MutateBlock(const Block& block) override {
    const Block mutated = ExtentRewriter::MutateBlock(block);
    const auto guard = plan_.guards.find(block->id);
    if (guard == plan_.guards.end()) return mutated;
    BlockNode::Fields fields = mutated->fields();
    const auto* store = cast<StoreNode>(fields.body);
    const Expr zero = Const(store->value.dtype(), 0);
    fields.body = Store(store->buffer, IfThenElse(guard->second, store->value, zero), store->indices);
    return Block(std::move(fields));
  }

 private:
  const Padding& plan_;
};

Function EinsumPadder::Apply() const {
  BufferMap buffers;
  for (const auto& [buffer, dims] : plan_.buffers) {
    BufferNode::Fields fields = buffer->fields();
    for (const auto& [dim, extent] : dims) fields.shape[dim] = CastTo(fields.shape[dim].dtype(), extent);
    buffers.emplace(buffer, Buffer(std::move(fields)));
  }
  return function_.WithBody(PaddingRewriter(plan_, std::move(buffers)).Mutate(function_->body), function_->next_id);
}

}  // namespace

Outcome<PadEinsumInPlaceResult> PadEinsumInPlace(const Function& function, uint32_t block,
                                                 const std::vector<int64_t>& padding) {
  const Path path = FindPath(function, block);
  if (path.empty()) return Refusal{kName, "the block no longer exists", {block}};
  if (path.size() == 1) return Refusal{kName, "{block0} is the root block", {block}};
  const BlockScope scope = BlockScope::Around(function, block);
  EinsumPadder padder(function, scope, *scope.Find(block));
  if (auto refusal = padder.Plan(padding)) return *refusal;
  return PadEinsumInPlaceResult{padder.Apply()};
}

}  // namespace tilewright
