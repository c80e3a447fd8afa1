#include "autoschedule/sketch/cpu/elementwise_rule.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <utility>
#include <vector>

#include "autoschedule/program/block_loops.h"
#include "autoschedule/program/computed_places.h"
#include "base/status_macros.h"
#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/builtin.h"
#include "ir/functor.h"
#include "ir/lane_runs.h"

namespace tilewright {
namespace {

using Done = std::monostate;

// Most loads of a block for which overlaps are searched.
constexpr size_t kMostStencilLoads = 64;
// The preferred tile of a stencil: at most so many planes and rows, and vectors.
struct StencilTile {
  int64_t planes, rows, vectors;
};
// Overlaps of a stencil's vectors: none; in a line, so that lowering combines vectors from two others; in several rows
// of one plane; in at most one long row, whose stores lowering aligns.
enum StencilShape { kRowsApart, kWide, kPlane, kCross };
// By StencilShape.
constexpr StencilTile kStencilTiles[] = {{4, 4, 1}, {2, 2, 4}, {1, 4, 4}, {6, 1, 8}};

int64_t LineBits(const Target& target) { return int64_t{8} * target.Nearest().line_bytes; }

// Whether every access traverses its buffer in the order of the loops, or stays at one element. The extent of the
// outermost loop may be anything.
bool GoesInOrder(const PlainPlan& plan) {
  if (std::any_of(plan.extents.begin() + 1, plan.extents.end(), [](const auto& extent) { return !extent; })) {
    return false;
  }
  const auto moves = [&](size_t i) { return plan.extents[i].value_or(plan.likely[i]) > 1; };
  const Access* store = nullptr;
  for (const Access& access : plan.accesses) store = access.store ? &access : store;
  if (store == nullptr) return false;
  int64_t step = 1;
  for (size_t i = plan.extents.size(); i-- > 0;) {
    if (moves(i) && store->strides[i] != step) return false;
    step *= plan.extents[i].value_or(1);
  }
  for (const Access& access : plan.accesses) {
    for (size_t i = 0; i < plan.extents.size(); ++i) {
      if (moves(i) && access.strides[i] != store->strides[i]) return false;
    }
  }
  return true;
}

// Whether variables are more than indices of what is loaded and stored.
bool UsesVarsAsValues(const Stmt& body) {
  class Finder : public Visitor {
   public:
    using Visitor::Visit;
    bool found = false;

   protected:
    void VisitLoad(const LoadNode*) override {}
    void VisitStore(const StoreNode* op) override { Visit(op->value); }
    void VisitVar(const VarNode*) override { found = true; }
  };
  Finder finder;
  finder.Visit(body);
  return finder.found;
}

// All loads in the block's body.
std::vector<const LoadNode*> LoadsOf(const BlockNode& block) {
  std::vector<const LoadNode*> loads;
  PreOrderExprs(block.body, [&](const Expr& e) {
    if (const auto* load = dyn_cast<LoadNode>(e)) loads.push_back(load);
    return true;
  });
  return loads;
}

// Whether the index is an element of a buffer, or is made of one.
bool IsLoaded(const Expr& index) {
  bool loaded = false;
  PreOrder(index, [&](const Expr& e) {
    loaded |= isa<LoadNode>(e);
    return !loaded;
  });
  return loaded;
}

// Iterators whose adjacent instances load the same elements, as in stencils: the block reads one buffer at indices that
// differ by constants along them. Indices that are loaded do not count.
struct SharedLoads {
  std::vector<int> iterators;  // spatial ones besides the vector axis, outermost first
  bool vector = false;         // the vector axis
  bool one_row = false;        // vectors overlap in one row at most: a cross
};
SharedLoads FindSharedLoads(const PlainPlan& plan, const BlockNode& block) {
  const std::vector<const LoadNode*> loads = LoadsOf(block);
  if (loads.size() > kMostStencilLoads) return {};
  arith::Analyzer analyzer;
  const auto uses = [&](const Expr& index, int iterator) {
    return iterator >= 0 && UsesVar(index, block.iter_vars[static_cast<size_t>(iterator)].var);
  };
  std::vector<bool> shared(block.iter_vars.size(), false);
  std::vector<size_t> overlapping;  // loads whose vectors overlap those of another load of the same row
  std::vector<std::pair<size_t, size_t>> of_different_rows;
  for (size_t a = 0; a < loads.size(); ++a) {
    for (size_t b = 0; b < a; ++b) {
      if (!loads[a]->buffer.same_as(loads[b]->buffer)) continue;
      bool along = false, across = false;  // they lie apart along the vector axis, or along another dimension
      for (size_t d = 0; d < loads[a]->indices.size(); ++d) {
        const auto distance = AsInt(analyzer.Simplify(loads[a]->indices[d] - loads[b]->indices[d]));
        if (!distance || *distance == 0 || IsLoaded(loads[a]->indices[d])) continue;
        (uses(loads[a]->indices[d], plan.vector) ? along : across) = true;
        for (int i : plan.spatial) {
          if (uses(loads[a]->indices[d], i)) shared[static_cast<size_t>(i)] = true;
        }
      }
      if (along && !across) overlapping.insert(overlapping.end(), {a, b});
      if (across) of_different_rows.emplace_back(a, b);
    }
  }
  SharedLoads result;
  for (int i : plan.spatial) {
    if (!shared[static_cast<size_t>(i)]) continue;
    if (i == plan.vector) {
      result.vector = true;
    } else if (plan.extents[static_cast<size_t>(i)] != 1) {
      result.iterators.push_back(i);
    }
  }
  const auto overlaps = [&](size_t load) { return std::ranges::find(overlapping, load) != overlapping.end(); };
  result.one_row = std::ranges::none_of(
      of_different_rows, [&](const auto& pair) { return overlaps(pair.first) && overlaps(pair.second); });
  return result;
}

const StencilTile& PreferredTile(const PlainPlan& plan, const SharedLoads& sharing, const Target& target) {
  if (!target.VectorsFillLines()) return kStencilTiles[kRowsApart];
  const int64_t length = plan.likely[static_cast<size_t>(plan.vector)];
  const bool long_rows = !sharing.iterators.empty() && length >= kStencilTiles[kCross].vectors * plan.lanes;
  if (sharing.one_row && long_rows) return kStencilTiles[kCross];
  if (!sharing.vector) return kStencilTiles[kRowsApart];
  return kStencilTiles[sharing.iterators.size() == 1 && !sharing.one_row ? kPlane : kWide];
}

// Splits small tiles off at most two innermost iterators that share loads, so that a register serves several results.
// `loops` keeps the outer parts; the tiles are returned, outermost first.
Outcome<std::vector<LoopRv>> CutStencilTile(Schedule& sch, const PlainPlan& plan, const SharedLoads& sharing,
                                            const StencilTile& preferred_tile, std::vector<LoopRv>& loops,
                                            const Target& target, Choices& choices) {
  const std::vector<int>& iterators = sharing.iterators;
  std::vector<LoopRv> inner;
  for (size_t k = iterators.size() - std::min<size_t>(2, iterators.size()); k < iterators.size(); ++k) {
    const auto iterator = static_cast<size_t>(iterators[k]);
    const int64_t extent = plan.likely[iterator];
    const bool rows = k + 1 == iterators.size();
    const int64_t side = rows ? preferred_tile.rows : preferred_tile.planes;
    std::vector<int64_t> sizes = {1, 2, 3, 4, 6, 8};
    std::erase_if(sizes, [&](int64_t size) { return size > extent; });
    // The largest size that leaves work for every core, preferably a divisor of the extent.
    size_t preferred = 0;
    for (size_t i = 1; i < sizes.size() && sizes[i] <= side; ++i) {
      if (extent / sizes[i] >= 2 * target.cores && (extent % sizes[i] == 0 || extent % sizes[preferred] != 0)) {
        preferred = i;
      }
    }
    const char* const name = rows ? ".rows" : ".planes";
    TW_ASSIGN_OR_RETURN(const Choices::Pick size, choices.Take(sch, plan.name + name, sizes, preferred));
    if (size.value == 1) continue;
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> parts, sch.Split(loops[iterator], {Value(), size}));
    loops[iterator] = parts[0];
    inner.push_back(parts[1]);
  }
  return inner;
}

// Loads along a column of an array whose results are stored to adjacent elements.
struct RowsAcross {
  int iterator = -1;  // along which they have neighbours; -1: there are none
  int64_t part = 0;   // elements that lowering transposes at a time (codegen/lower/cpu/transpose_loads.h)
};
RowsAcross FindRowsAcross(const PlainPlan& plan, const BlockNode& block) {
  const auto vector = static_cast<size_t>(plan.vector);
  if (!IteratorsOfPlaces(block, plan.vector).empty()) return {};
  bool conditional = false;
  PreOrderExprs(block.body, [&](const Expr& e) {
    const auto* call = dyn_cast<CallNode>(e);
    conditional |= isa<SelectNode>(e) || (call != nullptr && call->op == kIfThenElse);
    return !conditional;
  });
  for (const Access& access : plan.accesses) {
    if (conditional || access.store || access.indices.empty()) continue;
    const std::optional<int64_t> stride = access.strides[vector];
    const bool goes_down = std::ranges::any_of(access.steps, [&](const auto& steps) { return steps[vector] != 0; });
    if (stride ? std::abs(*stride) <= kLongestStride : !goes_down || access.steps.back()[vector] != 0) continue;
    for (const int i : plan.spatial) {
      if (i == plan.vector || access.strides[static_cast<size_t>(i)] != 1) continue;
      const int64_t part = kTransposedBits / access.buffer->dtype.bits();
      if (part >= 2 && plan.likely[static_cast<size_t>(i)] >= part) return {i, part};
    }
  }
  return {};
}

// Cuts tiles off the iterator along which loads across the vectors have neighbours, a cache line of them where there
// are as many: lowering transposes them in registers. `loops` keeps what is left.
Outcome<std::vector<LoopRv>> CutTransposedTile(Schedule& sch, const PlainPlan& plan, const RowsAcross& across,
                                               std::vector<LoopRv>& loops, const Target& target, Choices& choices) {
  const auto iterator = static_cast<size_t>(across.iterator);
  const int64_t extent = plan.likely[iterator];
  std::vector<int64_t> sizes = {1};
  // The preferred size leaves no remainder, or one that is transposed too.
  size_t preferred = 0;
  for (int64_t size = across.part; size <= std::min(extent, across.part * LineBits(target) / kTransposedBits);
       size += across.part) {
    if (extent % size == 0 || extent % size >= across.part) preferred = sizes.size();
    sizes.push_back(size);
  }
  if (preferred == 0) preferred = sizes.size() - 1;
  TW_ASSIGN_OR_RETURN(const Choices::Pick size, choices.Take(sch, plan.name + ".across", sizes, preferred));
  if (size.value == 1) return std::vector<LoopRv>();
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> parts, sch.Split(loops[iterator], {Value(), size}));
  loops[iterator] = parts[0];
  return std::vector<LoopRv>{parts[1]};
}

