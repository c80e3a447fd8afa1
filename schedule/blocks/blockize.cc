#include "schedule/blocks/blockize.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "ir/analysis.h"
#include "ir/arith/iter_map.h"
#include "ir/arith/region.h"
#include "ir/structural.h"
#include "ir/substitute.h"
#include "schedule/program/common_refusals.h"
#include "schedule/program/loop_tree.h"
#include "schedule/program/proven_after.h"
#include "schedule/program/reduction_block.h"
#include "schedule/program/simplify_block.h"

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
  TW_ASSIGN_OR_RETURN(Path path, PathToLoop(kName, function, loop_id));
  Tile tile{cast<ForNode>(path.back()), nullptr, LoopsAbove(path), {}};
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

// A divided binding, with the loops of extent 1 that the binding mentions put back in the same way: j_0 * 16 + j_1
// where division leaves j_1. The init's nest has these loops too.
Expr WithUnitLoops(Expr part, const Expr& binding, const std::vector<const ForNode*>& loops) {
  for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
    const Var& var = (*loop)->var;
    if (!IsInt((*loop)->extent, 1) || !IsInt((*loop)->min, 0) || !UsesVar(binding, var) || UsesVar(part, var)) continue;
    const Expr zero = Const(var.dtype(), 0), one = Const(var.dtype(), 1);
    const Expr step = arith::Simplify(Substitute(binding, {{var, one}}) - Substitute(binding, {{var, zero}}));
    const std::optional<int64_t> factor = AsInt(step);
    if (factor && *factor != 0) part = *factor == 1 ? var + part : var * step + part;
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
    iterators.outer_bindings.push_back(
        CastTo(type, preserve_unit_iters ? WithUnitLoop(divided.outer, binding, tile.above) : divided.outer));
    if (IsInt(divided.inner_extent, 1)) {
      // Not divided: the outer iterator has all its values, which need not count from 0.
      const bool left_out = !preserve_unit_iters && IsInt(iter.domain.extent, 1);
      iterators.outer.push_back({outer, iter.domain, iter.kind});
      iterators.original[iter.var] = left_out ? iter.domain.min : Expr(outer);
      continue;
    }
    const Var inner(iter.var.name() + "_i", type);
    iterators.inner.push_back({inner, {zero, divided.inner_extent}, iter.kind});
    iterators.inner_bindings.push_back(
        CastTo(type, preserve_unit_iters ? WithUnitLoops(divided.inner, binding, tile.loops) : divided.inner));
    iterators.outer.push_back({outer, {zero, divided.outer_extent}, iter.kind});
    iterators.original[iter.var] = IsInt(divided.outer_extent, 1) ? Expr(inner) : outer * divided.inner_extent + inner;
  }
  return iterators;
}

// The regions with the iterators of the inner block running over their domains.
std::vector<BufferRegion> RegionsOfTile(const std::vector<BufferRegion>& regions, const Iterators& iterators) {
  arith::Domain domain;
  for (const IterVar& iter : iterators.inner) domain.push_back({iter.var, iter.domain});
  arith::Analyzer analyzer;
  BindIterators(iterators.outer, &analyzer);
  std::vector<BufferRegion> tiles;
  for (const BufferRegion& region : regions) {
    auto touched = arith::MayTouch(Substitute(region, iterators.original).region, domain, Expr(), &analyzer);
    tiles.push_back(touched ? BufferRegion{region.buffer, std::move(*touched)} : BufferRegion::Full(region.buffer));
  }
  return tiles;
}

// ---- Several blocks

// What the blocks have around them in common, and each with loops of its own.
struct Neighbors {
  Stmt around;              // the body of the innermost loop around all, or of the scope
  std::vector<Stmt> stmts;  // the consecutive statements of it that hold the blocks
  std::vector<Tile> tiles;  // one in each of `stmts`
};

std::vector<Stmt> StatementsOf(const Stmt& s) {
  const auto* seq = dyn_cast<SeqNode>(s);
  return seq != nullptr ? seq->stmts : std::vector<Stmt>{s};
}

