#include "autoschedule/sketch/cpu/plain_rule.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>

#include "autoschedule/cost/machine_costs.h"
#include "autoschedule/movement/cpu/bypass_caches.h"
#include "autoschedule/program/access_strides.h"
#include "autoschedule/program/block_loops.h"
#include "autoschedule/program/fuse_consumers.h"
#include "autoschedule/program/sizes.h"
#include "autoschedule/tensorize/window_tile.h"
#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/functor.h"
#include "ir/substitute.h"
#include "schedule/core/assign_or_return.h"

namespace tilewright {
namespace {

using Done = std::monostate;

// Statements up to which loops are written out where windows have borders, for each of which lowering writes the tile once more.
constexpr int64_t kMostWithBorders = 160;
// Loads up to which it is asked which of them overlap.
constexpr size_t kMostStencilLoads = 64;
// The preferred tile of a stencil: at most so many planes and rows, and vectors.
struct StencilTile {
  int64_t planes, rows, vectors;
};
constexpr StencilTile kStencilTile = {4, 4, 1};
// Where lowering makes vectors that lie across two others of these; in a plane alone, where vectors of several rows
// overlap; and where at most those of one row do, and rows are long: lowering aligns their stores.
constexpr StencilTile kWideTile = {2, 2, 4}, kPlaneTile = {1, 4, 4}, kCrossTile = {6, 1, 8};

// The preferred number of vectors where nothing is shared.
constexpr int64_t kVectors = 4;

// What the rule finds out before it changes anything.
struct Plan {
  std::string name;
  std::vector<Access> accesses;
  std::vector<int> spatial, reduce;  // positions of iterators
  std::vector<std::optional<int64_t>> extents;
  std::vector<int64_t> likely;  // the same for estimates
  int vector = -1;              // the vector axis, or -1
  std::vector<size_t> picked;   // positions of accesses of which lanes are picked from the vectors loaded
  int lanes = 1;
  int64_t work = 0;  // instances, probably
};

// The widest type that the block computes with, in bits.
int ElementBits(const BlockNode& block) {
  int bits = 8;
  PreOrderExprs(block.body, [&](const Expr& e) {
    if (isa<LoadNode>(e) || isa<CastNode>(e)) bits = std::max(bits, e.dtype().bits());
    return true;
  });
  return std::max(bits, block.writes.empty() ? 8 : block.writes[0].buffer->dtype.bits());
}

// Whether `lanes` neighbours along the iterator are picked from as many elements in memory, or fewer: c // 4 * 4 + 1.
bool IsPicked(const Access& load, const Var& iterator, int lanes) {
  for (size_t d = 0; d + 1 < load.indices.size(); ++d) {
    if (UsesVar(load.indices[d], iterator)) return false;
  }
  arith::Analyzer analyzer;
  const Var vector("vector", iterator.dtype());
  const auto at = [&](int lane) { return Substitute(load.indices.back(), VarMap{{iterator, vector * lanes + lane}}); };
  for (int lane = 1; lane < lanes; ++lane) {
    const std::optional<int64_t> distance = AsInt(analyzer.Simplify(at(lane) - at(0)));
    if (!distance || *distance < 0 || *distance >= lanes) return false;
  }
  return true;
}

// Whether vectors along the iterator are stored, and loaded where the iterator is used, as neighbouring elements, or
// such as are picked from these.
bool IsVectorAxis(const Plan& plan, const BlockNode& block, int iterator) {
  const auto place = static_cast<size_t>(iterator);
  return std::ranges::all_of(plan.accesses, [&](const Access& access) {
    const std::optional<int64_t> stride = access.strides[place];
    if (access.store || stride) return stride == 1 || (!access.store && stride == 0);
    return IsPicked(access, block.iter_vars[place].var, plan.lanes);
  });
}

// Takes loads that lanes are picked from as loads of vectors.
void FindPicked(Plan& plan) {
  for (size_t i = 0; i < plan.accesses.size(); ++i) {
    std::optional<int64_t>& stride = plan.accesses[i].strides[static_cast<size_t>(plan.vector)];
    if (plan.accesses[i].store || stride) continue;
    stride = 1;
    plan.picked.push_back(i);
  }
}

Outcome<Plan> MakePlan(const Schedule& sch, BlockRv block, const Target& target) {
  const BlockRealizeNode& realize = RealizeOf(sch, block);
  const BlockNode& node = *realize.block;
  Plan plan{.name = node.name, .accesses = AccessesOf(node), .lanes = target.lanes(ElementBits(node))};
  plan.work = 1;
  const LikelySizes sizes = LikelySizes::Of(FunctionOf(sch, block));
  for (size_t i = 0; i < node.iter_vars.size(); ++i) {
    const IterVar& iter = node.iter_vars[i];
    plan.extents.push_back(ExtentOf(iter));
    plan.likely.push_back(sizes.Likely(iter.domain.extent));
    plan.work *= plan.likely.back();
    if (iter.kind != IterKind::kSpatial && iter.kind != IterKind::kReduce) {
      return Refusal{"plain_rule", "an iterator of {block0} is neither spatial nor reduce", {node.id}};
    }
    (iter.kind == IterKind::kSpatial ? plan.spatial : plan.reduce).push_back(static_cast<int>(i));
  }
  if (plan.spatial.empty()) return Refusal{"plain_rule", "{block0} has no spatial iterator", {node.id}};
  int stored_next = -1;  // stored along, whatever is loaded
  int strided = -1;      // and loaded with small strides
  for (int iterator : plan.spatial) {
    if (plan.extents[static_cast<size_t>(iterator)] == 1) continue;
    if (IsVectorAxis(plan, node, iterator)) plan.vector = iterator;
    if (IsStridedAxis(plan.accesses, static_cast<size_t>(iterator))) strided = iterator;
    const bool next = std::all_of(plan.accesses.begin(), plan.accesses.end(), [&](const Access& access) {
      return !access.store || access.strides[static_cast<size_t>(iterator)] == 1;
    });
    if (next) stored_next = iterator;
  }
  if (plan.vector < 0) plan.vector = plan.reduce.empty() ? stored_next : strided;
  if (plan.vector >= 0) {
    if (!plan.reduce.empty()) FindPicked(plan);
    const std::optional<int64_t> length = plan.extents[static_cast<size_t>(plan.vector)];
    if (length && *length > 1 && *length < plan.lanes) {
      plan.lanes = static_cast<int>(std::bit_ceil(static_cast<uint64_t>(*length)));
    }
  }
  return plan;
}

// Whether the iterators are the indices of every access, over whole buffers.
bool RunsThroughWholeBuffers(const Plan& plan, const BlockNode& block) {
  arith::Analyzer analyzer;
  return std::ranges::all_of(plan.accesses, [&](const Access& access) {
    if (access.indices.size() != block.iter_vars.size() || !access.buffer->strides.empty()) return false;
    for (size_t d = 0; d < access.indices.size(); ++d) {
      const IterVar& iter = block.iter_vars[d];
      if (!access.indices[d].same_as(iter.var)) return false;
      if (d > 0 && !analyzer.CanProveEqual(access.buffer->shape[d], iter.domain.extent)) return false;
    }
    return true;
  });
}

// Whether every access goes through its buffer in the order of the loops, or does not move at all.
bool GoesInOrder(const Plan& plan, const BlockNode& block) {
  const bool constant = std::ranges::all_of(plan.extents, [](const auto& extent) { return extent.has_value(); });
  if (!constant) return RunsThroughWholeBuffers(plan, block);
  const Access* store = nullptr;
  for (const Access& access : plan.accesses) store = access.store ? &access : store;
  if (store == nullptr) return false;
  int64_t step = 1;
  for (size_t i = plan.extents.size(); i-- > 0;) {
    if (*plan.extents[i] > 1 && store->strides[i] != step) return false;
    step *= *plan.extents[i];
  }
  for (const Access& access : plan.accesses) {
    for (size_t i = 0; i < plan.extents.size(); ++i) {
      if (*plan.extents[i] > 1 && access.strides[i] != store->strides[i]) return false;
    }
  }
  return true;
}

bool IsFlat(const Plan& plan, const BlockNode& block) {
  if (!GoesInOrder(plan, block)) return false;
  // Indices that are used as values or in conditions would have to be divided out again.
  bool only_in_indices = true;
  PreOrderExprs(block.body, [&](const Expr& e) {
    if (isa<LoadNode>(e)) return false;
    only_in_indices &= !isa<VarNode>(e);
    return only_in_indices;
  });
  return only_in_indices;
}

// Runs the outermost of `loops` in parallel: as few as give all cores about the same work, made one loop.
Outcome<Done> RunInParallel(Schedule& sch, const Plan& plan, std::vector<LoopRv> loops, const Target& target,
                            Choices& choices) {
  if (std::ranges::all_of(loops, [&](LoopRv loop) { return ExtentOf(sch, loop) == 1; })) return Done();
  const int64_t preferred =
      IsWorthThreads(plan.work, target) ? static_cast<int64_t>(ParallelLoops(sch, loops, target.cores)) : 0;
  std::vector<int64_t> candidates(LoopsToFuse(sch, loops) + 1);
  std::iota(candidates.begin(), candidates.end(), 0);
  TW_ASSIGN_OR_RETURN(const Choices::Pick parallel,
                      choices.Take(sch, plan.name + ".parallel_loops", candidates, static_cast<size_t>(preferred)));
  if (parallel.value == 0) return Done();
  TW_ASSIGN_OR_RETURN(const LoopRv threads, FuseFirst(sch, loops, static_cast<size_t>(parallel.value)));
  TW_RETURN_IF_REFUSED(ChooseStreaming(sch, threads, plan.name, target, choices));
  return sch.Parallel(threads);
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

// Iterators whose neighbouring instances load the same elements, as in stencils: a buffer is read at places that lie a
// constant distance apart along them.
struct SharedLoads {
  std::vector<int> iterators;  // spatial ones besides the vector axis, outermost first
  bool vector = false;         // the vector axis
  bool one_row = false;        // vectors overlap in one row at most: a cross
};
SharedLoads FindSharedLoads(const Plan& plan, const BlockNode& block) {
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
        if (!distance || *distance == 0) continue;
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

const StencilTile& PreferredTile(const Plan& plan, const SharedLoads& sharing, const Target& target) {
  if (!target.VectorsFillLines()) return kStencilTile;
  const int64_t length = plan.likely[static_cast<size_t>(plan.vector)];
  const bool long_rows = !sharing.iterators.empty() && length >= kCrossTile.vectors * plan.lanes;
  if (sharing.one_row && long_rows) return kCrossTile;
  if (!sharing.vector) return kStencilTile;
  return sharing.iterators.size() == 1 && !sharing.one_row ? kPlaneTile : kWideTile;
}

// Cuts small parts off the innermost iterators that share loads, two at most, so that registers serve several results.
// `loops` keeps what is left; the parts are returned, outermost first.
Outcome<std::vector<LoopRv>> CutStencilTile(Schedule& sch, const Plan& plan, const SharedLoads& sharing,
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
    // As large as leaves work for every core, and cuts the extent without rest where one does.
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

Outcome<Done> ScheduleElementwise(Schedule& sch, BlockRv block, const Plan& plan, const Target& target,
                                  Choices& choices) {
  TW_ASSIGN_OR_RETURN(std::vector<LoopRv> loops, LoopsByIterator(sch, block, "plain_rule"));
  if (plan.vector < 0 || plan.lanes < 2) return RunInParallel(sch, plan, loops, target, choices);
  const Block kept = RealizeOf(sch, block).block;
  const SharedLoads sharing = FindSharedLoads(plan, *kept);
  const StencilTile& tile = PreferredTile(plan, sharing, target);
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> inner,
                      CutStencilTile(sch, plan, sharing, tile, loops, target, choices));
  LoopRv vector = loops[static_cast<size_t>(plan.vector)];
  if (sharing.iterators.empty() && IsFlat(plan, *kept)) {
    if (loops.size() > 1) {
      TW_ASSIGN_OR_RETURN(vector, sch.Fuse(loops));
    }
    loops.clear();
  } else {
    loops.erase(loops.begin() + plan.vector);
  }
  const std::optional<int64_t> extent = ExtentOf(sch, vector);
  // A tile has its own independent results; elsewhere several vectors hide each other's latency.
  const int64_t preferred = inner.empty() ? std::max(tile.vectors, kVectors) : tile.vectors;
  TW_ASSIGN_OR_RETURN(const Choices::Pick vectors,
                      choices.Take(sch, plan.name + ".vectors", {1, 2, 4, 8},
                                   static_cast<size_t>(std::countr_zero(static_cast<uint64_t>(preferred)))));
  const int64_t width = vectors.value * plan.lanes;
  if (!extent || *extent > width) {
    // An axis of unknown length, or with the whole work on it, is cut into vectors.
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> parts, sch.Split(vector, {Value(), Value(width)}));
    loops.push_back(parts[0]);
    vector = parts[1];
  }
  std::vector<LoopRv> order = loops;
  order.insert(order.end(), inner.begin(), inner.end());
  order.push_back(vector);
  if (order.size() > 1) TW_RETURN_IF_REFUSED(sch.Reorder(order));
  TW_RETURN_IF_REFUSED(sch.Vectorize(vector));
  for (const LoopRv& loop : inner) TW_RETURN_IF_REFUSED(sch.Unroll(loop));
  return RunInParallel(sch, plan, loops, target, choices);
}

// What the rule does with a tile: the iterators it is cut from, and its candidates.
WindowReduction WindowOf(const Plan& plan) {
  WindowReduction window{.accesses = plan.accesses,
                         .reduce = plan.reduce,
                         .vector = plan.vector,
                         .picked = plan.picked,
                         .lanes = plan.lanes};
  window.extents = plan.likely;
  for (size_t i = plan.spatial.size(); i-- > 0;) {
    const int iterator = plan.spatial[i];
    if (iterator == plan.vector || plan.extents[static_cast<size_t>(iterator)] == 1) continue;
    (window.column < 0 ? window.column : window.row) = iterator;
    if (window.row >= 0) break;
  }
  return window;
}

Outcome<WindowTile> PickTile(Schedule& sch, const Plan& plan, const WindowReduction& window, const Target& target,
                             Choices& choices) {
  const std::vector<WindowTile> tiles = ChooseWindowTiles(target, window);
  std::vector<int64_t> indices(tiles.size());
  std::iota(indices.begin(), indices.end(), 0);
  TW_ASSIGN_OR_RETURN(const Choices::Pick tile, choices.Take(sch, plan.name + ".window_tile", indices, 0));
  return tiles[static_cast<size_t>(tile.value)];
}

// Puts what elementwise producers make of the block's inputs (padding) into buffers that the tile loads them to.
Outcome<std::vector<BlockRv>> StageProducers(Schedule& sch, BlockRv block) {
  std::vector<BlockRv> stages;
  TW_ASSIGN_OR_RETURN(const std::vector<BlockRv> producers, sch.GetProducers(block));
  for (const BlockRv& producer : producers) {
    const BlockNode& node = *RealizeOf(sch, producer).block;
    TW_ASSIGN_OR_RETURN(const std::vector<BlockRv> consumers, sch.GetConsumers(producer));
    if (consumers.size() != 1 || node.init || !isa<StoreNode>(node.body)) continue;
    const Outcome<BlockRv> stage =
        sch.Reindex(block, Value(node.writes[0].buffer->name), Value::List{}, /*skip_simplify=*/true);
    if (!stage.ok()) continue;
    TW_RETURN_IF_REFUSED(sch.ComputeInline(producer));
    TW_RETURN_IF_REFUSED(sch.SetScope(*stage, 0, "register"));
    stages.push_back(*stage);
  }
  return stages;
}

// Whether some load moves along one dimension with both iterators, as those over a window's rows and over an image's
// do.
bool MovesWith(const Plan& plan, int a, int b) {
  if (a < 0 || b < 0) return false;
  for (const Access& access : plan.accesses) {
    for (const std::vector<int64_t>& steps : access.steps) {
      if (!access.store && steps[static_cast<size_t>(a)] != 0 && steps[static_cast<size_t>(b)] != 0) return true;
    }
  }
  return false;
}

// The loops over a window as they are nested: that along the columns of a tile is the innermost, where what neighbours
// share is in registers; what no window moves along is between it and the others.
std::vector<int> NestReduction(const Plan& plan, const WindowReduction& window) {
  std::vector<int> outer, between, inner;
  for (int iterator : plan.reduce) {
    const bool moves = std::ranges::any_of(plan.spatial, [&](int other) { return MovesWith(plan, iterator, other); });
    (MovesWith(plan, iterator, window.column) ? inner : moves ? outer : between).push_back(iterator);
  }
  outer.insert(outer.end(), between.begin(), between.end());
  outer.insert(outer.end(), inner.begin(), inner.end());
  return outer;
}

// WriteOut with an innermost loop of whole vectors, whose conditions are those of the tile's.
Outcome<Done> WriteVectors(Schedule& sch, BlockRv block, LoopRv outer, int64_t width) {
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, LoopsInside(sch, block, outer));
  const std::optional<int64_t> extent = loops.empty() ? std::nullopt : ExtentOf(sch, loops.back());
  if (extent && *extent < width) {
    TW_RETURN_IF_REFUSED(sch.Split(loops.back(), {Value(), Value(width)}));
  }
  return WriteOut(sch, block, outer, true);
}

// The loop that gives all cores the same work by itself, where the outermost one does not; else 0. Loops that are made
// one hide the borders of an image.
size_t AloneInParallel(const std::vector<int64_t>& extents, int cores) {
  if (ParallelLoops(extents, cores) <= 1 || extents[0] == 1) return 0;
  for (size_t i = 1; i < extents.size(); ++i) {
    if (extents[i] % cores == 0 || extents[i] >= 8 * cores) return i;
  }
  return 0;
}

// What all rows and columns load alike, in bytes: weights.
int64_t BytesOfWeights(const Plan& plan, const WindowReduction& window) {
  int64_t bytes = 0;
  for (const Access& access : plan.accesses) {
    const auto moves = [&](int iterator) {
      return iterator >= 0 && access.strides[static_cast<size_t>(iterator)] != 0;
    };
    if (access.store || moves(window.row) || moves(window.column)) continue;
    bytes += BytesOf(access.buffer);
  }
  return bytes;
}

// Where the loop over the vectors of tiles runs.
enum class VectorLoop {
  kInRows,     // outside of that over columns: the weights of a vector serve a whole row of tiles
  kOutermost,  // where rows and columns alone would leave cores idle
  kInColumns,  // inside, where all weights stay near: what an element's neighbours along the vector axis need follows
               // it
};

// The loops of a tiled reduction, outermost first; those inside of a tile are as long as its sides.
struct TileLoops {
  std::vector<LoopRv> outer, reduce, tile;
};

Outcome<TileLoops> MakeTileLoops(Schedule& sch, BlockRv block, const Plan& plan, const WindowReduction& window,
                                 const WindowTile& tile, const Target& target, Choices& choices) {
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, LoopsByIterator(sch, block, "plain_rule"));
  TileLoops result;
  std::vector<LoopRv>& outer = result.outer;
  std::vector<LoopRv> columns, vectors;
  const auto cut = [&](int iterator, int64_t size, std::vector<LoopRv>& rest) -> Outcome<Done> {
    const LoopRv loop = loops[static_cast<size_t>(iterator)];
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> parts, sch.Split(loop, {Value(), Value(size)}));
    rest.push_back(parts[0]);
    result.tile.push_back(parts[1]);
    return Done();
  };
  for (int iterator : plan.spatial) {
    if (iterator == plan.vector) continue;
    if (iterator == window.row) {
      TW_RETURN_IF_REFUSED(cut(iterator, tile.rows, outer));
    } else if (iterator == window.column) {
      TW_RETURN_IF_REFUSED(cut(iterator, tile.columns, columns));
    } else {
      outer.push_back(loops[static_cast<size_t>(iterator)]);
    }
  }
  // Lanes beyond the end of a group would be those of the next one.
  int64_t lanes = tile.vectors * plan.lanes;
  const BlockNode& node = *RealizeOf(sch, block).block;
  const bool whole = node.writes[0].region.back().min.same_as(node.iter_vars[static_cast<size_t>(plan.vector)].var);
  const int64_t length = ExtentOf(sch, loops[static_cast<size_t>(plan.vector)]).value_or(lanes);
  if (!whole && length % lanes != 0) lanes = length;
  TW_RETURN_IF_REFUSED(cut(plan.vector, lanes, vectors));
  std::vector<int64_t> extents;
  for (const LoopRv& loop : outer) extents.push_back(LikelyExtent(sch, loop));
  if (const auto alone = static_cast<std::ptrdiff_t>(AloneInParallel(extents, target.cores)); alone != 0) {
    std::rotate(outer.begin(), outer.begin() + alone, outer.begin() + alone + 1);
    std::rotate(extents.begin(), extents.begin() + alone, extents.begin() + alone + 1);
  }
  for (const LoopRv& loop : columns) extents.push_back(LikelyExtent(sch, loop));
  const int64_t tiles = std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>());
  VectorLoop preferred = VectorLoop::kOutermost;
  // Cores share rows and columns rather than the lines of vectors.
  if (KeepsCoresBusy(tiles, target.cores)) {
    const bool weights_stay = BytesOfWeights(plan, window) <= target.Nearest().bytes * 3 / 8;
    preferred = weights_stay ? VectorLoop::kInColumns : VectorLoop::kInRows;
  }
  TW_ASSIGN_OR_RETURN(const Choices::Pick place,
                      choices.Take(sch, plan.name + ".vector_loop", {0, 1, 2}, static_cast<size_t>(preferred)));
  const auto rows = static_cast<std::ptrdiff_t>(outer.size());
  outer.insert(outer.end(), columns.begin(), columns.end());
  const std::ptrdiff_t places[] = {rows, 0, static_cast<std::ptrdiff_t>(outer.size())};
  outer.insert(outer.begin() + places[place.value], vectors[0]);
  for (int iterator : NestReduction(plan, window)) result.reduce.push_back(loops[static_cast<size_t>(iterator)]);
  std::vector<LoopRv> order = outer;
  order.insert(order.end(), result.reduce.begin(), result.reduce.end());
  order.insert(order.end(), result.tile.begin(), result.tile.end());
  TW_RETURN_IF_REFUSED(sch.Reorder(order));
  return result;
}

