#include "schedule/algebra/cache_factors.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "ir/analysis.h"
#include "schedule/program/cache_stage.h"
#include "schedule/program/common_refusals.h"
#include "schedule/program/integer_range.h"
#include "schedule/program/loop_tree.h"
#include "schedule/program/make_block.h"
#include "schedule/program/own_loops.h"
#include "schedule/program/sum_form.h"

namespace tilewright {
namespace {

constexpr const char* kName = "cache_factors";

Expr Product(const std::vector<Expr>& factors) {
  Expr product = factors[0];
  for (size_t i = 1; i < factors.size(); ++i) product = product * factors[i];
  return product;
}

// What a conversion to a wider type widens; null where `e` is none.
const CastNode* Widening(const Expr& e) {
  const auto* cast_node = dyn_cast<CastNode>(e);
  if (cast_node == nullptr) return nullptr;
  const DataType from = cast_node->value.dtype();
  return !from.is_bool() && from.bytes() < e.dtype().bytes() ? cast_node : nullptr;
}

// `e` below its widening casts.
const Expr& Narrow(const Expr& e) {
  const CastNode* widening = Widening(e);
  return widening == nullptr ? e : Narrow(widening->value);
}

// `narrow` with the widening casts of `e` above it.
Expr WidenedAs(const Expr& e, const Expr& narrow) {
  const CastNode* widening = Widening(e);
  return widening == nullptr ? narrow : CastTo(e.dtype(), WidenedAs(widening->value, narrow));
}

// Whether the program multiplies from the left, the chosen factors first and in their order.
bool IsOwnOrder(const Expr& term, const std::vector<int64_t>& positions) {
  for (size_t i = 0; i < positions.size(); ++i) {
    if (positions[i] != static_cast<int64_t>(i)) return false;
  }
  const auto* product = dyn_cast<BinaryNode>(term);
  while (product != nullptr && product->op == BinaryOp::kMul) {
    const auto* right = dyn_cast<BinaryNode>(product->b);
    if (right != nullptr && right->op == BinaryOp::kMul) return false;
    product = dyn_cast<BinaryNode>(product->a);
  }
  return true;
}

// Whether the products of the cached factors, and of these with others, stay in the type. `cached` begins with them.
bool StayInType(const BlockNode& block, const Expr& term, const std::vector<int64_t>& positions,
                std::vector<Expr> cached) {
  const IntegerRange range(term.dtype(), block.iter_vars);
  if (range.Wraps() || IsOwnOrder(term, positions)) return true;
  const std::vector<Expr> factors = FactorsOf(term);
  // All factors together are what the program computes.
  for (size_t i = 0; i < factors.size() && cached.size() + 1 < factors.size(); ++i) {
    if (std::ranges::find(positions, static_cast<int64_t>(i)) == positions.end()) cached.push_back(factors[i]);
  }
  return cached.size() == 1 || range.OfProduct(cached).has_value();
}

// The factors of a sum's terms at the positions named.
struct Chosen {
  std::vector<Expr> factors;
  std::vector<bool> at;  // of all factors
};

Outcome<Chosen> ChooseFactors(uint32_t block_id, const SumForm& form, const std::vector<Expr>& factors,
                              const std::vector<int64_t>& positions) {
  const auto count = static_cast<int64_t>(factors.size());
  Chosen chosen{.at = std::vector<bool>(factors.size(), false)};
  for (int64_t position : positions) {
    if (position < 0 || position >= count || chosen.at[static_cast<size_t>(position)]) {
      return Refusal{kName,      "{num0} names no factor of {block0}, or one twice; it has {num1}",
                     {block_id}, {},
                     {},         {position, count}};
    }
    chosen.at[static_cast<size_t>(position)] = true;
    chosen.factors.push_back(factors[static_cast<size_t>(position)]);
    if (Reads(chosen.factors.back(), form.store->buffer)) {
      return Refusal{kName, "{expr0} reads what {block0} stores to", {block_id}, {chosen.factors.back()}};
    }
  }
  if (chosen.factors.empty() || chosen.factors.size() == factors.size()) {
    return Refusal{kName, "some of the factors of {block0} are to be cached, not none and not all", {block_id}};
  }
  return chosen;
}

}  // namespace

Outcome<CacheFactorsResult> CacheFactors(const Function& function, uint32_t block_id,
                                         const std::vector<int64_t>& positions) {
  TW_ASSIGN_OR_RETURN(Path path, PathToInnerBlock(kName, function, block_id));
  const auto* realize = cast<BlockRealizeNode>(path.back());
  const BlockNode& block = *realize->block;
  if (auto refusal = WhyNotInOwnLoops(kName, path)) return *refusal;
  const std::optional<SumForm> form = AsSum(block);
  if (!form) return Refusal{kName, "{block0} does not add something to what it stores to", {block_id}};

  const std::vector<Expr> factors = FactorsOf(form->term);
  TW_ASSIGN_OR_RETURN(const Chosen chosen, ChooseFactors(block_id, *form, factors, positions));
  const Expr product = Product(chosen.factors);
  const Expr value = Narrow(product);
  std::vector<IterVar> iters;
  std::vector<Expr> shape, indices;
  for (const IterVar& iter : block.iter_vars) {
    if (!UsesVar(value, iter.var)) continue;
    if (!IsInt(iter.domain.min, 0)) {
      return Refusal{kName, "the iterator {text0} of {block0} does not start at 0", {block_id}, {}, {iter.var.name()}};
    }
    iters.push_back({iter.var, iter.domain, IterKind::kSpatial});
    shape.push_back(iter.domain.extent);
    indices.push_back(iter.var);
  }
  if (iters.empty()) return Refusal{kName, "{expr0} uses no iterator of {block0}", {block_id}, {product}};

  if (!StayInType(block, form->term, positions, chosen.factors)) {
    return Refusal{kName,
                   "{expr0} times other factors of {block0} is not known to stay in {text0}",
                   {block_id},
                   {product},
                   {product.dtype().ToString()}};
  }

  CacheFactorsResult result;
  uint32_t next_id = function->next_id;
  const Buffer cache(block.name + "_factors", std::move(shape), value.dtype());
  const Stmt ahead =
      MakeBlock({.name = cache->name, .iters = iters, .target = cache, .indices = indices, .value = value}, &next_id,
                &result.block);
  // The cached product comes first, where its first factor was or before.
  std::vector<Expr> left = {WidenedAs(product, cache.Load(indices))};
  for (size_t i = 0; i < factors.size(); ++i) {
    if (!chosen.at[i]) left.push_back(factors[i]);
  }
  BlockNode::Fields fields = block.fields();
  const StoreNode& store = *form->store;
  fields.body = Store(store.buffer, store.buffer.Load(store.indices) + Product(left), store.indices);

  const BlockNode& scope = *ScopeOf(path)->block;
  const StmtNode* nest = OutermostOwnLoop(path);
  const Stmt rest = ReplaceStmt(Stmt(nest), realize,
                                Realize(realize->bindings, realize->predicate, TouchingBlock(std::move(fields))));
  result.function =
      WithScopeBody(function, scope, ReplaceStmt(scope.body, nest, Sequence({ahead, rest})), {cache}, next_id);
  return result;
}

}  // namespace tilewright