Outcome<Neighbors> FindNeighbors(const Function& function, const std::vector<uint32_t>& blocks) {
  if (blocks.size() < 2) return Refusal{kName, "a list of blocks has two at least", blocks};
  std::vector<Path> paths;
  size_t common = 0;
  for (uint32_t block : blocks) {
    TW_ASSIGN_OR_RETURN(Path path, PathToInnerBlock(kName, function, block));
    if (!paths.empty() && ScopeOf(path) != ScopeOf(paths[0])) {
      return Refusal{kName, "{block0} and {block1} are not in one scope", {blocks[0], block}};
    }
    const size_t before = paths.empty() ? path.size() : common;
    for (common = 0; common < before && common < path.size(); ++common) {
      if (!paths.empty() && path[common].get() != paths[0][common].get()) break;
    }
    paths.push_back(std::move(path));
  }
  const Stmt& innermost = paths[0][common - 1];
  const auto* loop = dyn_cast<ForNode>(innermost);
  Neighbors neighbors;
  neighbors.around = loop != nullptr ? loop->body : cast<BlockRealizeNode>(innermost)->block->body;
  size_t found = 0;
  for (const Stmt& s : StatementsOf(neighbors.around)) {
    Stmt inside = s;
    Tile tile{loop, nullptr, {}, {}};
    while (const auto* own = dyn_cast<ForNode>(inside)) {
      tile.loops.push_back(own);
      inside = own->body;
    }
    tile.realize = dyn_cast<BlockRealizeNode>(inside);
    const bool wanted = tile.realize != nullptr && std::ranges::find(blocks, tile.realize->block->id) != blocks.end();
    if (!wanted) {
      if (found > 0 && found < blocks.size()) break;
      continue;
    }
    ++found;
    const std::vector<const ForNode*> all = LoopsAbove(FindPath(function, tile.realize->block->id));
    tile.above.assign(all.begin(), all.end() - static_cast<ptrdiff_t>(tile.loops.size()));
    if (tile.loop == nullptr && !tile.loops.empty()) tile.loop = tile.loops[0];
    if (tile.loop == nullptr) return Refusal{kName, "no loop is around {block0}", {tile.realize->block->id}};
    neighbors.stmts.push_back(s);
    neighbors.tiles.push_back(std::move(tile));
  }
  if (found < blocks.size()) {
    return Refusal{kName, "{block0} and the other blocks are not consecutive, each in loops of its own", {blocks[0]}};
  }
  return neighbors;
}

// Why the outer iterators of a tile are not those of the first.
std::optional<Refusal> WhyNotSameOuter(const Tile& first, const Iterators& expected, const Tile& tile,
                                       const Iterators& iterators) {
  const std::vector<uint32_t> both = {first.realize->block->id, tile.realize->block->id};
  bool same = iterators.outer.size() == expected.outer.size();
  for (size_t i = 0; same && i < expected.outer.size(); ++i) {
    same = StructuralEqual(iterators.outer_bindings[i], expected.outer_bindings[i]) &&
           StructuralEqual(iterators.outer[i].domain.extent, expected.outer[i].domain.extent);
  }
  if (!same) return Refusal{kName, "{block0} and {block1} have different outer iterators", both};
  for (const IterVar& iter : iterators.outer) {
    if (iter.kind == IterKind::kSpatial) continue;
    return Refusal{kName,
                   "the outer iterator {text0} of {block1} is {text1}, not spatial",
                   both,
                   {},
                   {iter.var.name(), IterKindName(iter.kind)}};
  }
  return std::nullopt;
}

// Adds regions to those of the new block; the latest come first, as in TVM.
void AddRegions(const std::vector<BufferRegion>& added, std::vector<BufferRegion>* regions) {
  arith::Analyzer analyzer;
  for (const BufferRegion& region : added) {
    const auto known =
        std::ranges::find_if(*regions, [&](const BufferRegion& old) { return old.buffer.same_as(region.buffer); });
    if (known == regions->end()) {
      regions->insert(regions->begin(), region);
    } else {
      known->region = arith::UnionRegions(known->region, region.region, &analyzer);
    }
  }
}

// Instances that differ in spatial and reduce iterators may write one element in turn; what all of a tile write may
// then be what other tiles write too: S[v + k] for all k.
std::optional<Refusal> WhyTilesMeet(const Function& before, const BlockNode& block, const BlockizeResult& result) {
  const auto mixes = [&](const IterVar& iter) {
    return iter.kind == IterKind::kReduce && std::ranges::any_of(block.writes, [&](const BufferRegion& write) {
             return std::ranges::any_of(write.region, [&](const Range& r) { return UsesVar(r.min, iter.var); });
           });
  };
  if (std::ranges::none_of(block.iter_vars, mixes)) return std::nullopt;
  if (!FindInstancesThatMeet(result.function, result.block) || FindInstancesThatMeet(before, block.id)) {
    return std::nullopt;
  }
  return Refusal{kName,
                 "tiles of {block0} that differ in a spatial iterator may write the same element of {text0}",
                 {block.id},
                 {},
                 {block.writes[0].buffer->name}};
}

}  // namespace

