#include "schedule/blockize.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ir/analysis.h"
#include "ir/arith/iter_map.h"
#include "ir/arith/region.h"
#include "ir/substitute.h"
#include "schedule/common_refusals.h"
#include "schedule/loop_tree.h"
#include "schedule/reduction_block.h"
#include "schedule/simplify_block.h"

namespace tilewright {
namespace {

constexpr const char* kName = "blockize";

// What becomes the tile: the loops from the given one inwards, around one block.
struct Tile {
  const ForNode* loop;
  const BlockRealizeNode* realize;
  std::vector<const ForNode*> above, loops;
};

Outcome<Tile> FindTile(const Function& function, uint32_t loop_id) {
  Outcome<Path> path = PathToLoop(kName, function, loop_id);
  if (!path.ok()) return path.refusal();
  Tile tile{cast<ForNode>(path->back()), nullptr, LoopsAbove(*path), {}};
  Stmt inside(tile.loop);
  while (const auto* loop = dyn_cast<ForNode>(inside)) {
    tile.loops.push_back(loop);
    inside = loop->body;
  }
  tile.realize = dyn_cast<BlockRealizeNode>(inside);
  if (tile.realize == nullptr) return Refusal{kName, "{loop0} holds more than loops around one block", {loop_id}};
  for (const ForNode* inner : tile.loops) {
    for (const ForNode* outer : tile.above) {
      if (UsesVar({inner->min, inner->extent}, outer->var)) {
        return Refusal{kName, "the range of {loop0} depends on {loop1}, outside of the block", {inner->id, outer->id}};
      }
    }
  }
  return tile;
}

// The iterators of a tile count from 0; so must what they are parts of.
std::optional<Refusal> WhyNotFromZero(const Tile& tile, const arith::SubspaceDivision& division) {
  VarMap first;
  for (const std::vector<const ForNode*>* loops : {&tile.above, &tile.loops}) {
    for (const ForNode* loop : *loops) first[loop->var] = loop->min;
  }
  const BlockNode& block = *tile.realize->block;
  for (size_t i = 0; i < block.iter_vars.size(); ++i) {
    if (AsInt(division.indices[i].inner)) continue;
    const Expr start = arith::Simplify(Substitute(tile.realize->bindings[i], first));
    if (IsInt(start, 0) && IsInt(block.iter_vars[i].domain.min, 0)) continue;
    return Refusal{kName,
                   "the iterator {text0} of {block0} starts at {expr0}, not at 0",
                   {block.id},
                   {start},
                   {block.iter_vars[i].var.name()}};
  }
  return std::nullopt;
}

Outcome<arith::SubspaceDivision> Divide(const Tile& tile) {
  arith::Domain domain;
  for (const ForNode* loop : tile.above) domain.push_back({loop->var, {loop->min, loop->extent}});
  for (const ForNode* loop : tile.loops) domain.push_back({loop->var, {loop->min, loop->extent}});
  arith::Analyzer analyzer;
  arith::IterMapError error;
  auto division = arith::SubspaceDivide(tile.realize->bindings, domain, tile.loops.size(), tile.realize->predicate,
                                        &analyzer, &error);
  if (division) {
    if (auto refusal = WhyNotFromZero(tile, *division)) return *refusal;
    return std::move(*division);
  }
  const BlockNode& block = *tile.realize->block;
  if (error.code == arith::IterMapError::Code::kPredicate) {
    return Refusal{kName,
                   "the condition {expr0} of {block1} is not divided by the loops from {loop0} on",
                   {tile.loop->id, block.id},
                   {error.expr}};
  }
  const size_t index = std::min(error.index, block.iter_vars.size() - 1);
  return Refusal{kName,
                 "the iterator {text0} of {block1} is bound to {expr0}, which the loops from {loop0} on do not divide",
                 {tile.loop->id, block.id},
                 {tile.realize->bindings[index]},
                 {block.iter_vars[index].var.name()}};
}

// The iterators of both blocks, and those of the original in terms of them.
struct Iterators {
  std::vector<IterVar> outer, inner;
  std::vector<Expr> outer_bindings, inner_bindings;
  VarMap original;
};

// A constant part of a divided binding, with the loop of extent 1 that the binding mentions put back: division leaves
// out what is always 0, but the iterator is that loop's.
Expr WithUnitLoop(const Expr& part, const Expr& binding, const std::vector<const ForNode*>& loops) {
  if (!IsInt(part, 0)) return part;
  for (const ForNode* loop : loops) {
    if (IsInt(loop->extent, 1) && IsInt(loop->min, 0) && UsesVar(binding, loop->var)) return loop->var;
  }
  return part;
}

Iterators DivideIterators(const Tile& tile, const arith::SubspaceDivision& division, bool preserve_unit_iters) {
  Iterators iterators;
  const std::vector<IterVar>& originals = tile.realize->block->iter_vars;
  for (size_t i = 0; i < originals.size(); ++i) {
    const IterVar& iter = originals[i];
    const arith::DividedIndex& divided = division.indices[i];
    const DataType type = iter.var.dtype();
    const Var outer(iter.var.name() + "_o", type);
    const Expr zero = Const(type, 0);
    const Expr& binding = tile.realize->bindings[i];
    iterators.outer_bindings.push_back(preserve_unit_iters ? WithUnitLoop(divided.outer, binding, tile.above)
                                                           : divided.outer);
    const Expr inner_binding = preserve_unit_iters ? WithUnitLoop(divided.inner, binding, tile.loops) : divided.inner;
    if (AsInt(inner_binding)) {
      iterators.outer.push_back({outer, iter.domain, iter.kind});
      iterators.original[iter.var] = outer;
      continue;
    }
    const Var inner(iter.var.name() + "_i", type);
    iterators.inner.push_back({inner, {zero, divided.inner_extent}, iter.kind});
    iterators.inner_bindings.push_back(inner_binding);
    if (IsInt(divided.inner_extent, 1)) {
      // Not divided: the outer iterator has all its values, which need not count from 0.
      const bool always_zero = IsInt(iter.domain.min, 0) && IsInt(iter.domain.extent, 1);
      iterators.outer.push_back({outer, iter.domain, iter.kind});
      iterators.original[iter.var] = always_zero ? Expr(inner) : outer + inner;
    } else {
      iterators.outer.push_back({outer, {zero, divided.outer_extent}, iter.kind});
      iterators.original[iter.var] =
          IsInt(divided.outer_extent, 1) ? Expr(inner) : outer * divided.inner_extent + inner;
    }
  }
  return iterators;
}

// The regions with the iterators of the inner block running over their domains.
std::vector<BufferRegion> RegionsOfTile(const std::vector<BufferRegion>& regions, const Iterators& iterators) {
  arith::Domain domain;
  for (const IterVar& iter : iterators.inner) domain.push_back({iter.var, iter.domain});
  arith::Analyzer analyzer;
  for (const IterVar& iter : iterators.outer) analyzer.Bind(iter.var, iter.domain);
  std::vector<BufferRegion> tiles;
  for (const BufferRegion& region : regions) {
    auto touched = arith::MayTouch(Substitute(region, iterators.original).region, domain, Expr(), &analyzer);
    tiles.push_back(touched ? BufferRegion{region.buffer, std::move(*touched)} : BufferRegion::Full(region.buffer));
  }
  return tiles;
}

}  // namespace

Outcome<BlockizeResult> Blockize(const Function& function, uint32_t loop_id, bool preserve_unit_iters) {
  Outcome<Tile> tile = FindTile(function, loop_id);
  if (!tile.ok()) return tile.refusal();
  Outcome<arith::SubspaceDivision> division = Divide(*tile);
  if (!division.ok()) return division.refusal();
  const Iterators iterators = DivideIterators(*tile, *division, preserve_unit_iters);
  const BlockNode& original = *tile->realize->block;
  uint32_t next_id = function->next_id;

  BlockNode::Fields outer;
  outer.id = next_id++;
  outer.name = original.name + "_o";
  outer.iter_vars = iterators.outer;
  outer.reads = RegionsOfTile(original.reads, iterators);
  outer.writes = RegionsOfTile(original.writes, iterators);

  BlockNode::Fields inner = original.fields();
  inner.iter_vars = iterators.inner;
  {
    // Divided iterators take divisions in the indices apart: (vj_o * 64 + vj_i) // 64 is vj_o.
    arith::Analyzer analyzer;
    for (const IterVar& iter : iterators.outer) analyzer.Bind(iter.var, iter.domain);
    ReplaceInBlock(&inner, iterators.original, &analyzer);
  }
  const Expr inner_predicate = division->inner_predicate;
  if (inner.init) {
    const Stmt with_init = Realize(iterators.inner_bindings, inner_predicate, Block(inner));
    Outcome<InitNest> init =
        MakeInitNest(kName, *cast<BlockRealizeNode>(with_init), {}, tile->loops, {.iter_suffix = "_init"}, &next_id);
    if (!init.ok()) return init.refusal();
    outer.init = init->nest;
    inner.reads = ReadsOfUpdate(*cast<BlockRealizeNode>(with_init)->block);
    inner.init = Stmt();
  }
  std::vector<ForNode::Fields> loops;
  for (const ForNode* loop : tile->loops) loops.push_back(loop->fields());
  outer.body = Nest(std::move(loops), Realize(iterators.inner_bindings, inner_predicate, Block(std::move(inner))));

  const uint32_t id = outer.id;
  const Stmt realize = Realize(iterators.outer_bindings, division->outer_predicate, Block(std::move(outer)));
  return BlockizeResult{ReplaceIn(function, tile->loop, realize, next_id), id};
}

}  // namespace tilewright
