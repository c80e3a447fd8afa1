#include "schedule/decompose_accumulation.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/analysis.h"
#include "ir/regions.h"
#include "schedule/cache_stage.h"
#include "schedule/common_refusals.h"
#include "schedule/loop_tree.h"
#include "schedule/own_loops.h"
#include "schedule/sum_form.h"

namespace tilewright {
namespace {

constexpr const char* kName = "decompose_accumulation";

// The block's iterators that the store is indexed by, in that order; nothing when it is indexed by something else.
std::optional<std::vector<IterVar>> StoredAt(const BlockNode& block, const StoreNode& store) {
  std::vector<IterVar> at;
  for (const Expr& index : store.indices) {
    for (const IterVar& iter : block.iter_vars) {
      if (index.same_as(iter.var) && iter.kind == IterKind::kSpatial && IsInt(iter.domain.min, 0)) at.push_back(iter);
    }
  }
  const auto spatial = std::count_if(block.iter_vars.begin(), block.iter_vars.end(),
                                     [](const IterVar& iter) { return iter.kind == IterKind::kSpatial; });
  const auto reduce = std::count_if(block.iter_vars.begin(), block.iter_vars.end(),
                                    [](const IterVar& iter) { return iter.kind == IterKind::kReduce; });
  const bool all = at.size() == store.indices.size() && static_cast<size_t>(spatial) == at.size() && reduce > 0 &&
                   static_cast<size_t>(spatial + reduce) == block.iter_vars.size();
  for (size_t i = 0; i < at.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      if (at[i].var.same_as(at[k].var)) return std::nullopt;
    }
  }
  return all ? std::optional(at) : std::nullopt;
}

// for ...: A[...] = A[...] + A_sum[...]
Stmt MakeAddition(const StoreNode& store, const std::vector<IterVar>& at, const Buffer& sum, const std::string& name,
                  uint32_t* next_id, uint32_t* block_id) {
  std::vector<ForNode::Fields> loops;
  std::vector<Expr> bindings, indices;
  BlockNode::Fields block;
  for (size_t d = 0; d < at.size(); ++d) {
    const DataType dtype = at[d].var.dtype();
    const Var loop("ax" + std::to_string(d), dtype), iterator("v" + std::to_string(d), dtype);
    loops.push_back({.id = (*next_id)++, .var = loop, .extent = at[d].domain.extent});
    block.iter_vars.push_back({iterator, at[d].domain, IterKind::kSpatial});
    bindings.push_back(loop);
    indices.push_back(iterator);
  }
  block.id = *block_id = (*next_id)++;
  block.name = name;
  block.reads = {BufferRegion::Point(store.buffer, indices), BufferRegion::Point(sum, indices)};
  block.writes = {BufferRegion::Point(store.buffer, indices)};
  block.body = Store(store.buffer, store.buffer.Load(indices) + sum.Load(indices), indices);
  return Nest(std::move(loops), Realize(std::move(bindings), True(), Block(std::move(block))));
}

}  // namespace

Outcome<DecomposeAccumulationResult> DecomposeAccumulation(const Function& function, uint32_t block_id) {
  Outcome<Path> path = PathToInnerBlock(kName, function, block_id);
  if (!path.ok()) return path.refusal();
  const auto* realize = cast<BlockRealizeNode>(path->back());
  const BlockNode& block = *realize->block;
  if (block.init) return Refusal{kName, "{block0} has an init", {block_id}};
  if (auto refusal = WhyNotInOwnLoops(kName, *path)) return *refusal;
  const std::optional<SumForm> form = AsSum(block);
  if (!form || Reads(form->term, form->store->buffer)) {
    return Refusal{kName, "{block0} does not add something to what it stores to", {block_id}};
  }
  const StoreNode& store = *form->store;
  const std::optional<std::vector<IterVar>> at = StoredAt(block, store);
  if (!at) {
    return Refusal{
        kName,
        "{block0} does not store at its spatial iterators, each one index and from 0, and add up along others",
        {block_id}};
  }

  std::vector<Expr> shape;
  for (const IterVar& iter : *at) shape.push_back(iter.domain.extent);
  const Buffer sum(store.buffer->name + "_sum", std::move(shape), store.buffer->dtype);
  BlockNode::Fields fields = block.fields();
  fields.init = Store(sum, Const(store.buffer->dtype, 0), store.indices);
  fields.body = Store(sum, sum.Load(store.indices) + form->term, store.indices);
  fields.reads.clear();
  fields.writes.clear();
  AccessRegions regions = DetectRegions(*Block(fields));
  fields.reads = std::move(regions.reads);
  fields.writes = std::move(regions.writes);

  DecomposeAccumulationResult result;
  uint32_t next_id = function->next_id;
  const Stmt addition = MakeAddition(store, *at, sum, block.name + "_add", &next_id, &result.block);
  const Stmt reduction = ReplaceStmt(Stmt(OutermostOwnLoop(*path)), realize,
                                     Realize(realize->bindings, realize->predicate, Block(std::move(fields))));
  const BlockNode& scope = *ScopeOf(*path)->block;
  const Stmt body = ReplaceStmt(scope.body, OutermostOwnLoop(*path), Sequence({reduction, addition}));
  result.function = WithScopeBody(function, scope, body, {sum}, next_id);
  return result;
}

}  // namespace tilewright
