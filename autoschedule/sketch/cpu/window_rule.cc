#include "autoschedule/sketch/cpu/window_rule.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "autoschedule/cost/machine_costs.h"
#include "autoschedule/movement/auto_copy.h"
#include "autoschedule/movement/cpu/operand_stages.h"
#include "autoschedule/movement/cpu/stage_layouts.h"
#include "autoschedule/movement/cpu/stored_phases.h"
#include "autoschedule/program/block_loops.h"
#include "autoschedule/program/fuse_consumers.h"
#include "autoschedule/program/sizes.h"
#include "autoschedule/tensorize/window_tile.h"
#include "base/status_macros.h"
#include "schedule/layout/hoist_prepack.h"

namespace tilewright {
namespace {

using Done = std::monostate;

// Most statements of unrolled loops where windows have borders; lowering repeats the tile for each border.
constexpr int64_t kMostWithBorders = 160;

// The iterators that a tile is split from, and its candidates. `phase`: the columns, or -1.
WindowReduction WindowOf(const PlainPlan& plan, int phase) {
  WindowReduction window{.accesses = plan.accesses,
                         .reduce = plan.reduce,
                         .vector = plan.vector,
                         .picked = plan.picked,
                         .lanes = plan.lanes,
                         .whole_columns = phase >= 0};
  window.extents = plan.likely;
  window.column = phase;
  for (size_t i = plan.spatial.size(); i-- > 0;) {
    const int iterator = plan.spatial[i];
    if (iterator == plan.vector || iterator == phase || plan.extents[static_cast<size_t>(iterator)] == 1) continue;
    (window.column < 0 ? window.column : window.row) = iterator;
    if (window.row >= 0) break;
  }
  return window;
}

Outcome<WindowTile> PickTile(Schedule& sch, const PlainPlan& plan, const WindowReduction& window, const Target& target,
                             Choices& choices) {
  const std::vector<WindowTile> tiles = ChooseWindowTiles(target, window);
  std::vector<int64_t> indices(tiles.size());
  std::iota(indices.begin(), indices.end(), 0);
  TW_ASSIGN_OR_RETURN(const Choices::Pick tile, choices.Take(sch, plan.name + ".window_tile", indices, 0));
  return tiles[static_cast<size_t>(tile.value)];
}

// Lets the block read the results of elementwise producers of its inputs (padding) at its iterators.
Outcome<std::vector<BlockRv>> StageProducers(Schedule& sch, BlockRv block) {
  std::vector<BlockRv> stages;
  TW_ASSIGN_OR_RETURN(const std::vector<BlockRv> producers, sch.GetProducers(block));
  for (const BlockRv& producer : producers) {
    const BlockNode& node = *RealizeOf(sch, producer).block;
    TW_ASSIGN_OR_RETURN(const std::vector<BlockRv> consumers, sch.GetConsumers(producer));
    if (consumers.size() != 1 || node.init || !isa<StoreNode>(node.body) || IsScheduled(sch, producer)) continue;
    // A producer that is also a result stays in its place.
    Schedule attempt = sch;
    const Outcome<BlockRv> stage = ReindexRead(attempt, block, node.writes[0].buffer);
    if (!stage.ok() || !attempt.ComputeInline(producer).ok()) continue;
    sch = std::move(attempt);
    stages.push_back(*stage);
  }
  return stages;
}

// Whether some load moves along one dimension with both iterators, such as those over rows of a window and of an image.
bool MovesWith(const PlainPlan& plan, int a, int b) {
  if (a < 0 || b < 0) return false;
  for (const Access& access : plan.accesses) {
    for (const std::vector<int64_t>& steps : access.steps) {
      if (!access.store && steps[static_cast<size_t>(a)] != 0 && steps[static_cast<size_t>(b)] != 0) return true;
    }
  }
  return false;
}

// The nesting of loops over a window: the loop along the columns of a tile is innermost, where registers hold what
// adjacent columns share; loops that no window moves along are between it and the others.
std::vector<int> NestReduction(const PlainPlan& plan, const WindowReduction& window) {
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
    TW_RETURN_IF_ERROR(sch.Split(loops.back(), {Value(), Value(width)}));
  }
  return WriteOut(sch, block, outer, true);
}

// The loop that alone gives all cores the same work, if the outermost one does not; else 0. Fused loops would hide the
// borders of an image.
size_t AloneInParallel(const std::vector<int64_t>& extents, int cores) {
  if (ParallelLoops(extents, cores) <= 1 || extents[0] == 1) return 0;
  for (size_t i = 1; i < extents.size(); ++i) {
    if (KeepsCoresBusyThroughout(extents[i], cores)) return i;
  }
  return 0;
}

// The bytes that all rows and columns share: weights.
int64_t BytesOfWeights(const PlainPlan& plan, const WindowReduction& window) {
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

// The place of the loop over the vectors of tiles.
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

Outcome<TileLoops> MakeTileLoops(Schedule& sch, BlockRv block, const PlainPlan& plan, const WindowReduction& window,
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
      TW_RETURN_IF_ERROR(cut(iterator, tile.rows, outer));
    } else if (iterator == window.column) {
      TW_RETURN_IF_ERROR(cut(iterator, tile.columns, columns));
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
  TW_RETURN_IF_ERROR(cut(plan.vector, lanes, vectors));
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
  TW_RETURN_IF_ERROR(sch.Reorder(order));
  return result;
}

// Floats of 8 bits are converted and computed with in 32 bits: one vector of them is several there.
int64_t StatementsOfAVector(const PlainPlan& plan) {
  const bool narrow = std::ranges::any_of(plan.accesses, [](const Access& access) {
    return access.buffer->dtype.is_float() && access.buffer->dtype.bits() == 8;
  });
  return narrow ? DataType::Float(32).bits() / 8 : 1;
}

// The number of loops over a window that are not unrolled. The loop over its rows stays if the image's borders would
// multiply too much code: a tile has one row then, and an iteration loads either from inside of the image or from
// outside.
size_t LoopsNotWrittenOut(const Schedule& sch, const std::vector<LoopRv>& reduce, const PlainPlan& plan,
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

// The iterators of `block` that index the buffer that `stage` writes for it; empty if some index is another expression.
std::vector<int> DimsOf(const Schedule& sch, BlockRv block, BlockRv stage) {
  const BlockNode& node = *RealizeOf(sch, block).block;
  std::vector<int> dims;
  for (const Range& range : ReadOf(node, RealizeOf(sch, stage).block->writes[0].buffer).region) {
    const auto found =
        std::ranges::find_if(node.iter_vars, [&](const IterVar& iter) { return range.min.same_as(iter.var); });
    if (found == node.iter_vars.end()) return {};
    dims.push_back(static_cast<int>(found - node.iter_vars.begin()));
  }
  return dims;
}

// Whether a constant larger than L1 is read in vectors of `width` elements that lie apart, each of which is used once.
bool LiesApart(const Schedule& sch, BlockRv block, const PlainPlan& plan, const Access& access, int64_t width,
               const Target& target) {
  const auto vector = static_cast<size_t>(plan.vector);
  const int64_t bytes = BytesOf(access.buffer);
  if (access.store || access.strides[vector] != 1 || bytes <= target.Nearest().bytes ||
      !IsConstantParam(FunctionOf(sch, block), access.buffer)) {
    return false;
  }
  int64_t instances = 1;
  bool apart = false;
  for (size_t i = 0; i < plan.extents.size(); ++i) {
    const std::optional<int64_t> stride = access.strides[i], extent = plan.extents[i];
    if (!stride || !extent) return false;
    if (*stride != 0) instances *= *extent;
    apart |= std::ranges::find(plan.reduce, static_cast<int>(i)) != plan.reduce.end() && *stride > width;
  }
  return apart && instances * access.buffer->dtype.bytes() == bytes;
}

// A constant lies in panels as wide as a tile, in the order in which it reads them.
Outcome<Done> PackPanels(Schedule& sch, BlockRv block, const PlainPlan& plan, const Buffer& constant, int64_t width,
                         const Target& target) {
  TW_ASSIGN_OR_RETURN(const BlockRv stage, ReindexRead(sch, block, constant));
  const std::vector<int> dims = DimsOf(sch, block, stage);
  if (std::ranges::find(dims, plan.vector) == dims.end()) {
    return Refusal{
        "plain_rule", "{block0} does not read a constant at its iterators", {RealizeOf(sch, block).block->id}};
  }
  TW_RETURN_IF_ERROR(ReorderStage(sch, stage, dims, {plan.vector}, static_cast<int>(width)));
  return PackAhead(sch, stage, target);
}

// Reads of short pieces that are far apart are slower than the caches and the memory are.
void PackConstants(Schedule& sch, BlockRv block, const PlainPlan& plan, int64_t width, const Target& target) {
  for (const Access& access : plan.accesses) {
    if (!LiesApart(sch, block, plan, access, width, target)) continue;
    Schedule attempt = sch;
    if (PackPanels(attempt, block, plan, access.buffer, width, target).ok()) sch = std::move(attempt);
  }
}

// Computes consumers where results are stored, unless they use only a part; returns whether it did.
bool FuseWholeConsumers(Schedule& sch, BlockRv write_back) {
  const Schedule unfused = sch;
  FuseConsumers(sch, write_back);
  const bool is_cut = !IsTrue(RealizeOf(sch, write_back).predicate);
  if (is_cut) sch = unfused;
  return is_cut;
}

// The load that moves across adjacent outputs, if there is exactly one.
const Access* AccessAcross(const PlainPlan& plan) {
  const auto along = static_cast<size_t>(plan.stored);
  const Access* across = nullptr;
  for (const Access& access : plan.accesses) {
    const std::optional<int64_t> stride = access.strides[along];
    if (access.store || stride == 0 || stride == 1) continue;
    const bool known = std::ranges::all_of(access.strides, [](const auto& each) { return each.has_value(); });
    const bool other =
        across != nullptr && (!access.buffer.same_as(across->buffer) || access.strides != across->strides);
    if (other || !known) return nullptr;
    across = &access;
  }
  return across;
}

// In a nest of its own, which threads share where that pays.
Outcome<Done> TurnAhead(Schedule& sch, BlockRv stage, const Target& target) {
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, sch.GetLoops(stage));
  int64_t elements = 1;
  for (const LoopRv& loop : loops) elements *= LikelyExtent(sch, loop);
  TW_RETURN_IF_ERROR(PackPanel(sch, stage, loops, target));
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> packing, sch.GetLoops(stage));
  if (IsWorthThreads(elements, target) || !IsScheduled(sch, stage)) return sch.Parallel(packing[0]);
  return Done();
}

}  // namespace