// Floats of 8 bits are converted and computed with in 32 bits: one vector of them is several there.
int64_t StatementsOfAVector(const Plan& plan) {
  const bool narrow = std::ranges::any_of(plan.accesses, [](const Access& access) {
    return access.buffer->dtype.is_float() && access.buffer->dtype.bits() == 8;
  });
  return narrow ? DataType::Float(32).bits() / 8 : 1;
}

// How many of the loops over a window stay loops; those inside of them are written out. Not that over its rows when the
// image's borders would multiply too much code: there a tile has one row, and all of what an iteration loads lies in
// the image or outside of it.
size_t LoopsNotWrittenOut(const Schedule& sch, const std::vector<LoopRv>& reduce, const Plan& plan,
                          const WindowReduction& window, const WindowTile& tile) {
  const std::vector<int> iterators = NestReduction(plan, window);
  size_t rolled = reduce.size();
  for (int64_t written = tile.rows * tile.columns * tile.vectors * StatementsOfAVector(plan); rolled > 0; --rolled) {
    written *= ExtentOf(sch, reduce[rolled - 1]).value_or(kMostWrittenOut);
    const bool many_borders = window.most_statements > 0 && MovesWith(plan, iterators[rolled - 1], window.row);
    if (written > (many_borders ? kMostWithBorders : kMostWrittenOut)) break;
  }
  // Which lanes are picked must be constant.
  for (size_t picked : plan.picked) {
    const std::vector<int64_t>& along = plan.accesses[picked].steps.back();
    const auto picks = [&](int iterator) { return along[static_cast<size_t>(iterator)] != 0; };
    rolled = std::min(rolled, static_cast<size_t>(std::ranges::find_if(iterators, picks) - iterators.begin()));
  }
  return rolled;
}

