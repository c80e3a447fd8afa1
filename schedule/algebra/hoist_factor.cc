#include "schedule/algebra/hoist_factor.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "base/status_macros.h"
#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/functor.h"
#include "ir/structural.h"
#include "schedule/algebra/value_factors.h"
#include "schedule/program/buffer_selector.h"
#include "schedule/program/cache_stage.h"
#include "schedule/program/common_refusals.h"
#include "schedule/program/loop_tree.h"
#include "schedule/program/make_block.h"
#include "schedule/program/own_loops.h"
#include "schedule/program/sum_form.h"

namespace tilewright {
namespace {

constexpr const char* kName = "hoist_factor";

struct Sum {
  SumForm form;
  std::vector<IterVar> at;  // the iterators that it stores at
};

Outcome<Sum> FindSum(const Path& path, const BlockNode& block) {
  if (auto refusal = WhyNotInOwnLoops(kName, path)) return *refusal;
  std::optional<SumForm> form = AsSum(block);
  const auto* init = block.init ? dyn_cast<StoreNode>(block.init) : nullptr;
  const bool from_zero = form && init != nullptr && init->buffer.same_as(form->store->buffer) && IsZero(init->value);
  if (!from_zero || Reads(form->term, form->store->buffer)) {
    return Refusal{kName, "{block0} is not a sum that begins at zero", {block.id}};
  }
  const DataType type = form->store->buffer->dtype;
  if (!type.is_float() || type.bits() < 32) {
    return Refusal{kName, "{text0} is not kept in float32 or float64", {block.id}, {}, {form->store->buffer->name}};
  }
  std::optional<std::vector<IterVar>> at = StoredAt(block, *form->store, /*fixed=*/true);
  if (!at) {
    return Refusal{kName,
                   "{block0} does not store at its spatial iterators, each one index and from 0, or at constants, and "
                   "add up along "
                   "others",
                   {block.id}};
  }
  arith::Analyzer analyzer;
  // A sum has a result only where each spatial iterator takes a value.
  for (const IterVar& iter : block.iter_vars) {
    const Expr& extent = iter.domain.extent;
    if (iter.kind == IterKind::kSpatial) analyzer.Assume(Const(extent.dtype(), 0) < extent);
  }
  for (const IterVar& iter : block.iter_vars) {
    if (iter.kind != IterKind::kReduce ||
        analyzer.CanProveLess(Const(iter.domain.extent.dtype(), 0), iter.domain.extent))
      continue;
    return Refusal{kName, "the sum of {block0} may have no terms", {block.id}};
  }
  return Sum{*std::move(form), *std::move(at)};
}

// The element of the buffer that all terms read, by its indices.
Outcome<std::vector<Expr>> ElementOf(const BlockNode& block, const Expr& term, const Buffer& buffer) {
  std::vector<Expr> indices;
  bool several = false, found = false;
  PreOrder(term, [&](const Expr& e) {
    const auto* load = dyn_cast<LoadNode>(e);
    if (load == nullptr || !load->buffer.same_as(buffer)) return true;
    several |= found && !StructuralEqual(indices, load->indices);
    found = true;
    indices = load->indices;
    return true;
  });
  if (!found) return Refusal{kName, "terms of {block0} do not read {text0}", {block.id}, {}, {buffer->name}};
  for (const IterVar& iter : block.iter_vars) {
    const bool varies = iter.kind == IterKind::kReduce &&
                        std::ranges::any_of(indices, [&](const Expr& e) { return UsesVar(e, iter.var); });
    several |= varies;
  }
  if (several)
    return Refusal{kName, "terms of {block0} read several elements of {text0}", {block.id}, {}, {buffer->name}};
  return indices;
}

Outcome<FactoredValue> FactorTerm(const BlockNode& block, const Expr& term, const Buffer& buffer, const Var& m) {
  const Expr in_m = RewriteExpr(term, [&](const Expr& e) -> Expr {
    const auto* load = dyn_cast<LoadNode>(e);
    return load != nullptr && load->buffer.same_as(buffer) ? Expr(m) : e;
  });
  const auto is_fixed = [](const Expr& e) {
    bool fixed = true;
    PreOrder(e, [&](const Expr& part) { return fixed &= !isa<LoadNode>(part); });
    return fixed;
  };
  auto factored = FactorOut(in_m, m, [&](const Expr& e) {
    return is_fixed(e) &&
           std::ranges::none_of(block.iter_vars, [&](const IterVar& iter) { return UsesVar(e, iter.var); });
  });
  if (const auto* none = std::get_if<NoFactor>(&factored)) {
    return Refusal{kName,
                   "{expr0} in terms of {block0} is not a product of something with what {text0} alone decides (m)",
                   {block.id},
                   {none->part},
                   {buffer->name}};
  }
  FactoredValue value = std::get<FactoredValue>(std::move(factored));
  if (!value.factor.exponentials.empty()) {
    return Refusal{kName,
                   "the factor {expr0} (m) of {block0} is an exponential: sums without it overflow",
                   {block.id},
                   {FactorAt(value.factor, m, m, m.dtype())}};
  }
  return value;
}

}  // namespace

Outcome<HoistFactorResult> HoistFactor(const Function& function, uint32_t block_id, int read_index) {
  TW_ASSIGN_OR_RETURN(Path path, PathToInnerBlock(kName, function, block_id));
  const auto* realize = cast<BlockRealizeNode>(path.back());
  const BlockNode& block = *realize->block;
  TW_ASSIGN_OR_RETURN(const SelectedRegion selected, SelectRegion(kName, block, BufferSelector::Read(read_index)));
  const Buffer buffer = selected.region.buffer;
  TW_ASSIGN_OR_RETURN(const Sum sum, FindSum(path, block));
  TW_ASSIGN_OR_RETURN(const std::vector<Expr> element, ElementOf(block, sum.form.term, buffer));
  const Var m("m", buffer->dtype);
  TW_ASSIGN_OR_RETURN(const FactoredValue value, FactorTerm(block, sum.form.term, buffer, m));

  const StoreNode& store = *sum.form.store;
  const DataType type = store.buffer->dtype;
  std::vector<Expr> shape, places;
  for (const IterVar& iter : sum.at) {
    shape.push_back(iter.domain.extent);
    places.push_back(iter.var);
  }
  const Buffer partial(store.buffer->name + "_sum", std::move(shape), type);
  BlockNode::Fields fields = block.fields();
  fields.init = Store(partial, Const(type, 0), places);
  fields.body = Store(partial, partial.Load(places) + value.rest, places);

  // The factor is one over something where it only divides.
  const Expr total = partial.Load(places), at = buffer.Load(element);
  ValueFactor factor = value.factor;
  factor.over.insert(factor.over.begin(), total);
  HoistFactorResult result;
  uint32_t next_id = function->next_id;
  const Stmt scaled = MakeBlock({.name = block.name + "_scaled",
                                 .iters = sum.at,
                                 .target = store.buffer,
                                 .indices = store.indices,
                                 .value = FactorAt(factor, m, at, type)},
                                &next_id, &result.block);
  const Stmt reduction = ReplaceStmt(Stmt(OutermostOwnLoop(path)), realize,
                                     Realize(realize->bindings, realize->predicate, TouchingBlock(std::move(fields))));
  const BlockNode& scope = *ScopeOf(path)->block;
  const Stmt body = ReplaceStmt(scope.body, OutermostOwnLoop(path), Sequence({reduction, scaled}));
  result.function = WithScopeBody(function, scope, body, {partial}, next_id);
  return result;
}

}  // namespace tilewright