bool ReadsAcross(const PlainPlan& plan) {
  if (plan.vector >= 0 || plan.stored < 0 || plan.reduce.empty() || plan.lanes < 2) return false;
  if (plan.likely[static_cast<size_t>(plan.stored)] < plan.lanes) return false;
  const Access* across = AccessAcross(plan);
  if (across == nullptr) return false;
  int64_t uses = 1;
  for (const int iterator : plan.spatial) {
    const auto i = static_cast<size_t>(iterator);
    if (across->strides[i] == 0) uses *= plan.likely[i];
  }
  return uses >= plan.lanes;
}

Outcome<PlainPlan> TurnOperand(Schedule& sch, BlockRv block, const PlainPlan& plan, const Target& target) {
  TW_ASSIGN_OR_RETURN(const BlockRv stage, ReindexRead(sch, block, AccessAcross(plan)->buffer));
  TW_RETURN_IF_ERROR(ReorderStage(sch, stage, DimsOf(sch, block, stage), {plan.stored}));
  TW_RETURN_IF_ERROR(ReadsConstants(sch, stage) ? PackAhead(sch, stage, target) : TurnAhead(sch, stage, target));
  return MakePlainPlan(sch, block, target);
}

std::optional<StagedPhases> StagePhases(Schedule& sch, BlockRv block, const Target& target) {
  const Block kept = RealizeOf(sch, block).block;
  const std::optional<StoredPhases> phases = StoredPhasesOf(*kept);
  if (!phases) return std::nullopt;
  Schedule attempt = sch;
  const Outcome<BlockRv> write_back = StageOutput(attempt, block, "register");
  const auto phase = static_cast<int>(phases->phase), along = static_cast<int>(phases->along);
  std::vector<int> dims;
  for (size_t i = 0; i < kept->iter_vars.size(); ++i) {
    if (kept->iter_vars[i].kind == IterKind::kSpatial) dims.push_back(static_cast<int>(i));
  }
  if (!write_back.ok() || !ReorderStage(attempt, block, dims, {phase, along}).ok()) return std::nullopt;
  const Outcome<PlainPlan> plan = MakePlainPlan(attempt, block, target);
  if (!plan.ok() || plan->vector != along || plan->lanes < 2) return std::nullopt;
  sch = std::move(attempt);
  return StagedPhases{phase, *write_back};
}