Outcome<Done> ScheduleTiled(Schedule& sch, BlockRv block, const Plan& plan, const Target& target, Choices& choices) {
  TW_ASSIGN_OR_RETURN(const std::vector<BlockRv> stages, StageProducers(sch, block));
  TW_ASSIGN_OR_RETURN(const BlockRv write_back, sch.CacheWrite(block, 0, "register"));
  FuseConsumers(sch, write_back);
  WindowReduction window = WindowOf(plan);
  if (!stages.empty()) window.most_statements = kMostWithBorders;
  TW_ASSIGN_OR_RETURN(const WindowTile tile, PickTile(sch, plan, window, target, choices));
  TW_ASSIGN_OR_RETURN(const TileLoops loops, MakeTileLoops(sch, block, plan, window, tile, target, choices));
  const LoopRv tile_loop = loops.outer.back(), stage_loop = loops.reduce.back();
  TW_RETURN_IF_REFUSED(sch.ReverseComputeAt(write_back, tile_loop));
  const size_t rolled = LoopsNotWrittenOut(sch, loops.reduce, plan, window, tile);
  for (const BlockRv& stage : stages) TW_RETURN_IF_REFUSED(sch.ComputeAt(stage, stage_loop));
  TW_ASSIGN_OR_RETURN(const BlockRv init, sch.DecomposeReduction(block, loops.reduce[0]));
  TW_RETURN_IF_REFUSED(WriteOut(sch, init, tile_loop, true));
  TW_RETURN_IF_REFUSED(WriteVectors(sch, write_back, tile_loop, tile.vectors * plan.lanes));
  for (const BlockRv& stage : stages) {
    TW_RETURN_IF_REFUSED(WriteVectors(sch, stage, stage_loop, tile.vectors * plan.lanes));
  }
  TW_RETURN_IF_REFUSED(WriteOut(sch, block, stage_loop, true));
  for (size_t i = loops.reduce.size(); i-- > rolled;) TW_RETURN_IF_REFUSED(sch.Unroll(loops.reduce[i]));
  return RunInParallel(sch, plan, loops.outer, target, choices);
}

}  // namespace