Outcome<BlockizeResult> Blockize(const Function& function, const std::vector<uint32_t>& blocks,
                                 bool preserve_unit_iters) {
  TW_ASSIGN_OR_RETURN(Neighbors neighbors, FindNeighbors(function, blocks));
  BlockNode::Fields outer;
  outer.id = function->next_id;
  outer.name = "outer_";
  for (const uint32_t id : blocks) outer.name += FindBlock(function, id)->block->name + "_";  // in the order given
  Iterators first;
  Expr predicate;
  std::vector<Stmt> body;
  for (const Tile& tile : neighbors.tiles) {
    TW_ASSIGN_OR_RETURN(arith::SubspaceDivision division, Divide(tile));
    Iterators iterators = DivideIterators(tile, division, preserve_unit_iters);
    const BlockNode& block = *tile.realize->block;
    if (body.empty()) first = iterators, predicate = division.outer_predicate;
    if (auto refusal = WhyNotSameOuter(neighbors.tiles[0], first, tile, iterators)) return *refusal;
    if (!StructuralEqual(division.outer_predicate, predicate)) {
      return Refusal{kName,
                     "{block0} and {block1} have different conditions on the loops around them",
                     {neighbors.tiles[0].realize->block->id, block.id}};
    }
    VarMap to_first;
    for (size_t i = 0; i < first.outer.size(); ++i) to_first[iterators.outer[i].var] = first.outer[i].var;
    for (auto& [var, value] : iterators.original) value = Substitute(value, to_first);
    iterators.outer = first.outer;
    AddRegions(RegionsOfTile(block.reads, iterators), &outer.reads);
    AddRegions(RegionsOfTile(block.writes, iterators), &outer.writes);
    BlockNode::Fields inner = block.fields();
    inner.iter_vars = iterators.inner;
    arith::Analyzer analyzer;
    BindIterators(iterators.outer, &analyzer);
    ReplaceInBlock(&inner, iterators.original, &analyzer);
    std::vector<ForNode::Fields> loops;
    for (const ForNode* loop : tile.loops) loops.push_back(loop->fields());
    const Stmt realize = Realize(iterators.inner_bindings, division.inner_predicate, Block(std::move(inner)));
    body.push_back(Nest(std::move(loops), realize));
  }
  outer.iter_vars = first.outer;
  outer.body = Sequence(std::move(body));
  const uint32_t id = outer.id;
  std::vector<Stmt> stmts;
  for (const Stmt& s : StatementsOf(neighbors.around)) {
    if (s.same_as(neighbors.stmts[0])) stmts.push_back(Realize(first.outer_bindings, predicate, Block(outer)));
    if (std::ranges::none_of(neighbors.stmts, [&](const Stmt& taken) { return taken.same_as(s); })) stmts.push_back(s);
  }
  return BlockizeResult{ReplaceIn(function, neighbors.around.get(), Sequence(std::move(stmts)), function->next_id + 1),
                        id};
}

Outcome<BlockizeResult> Blockize(const Function& function, uint32_t loop_id, bool preserve_unit_iters) {
  TW_ASSIGN_OR_RETURN(Tile tile, FindTile(function, loop_id));
  TW_ASSIGN_OR_RETURN(arith::SubspaceDivision division, Divide(tile));
  const Iterators iterators = DivideIterators(tile, division, preserve_unit_iters);
  const BlockNode& original = *tile.realize->block;
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
    BindIterators(iterators.outer, &analyzer);
    ReplaceInBlock(&inner, iterators.original, &analyzer);
  }
  const Expr inner_predicate = division.inner_predicate;
  if (inner.init) {
    const Stmt with_init = Realize(iterators.inner_bindings, inner_predicate, Block(inner));
    TW_ASSIGN_OR_RETURN(InitNest init, MakeInitNest(kName, *cast<BlockRealizeNode>(with_init), {}, tile.loops,
                                                    {.iter_suffix = "_init", .keeps_annotations = false}, &next_id));
    outer.init = init.nest;
    inner.reads = ReadsOfUpdate(*cast<BlockRealizeNode>(with_init)->block);
    inner.init = Stmt();
  }
  std::vector<ForNode::Fields> loops;
  for (const ForNode* loop : tile.loops) loops.push_back(loop->fields());
  outer.body = Nest(std::move(loops), Realize(iterators.inner_bindings, inner_predicate, Block(std::move(inner))));

  const uint32_t id = outer.id;
  const Stmt realize = Realize(iterators.outer_bindings, division.outer_predicate, Block(std::move(outer)));
  BlockizeResult result{ReplaceIn(function, tile.loop, realize, next_id), id};
  if (auto refusal = WhyTilesMeet(function, original, result)) return *refusal;
  return result;
}

}  // namespace tilewright