Outcome<Done> ScheduleWindows(Schedule& sch, BlockRv block, const PlainPlan& plan, const Target& target,
                              Choices& choices, const std::optional<StagedPhases>& phases) {
  TW_ASSIGN_OR_RETURN(const std::vector<BlockRv> stages, StageProducers(sch, block));
  BlockRv write_back;
  if (phases) {
    write_back = phases->write_back;
    // The phases, which are an iterator behind that of the vectors, lie outside of these.
    for (const BlockRv& stage : stages) {
      const std::vector<int> dims = DimsOf(sch, block, stage);
      if (std::ranges::find(dims, plan.vector) == dims.end()) continue;
      TW_RETURN_IF_ERROR(ReorderStage(sch, stage, dims, {plan.vector}));
    }
  } else {
    TW_ASSIGN_OR_RETURN(write_back, sch.CacheWrite(block, 0, "register"));
  }
  const bool is_cut = FuseWholeConsumers(sch, write_back);
  if (phases) FuseStoredPhases(sch, write_back);
  WindowReduction window = WindowOf(plan, phases ? phases->phase : -1);
  if (!stages.empty()) window.most_statements = kMostWithBorders;
  TW_ASSIGN_OR_RETURN(const WindowTile tile, PickTile(sch, plan, window, target, choices));
  PackConstants(sch, block, plan, tile.vectors * plan.lanes, target);
  TW_ASSIGN_OR_RETURN(const TileLoops loops, MakeTileLoops(sch, block, plan, window, tile, target, choices));
  const LoopRv tile_loop = loops.outer.back(), stage_loop = loops.reduce.back();
  TW_RETURN_IF_ERROR(sch.ReverseComputeAt(write_back, tile_loop));
  const size_t rolled = LoopsNotWrittenOut(sch, loops.reduce, plan, window, tile);
  std::vector<AutoCopy> copies;
  for (const BlockRv& stage : stages) {
    TW_ASSIGN_OR_RETURN(const AutoCopy copy, ReadStageAt(sch, block, stage, stage_loop, "register"));
    TW_RETURN_IF_ERROR(Expand(sch, copy));
    copies.push_back(copy);
  }
  TW_ASSIGN_OR_RETURN(const BlockRv init, sch.DecomposeReduction(block, loops.reduce[0]));
  TW_RETURN_IF_ERROR(WriteOut(sch, init, tile_loop, true));
  const int64_t phase_count = phases ? *plan.extents[static_cast<size_t>(phases->phase)] : 1;
  TW_RETURN_IF_ERROR(WriteVectors(sch, write_back, tile_loop, tile.vectors * plan.lanes * phase_count));
  for (const AutoCopy& copy : copies) {
    TW_RETURN_IF_ERROR(WriteVectors(sch, copy.block, copy.loop, tile.vectors * plan.lanes));
  }
  TW_RETURN_IF_ERROR(WriteOut(sch, block, stage_loop, true));
  for (size_t i = loops.reduce.size(); i-- > rolled;) TW_RETURN_IF_ERROR(sch.Unroll(loops.reduce[i]));
  TW_RETURN_IF_ERROR(RunInParallel(sch, plan, loops.outer, target, choices));
  if (is_cut) FuseConsumers(sch, write_back);
  return Done();
}

}  // namespace tilewright