Outcome<Done> SchedulePlain(Schedule& sch, BlockRv block, const Target& target, Choices& choices) {
  TW_ASSIGN_OR_RETURN(const Plan plan, MakePlan(sch, block, target));
  if (plan.reduce.empty()) return ScheduleElementwise(sch, block, plan, target, choices);
  if (plan.vector >= 0 && plan.lanes > 1) return ScheduleTiled(sch, block, plan, target, choices);
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, LoopsByIterator(sch, block, "plain_rule"));
  std::vector<LoopRv> spatial;
  for (int iterator : plan.spatial) spatial.push_back(loops[static_cast<size_t>(iterator)]);
  std::vector<LoopRv> order = spatial;
  for (int iterator : plan.reduce) order.push_back(loops[static_cast<size_t>(iterator)]);
  if (order.size() > 1) TW_RETURN_IF_REFUSED(sch.Reorder(order));
  return RunInParallel(sch, plan, spatial, target, choices);
}

void KeepLoops(Schedule& sch, BlockRv block) {
  const Outcome<std::vector<LoopRv>> loops = sch.GetLoops(block);
  if (!loops.ok() || loops->empty()) return;
  const std::vector<Access> accesses = AccessesOf(*RealizeOf(sch, block).block);
  const BlockRealizeNode& realize = RealizeOf(sch, block);
  const Var innermost = LoopOf(sch, loops->back()).var;
  for (size_t i = 0; i < realize.bindings.size(); ++i) {
    const bool along = std::all_of(accesses.begin(), accesses.end(), [&](const Access& access) {
      return access.strides[i] == 1 || (!access.store && access.strides[i] == 0);
    });
    if (along && realize.bindings[i].same_as(innermost)) {
      if (sch.Vectorize(loops->back()).ok()) break;
    }
  }
  for (const LoopRv& loop : *loops) {
    if (LoopOf(sch, loop).kind != ForKind::kSerial || sch.Parallel(loop).ok()) return;
  }
}

}  // namespace tilewright
