#include "schedule/blocks/transform_block_layout.h"

#include <algorithm>

#include "base/status_macros.h"
#include "ir/analysis.h"
#include "ir/arith/iter_map.h"
#include "schedule/program/common_refusals.h"
#include "schedule/program/loop_tree.h"
#include "schedule/program/own_loops.h"
#include "schedule/program/simplify_block.h"

namespace tilewright {
namespace {

constexpr const char* kName = "transform_block_layout";

// The kind that all iterators in `result` have, those of extent 1 left out; nothing when they differ.
std::optional<IterKind> KindOf(const Expr& result, const BlockNode& block, const IndexMap& map) {
  std::optional<IterKind> kind;
  for (size_t i = 0; i < block.iter_vars.size(); ++i) {
    const IterVar& iter = block.iter_vars[i];
    if (IsInt(iter.domain.extent, 1) || !UsesVar(result, map->inputs[i])) continue;
    if (kind && *kind != iter.kind) return std::nullopt;
    kind = iter.kind;
  }
  return kind.value_or(IterKind::kSpatial);
}

// The extents of a block's iterators, which count from 0 and depend on no loop around the block.
Outcome<std::vector<Expr>> OwnExtents(const BlockNode& block, const Path& path) {
  std::vector<Expr> extents;
  for (const IterVar& iter : block.iter_vars) {
    if (!IsInt(iter.domain.min, 0)) {
      return Refusal{kName, "{text0} of {block0} does not start at 0", {block.id}, {}, {iter.var.name()}};
    }
    for (const ForNode* loop : LoopsAbove(path)) {
      if (!UsesVar(iter.domain.extent, loop->var)) continue;
      return Refusal{
          kName, "the range of {text0} of {block0} depends on {loop1}", {block.id, loop->id}, {}, {iter.var.name()}};
    }
    extents.push_back(iter.domain.extent);
  }
  return extents;
}

}  // namespace

Outcome<TransformBlockLayoutResult> TransformBlockLayout(const Function& function, uint32_t block_id,
                                                         const IndexMap& untyped) {
  TW_ASSIGN_OR_RETURN(Path path, PathToInnerBlock(kName, function, block_id));
  const auto* realize = cast<BlockRealizeNode>(path.back());
  const BlockNode& block = *realize->block;
  if (untyped->inputs.size() != block.iter_vars.size()) {
    return Refusal{
        kName,      "the map takes {num0} iterators, {block0} has {num1}",
        {block_id}, {},
        {},         {static_cast<int64_t>(untyped->inputs.size()), static_cast<int64_t>(block.iter_vars.size())}};
  }
  if (auto refusal = WhyNotInOwnLoops(kName, path, LoopLoss::kKinds)) return *refusal;
  if (auto refusal = WhyInstancesDepend(kName, block)) return *refusal;
  const IndexMap map = WithTypesOf(untyped, block.iter_vars);
  arith::Analyzer analyzer;
  TW_ASSIGN_OR_RETURN(const std::vector<Expr> extents, OwnExtents(block, path));
  const std::optional<IndexMap> inverse = arith::InverseIndexMap(map, extents, &analyzer);
  const std::optional<std::vector<Expr>> shape = arith::MapShape(map, extents, &analyzer);
  if (!inverse || !shape) {
    return Refusal{kName, "the map is not known to be bijective over the iterators of {block0}", {block_id}};
  }

  uint32_t next_id = function->next_id;
  BlockNode::Fields fields = block.fields();
  fields.iter_vars.clear();
  std::vector<ForNode::Fields> loops;
  std::vector<Expr> bindings, iters;
  for (size_t k = 0; k < shape->size(); ++k) {
    const std::optional<IterKind> kind = KindOf(map->outputs[k], block, map);
    if (!kind) {
      return Refusal{kName, "{expr0} mixes iterators of {block0} of different kinds", {block_id}, {map->outputs[k]}};
    }
    const Expr& extent = (*shape)[k];
    const Var loop("ax" + std::to_string(k), extent.dtype()), iter("v" + std::to_string(k), extent.dtype());
    loops.push_back({.id = next_id++, .var = loop, .extent = extent});
    fields.iter_vars.push_back(
        {iter, {Const(extent.dtype(), 0), extent}, IsInt(extent, 1) ? IterKind::kSpatial : *kind});
    bindings.push_back(loop);
    iters.push_back(iter);
  }
  const std::vector<Expr> originals = inverse->Apply(iters);
  VarMap values;
  for (size_t i = 0; i < originals.size(); ++i) {
    Expr original = originals[i];
    for (size_t k = 0; k < iters.size() && IsInt(extents[i], 1); ++k) {
      if (map->outputs[k].get() == map->inputs[i].get()) original = iters[k];  // stays in indices, though it is 0
    }
    values[block.iter_vars[i].var] = CastTo(block.iter_vars[i].var.dtype(), original);
  }
  ReplaceInBlock(&fields, values, &analyzer);
  Stmt nest = Nest(std::move(loops), Realize(std::move(bindings), True(), Block(std::move(fields))));
  return TransformBlockLayoutResult{ReplaceIn(function, OutermostOwnLoop(path), nest, next_id)};
}

}  // namespace tilewright