// Removes from `loops`, the loops besides the vector axis, those that computed places do not depend on. Inside of the
// other loops they find the places in registers.
std::vector<LoopRv> TakeLoopsOfSamePlaces(const PlainPlan& plan, const BlockNode& block, std::vector<LoopRv>& loops) {
  const std::vector<bool> decides = IteratorsOfPlaces(block, plan.vector);
  std::vector<LoopRv> outer, inner;
  size_t place = 0;
  int64_t times = 1;
  for (size_t i = 0; i < block.iter_vars.size(); ++i) {
    if (static_cast<int>(i) == plan.vector) continue;
    const bool same = !decides.empty() && !decides[i];
    if (same) times *= plan.likely[i];
    (same ? inner : outer).push_back(loops[place++]);
  }
  if (times == 1) return {};
  loops = std::move(outer);
  return inner;
}

// Moves the loop that uses the places of lanes inside of the loop over vectors, the last of `loops`.
void PutSameLanesInside(const PlainPlan& plan, const BlockNode& block, std::vector<LoopRv>& loops) {
  const int same = IteratorOfSameLanes(block, plan.vector, plan.likely);
  if (same < 0 || loops.size() != plan.extents.size()) return;
  const auto loop = loops.begin() + same - (same > plan.vector ? 1 : 0);
  std::rotate(loop, loop + 1, loops.end());
}

}  // namespace

