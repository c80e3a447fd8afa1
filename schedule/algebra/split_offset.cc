#include "schedule/algebra/split_offset.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "ir/analysis.h"
#include "ir/structural.h"
#include "schedule/program/cache_stage.h"
#include "schedule/program/common_refusals.h"
#include "schedule/program/integer_range.h"
#include "schedule/program/loop_tree.h"
#include "schedule/program/make_block.h"
#include "schedule/program/own_loops.h"
#include "schedule/program/sum_form.h"

namespace tilewright {
namespace {

constexpr const char* kName = "split_offset";

// A factor as `varying + offset`, `varying - offset` or `offset - varying`.
struct Offset {
  Expr varying, offset;
  bool minus_offset = false, minus_varying = false;
};

// The array as (indices of) an offset must not see it.
std::optional<Offset> AsOffset(const BlockNode& block, const Expr& factor, const Buffer& array) {
  const auto* sum = dyn_cast<BinaryNode>(factor);
  if (sum == nullptr || (sum->op != BinaryOp::kAdd && sum->op != BinaryOp::kSub)) return std::nullopt;
  const auto is_offset = [&](const Expr& e) {
    return !Reads(e, array) && std::none_of(block.iter_vars.begin(), block.iter_vars.end(), [&](const IterVar& iter) {
      return iter.kind == IterKind::kReduce && UsesVar(e, iter.var);
    });
  };
  const bool difference = sum->op == BinaryOp::kSub;
  if (is_offset(sum->b)) return Offset{.varying = sum->a, .offset = sum->b, .minus_offset = difference};
  if (is_offset(sum->a)) return Offset{.varying = sum->b, .offset = sum->a, .minus_varying = difference};
  return std::nullopt;
}

// The spatial iterators that a sum is stored at, where nothing but the sum is.
Outcome<std::vector<IterVar>> PlaceOfSum(const BlockNode& block, const SumForm& form, const StoreNode& init) {
  const StoreNode& store = *form.store;
  if (!StructuralEqual(init.buffer.Load(init.indices), store.buffer.Load(store.indices)) ||
      Reads(init.value, store.buffer)) {
    return Refusal{kName, "the init of {block0} does not only store where it adds", {block.id}};
  }
  std::optional<std::vector<IterVar>> at = StoredAt(block, store);
  if (at) return *std::move(at);
  return Refusal{kName,
                 "{block0} does not store at its spatial iterators, each one index and from 0, and add up along others",
                 {block.id}};
}

// The factors of the term of a sum of integers, one of which has the position.
Outcome<std::vector<Expr>> FactorsOfTerm(const BlockNode& block, const SumForm& form, int64_t position) {
  const DataType dtype = form.store->buffer->dtype;
  if (!dtype.is_integer() || form.term.dtype() != dtype) {
    return Refusal{kName, "{block0} adds up {text0}, no integers", {block.id}, {}, {dtype.ToString()}};
  }
  std::vector<Expr> factors = FactorsOf(form.term);
  const auto count = static_cast<int64_t>(factors.size());
  if (position < 0 || position >= count || count == 1) {
    return Refusal{kName,      "{num0} names none of several factors of {block0}; it has {num1}",
                   {block.id}, {},
                   {},         {position, count}};
  }
  return factors;
}

// Iterators of the sum of the other factors, and the array of such sums.
struct Domain {
  std::vector<IterVar> iters;
  std::vector<Expr> shape, indices;
};
Outcome<Domain> DomainOf(const BlockNode& block, const Expr& others) {
  Domain domain;
  for (const IterVar& iter : block.iter_vars) {
    if (!IsInt(iter.domain.min, 0)) {
      return Refusal{kName, "the iterator {text0} of {block0} does not start at 0", {block.id}, {}, {iter.var.name()}};
    }
    if (iter.kind == IterKind::kSpatial) {
      if (!UsesVar(others, iter.var)) continue;
      domain.shape.push_back(iter.domain.extent);
      domain.indices.push_back(iter.var);
    }
    domain.iters.push_back(iter);
  }
  if (domain.shape.empty()) {
    domain.shape.push_back(Const(DataType::Int(32), 1));
    domain.indices.push_back(Const(DataType::Int(32), 0));
  }
  return domain;
}

// The types that the parts are computed in: unsigned ones, which wrap around, where terms of the sums, or what adds
// both up, may leave the type of the sum. The sums themselves wrap around in any type.
struct PartTypes {
  DataType products, sums, added;  // sums of products, of the other factors; what both are added up in
};
// `factors`: with what varies in the place of the whole factor.
PartTypes TypesOfParts(const BlockNode& block, const Offset& offset, const std::vector<Expr>& factors,
                       const std::vector<Expr>& others, const Expr& init) {
  const DataType type = init.dtype();
  const IntegerRange range(type, block.iter_vars);
  if (range.Wraps()) return {type, type, type};
  const DataType wrapping = DataType::UInt(type.bits());
  const std::optional<arith::Bounds> product = range.OfProduct(factors), other = range.OfProduct(others);
  const std::optional<arith::Bounds> products = product ? range.OfSum(*product) : std::nullopt;
  const std::optional<arith::Bounds> sums = other ? range.OfSum(*other) : std::nullopt;
  const std::optional<arith::Bounds> factor = range.OfProduct({offset.offset});
  const std::optional<arith::Bounds> offsets = sums && factor ? range.Inside(*factor * *sums) : std::nullopt;
  bool added = products && offsets;
  // With nothing to begin with, the last addition gives what the program does.
  if (added && !IsInt(init, 0)) {
    added = range
                .Inside(offset.minus_offset    ? *products - *offsets
                        : offset.minus_varying ? *offsets - *products
                                               : *products + *offsets)
                .has_value();
  }
  return {product ? type : wrapping, other ? type : wrapping, added ? type : wrapping};
}

Expr ProductIn(DataType type, const std::vector<Expr>& factors) {
  Expr product = CastTo(type, factors[0]);
  for (size_t i = 1; i < factors.size(); ++i) product = product * CastTo(type, factors[i]);
  return product;
}

// What the block computes, of the sum of products and the sum of the other factors.
Expr Added(DataType type, const Offset& offset, const Expr& sum, const Expr& other_sum, const Expr& init) {
  const Expr products = CastTo(type, sum), offsets = CastTo(type, offset.offset) * CastTo(type, other_sum);
  const Expr value = offset.minus_offset    ? products - offsets
                     : offset.minus_varying ? offsets - products
                                            : products + offsets;
  return IsInt(init, 0) ? value : CastTo(type, init) + value;
}

// The factors other than the one at `position`.
Outcome<std::vector<Expr>> OtherFactors(const BlockNode& block, const Buffer& target, const std::vector<Expr>& factors,
                                        int64_t position) {
  std::vector<Expr> others;
  for (size_t i = 0; i < factors.size(); ++i) {
    if (Reads(factors[i], target)) {
      return Refusal{kName, "{expr0} reads what {block0} stores to", {block.id}, {factors[i]}};
    }
    if (i != static_cast<size_t>(position)) others.push_back(factors[i]);
  }
  return others;
}

}  // namespace

Outcome<SplitOffsetResult> SplitOffset(const Function& function, uint32_t block_id, int64_t position) {
  TW_ASSIGN_OR_RETURN(Path path, PathToInnerBlock(kName, function, block_id));
  const auto* realize = cast<BlockRealizeNode>(path.back());
  const BlockNode& block = *realize->block;
  if (auto refusal = WhyNotInOwnLoops(kName, path)) return *refusal;
  const std::optional<SumForm> form = AsSum(block);
  const auto* init = block.init ? dyn_cast<StoreNode>(block.init) : nullptr;
  if (!form || init == nullptr) return Refusal{kName, "{block0} is not a sum of terms with an init", {block_id}};
  TW_ASSIGN_OR_RETURN(const std::vector<IterVar> at, PlaceOfSum(block, *form, *init));
  const StoreNode& store = *form->store;
  const DataType dtype = store.buffer->dtype;
  TW_ASSIGN_OR_RETURN(std::vector<Expr> factors, FactorsOfTerm(block, *form, position));
  const Expr factor = factors[static_cast<size_t>(position)];
  const std::optional<Offset> offset = AsOffset(block, factor, store.buffer);
  if (!offset) {
    return Refusal{
        kName, "{expr0} in {block0} is not a sum of which one side is the same for all terms", {block_id}, {factor}};
  }
  TW_ASSIGN_OR_RETURN(const std::vector<Expr> others, OtherFactors(block, store.buffer, factors, position));
  factors[static_cast<size_t>(position)] = offset->varying;
  const PartTypes types = TypesOfParts(block, *offset, factors, others, init->value);
  const Expr other = ProductIn(types.sums, others);
  TW_ASSIGN_OR_RETURN(const Domain domain, DomainOf(block, other));

  uint32_t next_id = function->next_id, sums_block = 0;
  SplitOffsetResult result;
  const Buffer sums(store.buffer->name + "_offset", domain.shape, types.sums);
  const Stmt sums_nest = MakeBlock({.name = block.name + "_offset",
                                    .iters = domain.iters,
                                    .target = sums,
                                    .indices = domain.indices,
                                    .value = sums.Load(domain.indices) + other,
                                    .init = Const(types.sums, 0)},
                                   &next_id, &sums_block);

  std::vector<Expr> sum_shape;
  for (const IterVar& iter : at) sum_shape.push_back(iter.domain.extent);
  const Buffer sum(store.buffer->name + "_sum", std::move(sum_shape), types.products);
  BlockNode::Fields fields = block.fields();
  fields.init = Store(sum, Const(types.products, 0), store.indices);
  fields.body = Store(sum, sum.Load(store.indices) + ProductIn(types.products, factors), store.indices);

  const Expr value = Added(types.added, *offset, sum.Load(store.indices), sums.Load(domain.indices), init->value);
  const Stmt addition = MakeBlock({.name = block.name + "_add",
                                   .iters = at,
                                   .target = store.buffer,
                                   .indices = store.indices,
                                   .value = CastTo(dtype, value)},
                                  &next_id, &result.block);

  const StmtNode* nest = OutermostOwnLoop(path);
  const Stmt reduction = ReplaceStmt(Stmt(nest), realize,
                                     Realize(realize->bindings, realize->predicate, TouchingBlock(std::move(fields))));
  const BlockNode& scope = *ScopeOf(path)->block;
  const Stmt body = ReplaceStmt(scope.body, nest, Sequence({sums_nest, reduction, addition}));
  result.function = WithScopeBody(function, scope, body, {sums, sum}, next_id);
  return result;
}

}  // namespace tilewright