bool IsFlat(const PlainPlan& plan, const BlockNode& block) {
  if (plan.vector < 0 || !GoesInOrder(plan)) return false;
  const std::optional<int64_t> row = plan.extents[static_cast<size_t>(plan.vector)];
  if (!row || *row % plan.lanes == 0) return false;
  // Indices that are used as values or in conditions would have to be divided out again.
  return !UsesVarsAsValues(block.body);
}

Outcome<Done> ScheduleElementwise(Schedule& sch, BlockRv block, const PlainPlan& plan, const Target& target,
                                  Choices& choices) {
  TW_ASSIGN_OR_RETURN(std::vector<LoopRv> loops, LoopsByIterator(sch, block, "plain_rule"));
  if (plan.vector < 0 || plan.lanes < 2) return RunInParallel(sch, plan, loops, target, choices);
  const Block kept = RealizeOf(sch, block).block;
  const SharedLoads sharing = FindSharedLoads(plan, *kept);
  StencilTile tile = PreferredTile(plan, sharing, target);
  TW_ASSIGN_OR_RETURN(std::vector<LoopRv> inner, CutStencilTile(sch, plan, sharing, tile, loops, target, choices));
  if (const RowsAcross across = FindRowsAcross(plan, *kept); across.iterator >= 0 && sharing.iterators.empty()) {
    TW_ASSIGN_OR_RETURN(inner, CutTransposedTile(sch, plan, across, loops, target, choices));
    // Vectors that fill a line together.
    if (!inner.empty()) tile.vectors = std::max<int64_t>(1, LineBits(target) / target.cpu_part().vector_bits);
  }
  LoopRv vector = loops[static_cast<size_t>(plan.vector)];
  std::vector<LoopRv> of_same_places;
  if (sharing.iterators.empty() && IsFlat(plan, *kept)) {
    if (loops.size() > 1) {
      TW_ASSIGN_OR_RETURN(vector, sch.Fuse(loops));
    }
    loops.clear();
  } else {
    loops.erase(loops.begin() + plan.vector);
    if (inner.empty()) of_same_places = TakeLoopsOfSamePlaces(plan, *kept, loops);
  }
  const std::optional<int64_t> extent = ExtentOf(sch, vector);
  // A tile has independent results already; otherwise several vectors hide each other's latency.
  const bool of_own = inner.empty() && of_same_places.empty();
  const int64_t hiding = std::bit_floor(static_cast<uint64_t>(std::max(target.FmaLatency(), 1)));
  const int64_t preferred = of_own ? std::max(tile.vectors, hiding) : tile.vectors;
  TW_ASSIGN_OR_RETURN(const Choices::Pick vectors,
                      choices.Take(sch, plan.name + ".vectors", {1, 2, 4, 8},
                                   static_cast<size_t>(std::countr_zero(static_cast<uint64_t>(preferred)))));
  const int64_t width = vectors.value * plan.lanes;
  if (!extent || *extent > width) {
    // An axis of unknown length, or one with all of the work, is split into vectors.
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> parts, sch.Split(vector, {Value(), Value(width)}));
    loops.push_back(parts[0]);
    vector = parts[1];
    if (of_own) PutSameLanesInside(plan, *kept, loops);
  }
  loops.insert(loops.end(), of_same_places.begin(), of_same_places.end());
  std::vector<LoopRv> order = loops;
  order.insert(order.end(), inner.begin(), inner.end());
  order.push_back(vector);
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> now, sch.GetLoops(block));
  const bool in_order = std::ranges::equal(
      now, order, {}, [&](LoopRv loop) { return &LoopOf(sch, loop); }, [&](LoopRv loop) { return &LoopOf(sch, loop); });
  // What is in order needs no proof that it may be.
  if (!in_order) TW_RETURN_IF_ERROR(sch.Reorder(order));
  TW_RETURN_IF_ERROR(sch.Vectorize(vector));
  for (const LoopRv& loop : inner) TW_RETURN_IF_ERROR(sch.Unroll(loop));
  return RunInParallel(sch, plan, loops, target, choices);
}

}  // namespace tilewright
