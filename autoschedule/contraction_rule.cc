#include "autoschedule/contraction_rule.h"

#include <algorithm>
#include <numeric>

#include "autoschedule/access_strides.h"
#include "autoschedule/block_loops.h"
#include "autoschedule/bypass_caches.h"
#include "autoschedule/contraction_plan.h"
#include "autoschedule/fuse_consumers.h"
#include "autoschedule/fuse_depth.h"
#include "autoschedule/operand_stages.h"
#include "autoschedule/stage_layouts.h"
#include "ir/analysis.h"
#include "schedule/assign_or_return.h"
#include "schedule/hoist_prepack.h"

namespace tilewright {
namespace {

using Done = std::monostate;
// Instructions of a tile that holds the whole depth. Borders are written once more each.
constexpr int64_t kMostSteps = 400;
// Groups of a tile whose rows are flipped: flipped groups that several rows of a deeper one share would be kept in
// registers that there are not.
constexpr int kFlippedGroups = 2;
// Pages of a panel up to which it is read where it lies.
constexpr int64_t kPageBytes = 4096, kMostPages = 512;

// Positive divisors, ascending.
std::vector<int64_t> Divisors(int64_t n) {
  std::vector<int64_t> divisors;
  for (int64_t d = 1; d <= n; ++d) {
    if (n % d == 0) divisors.push_back(d);
  }
  return divisors;
}

// The index of the depth that a tile takes when nothing was measured. `padded`: the whole depth where it was padded.
size_t PreferredDepth(const TileInstruction& instruction, const std::vector<int64_t>& depths,
                      std::optional<int64_t> padded) {
  // A padded group among a few is known to be one where the tile holds them all.
  const int64_t preferred = instruction.flips() ? kFlippedGroups * instruction.group : padded.value_or(depths[0]);
  const auto place = std::find(depths.begin(), depths.end(), preferred);
  return place == depths.end() ? 0 : static_cast<size_t>(place - depths.begin());
}

std::vector<int64_t> Iota(int64_t first, int64_t last) {
  std::vector<int64_t> values(static_cast<size_t>(last - first + 1));
  std::iota(values.begin(), values.end(), first);
  return values;
}

// The innermost loop of a block, in parts of `group`.
Outcome<Done> SplitInnermost(Schedule& sch, BlockRv block, int group) {
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, sch.GetLoops(block));
  if (ExtentOf(sch, loops.back()) == group) return Done();
  TW_RETURN_IF_REFUSED(sch.Split(loops.back(), {Value(), group}));
  return Done();
}

// Whether a stage can run ahead of time.
bool ReadsConstants(const Schedule& sch, BlockRv stage) {
  return std::ranges::all_of(RealizeOf(sch, stage).block->reads, [&](const BufferRegion& read) {
    return IsConstantParam(FunctionOf(sch, stage), read.buffer);
  });
}

// Whether a stage only copies, and neighbours along the dimension that it writes are next to each other where it copies
// from.
bool CopiesAlong(const BlockNode& stage, size_t dim) {
  const auto* store = dyn_cast<StoreNode>(stage.body);
  if (store == nullptr || !isa<LoadNode>(store->value)) return false;
  for (size_t i = 0; i < stage.iter_vars.size(); ++i) {
    if (!store->indices[dim].same_as(stage.iter_vars[i].var)) continue;
    return std::ranges::all_of(AccessesOf(stage),
                               [&](const Access& access) { return access.store || access.strides[i] == 1; });
  }
  return false;
}

// Whether a panel of columns is used so often that packing it pays: reading it where it lies touches as many pages as
// it has rows each time.
bool WorthPacking(const ContractionPlan& plan, const RegisterTile& tile, const BlockRealizeNode& realize) {
  int64_t uses = 1, panel_rows = 1, bytes = plan.contraction.column_operand->dtype.bytes();
  for (int row : plan.contraction.rows) uses *= IteratorExtent(realize, row);
  for (int inner : plan.contraction.inner) panel_rows *= IteratorExtent(realize, inner);
  for (int column : plan.contraction.columns) bytes *= IteratorExtent(realize, column);
  return uses > tile.rows && std::min(panel_rows, panel_rows * bytes / kPageBytes) > kMostPages;
}

// Whether tiles can be stored where the output belongs: they divide it, and nothing else is computed from them.
bool IsWrittenInPlace(Schedule& sch, BlockRv block, const ContractionPlan& plan, const RegisterTile& tile) {
  const BlockRealizeNode& realize = RealizeOf(sch, block);
  if (IteratorExtent(realize, plan.row) % tile.rows != 0) return false;
  if (IteratorExtent(realize, plan.column) % (tile.vectors * plan.instruction.lanes) != 0) return false;
  const std::vector<Range>& written = realize.block->writes[0].region;
  // Rows and columns of a tile are the last dimensions of more than one element.
  const auto var = [&](int iterator) { return realize.block->iter_vars[static_cast<size_t>(iterator)].var; };
  if (!written.back().min.same_as(var(plan.column))) return false;
  const Outcome<std::vector<BlockRv>> consumers = sch.GetConsumers(block);
  return consumers.ok() && consumers->empty();
}

// What a tile reads of rows, and what the columns of one element of the batch are. Windows that overlap in memory read
// much the same.
int64_t BytesOfRows(const BlockRealizeNode& realize, const Buffer& operand, const RegisterTile& tile,
                    const ContractionPlan& plan) {
  const Contraction& contraction = plan.contraction;
  int64_t bytes = int64_t{tile.rows} * std::max(tile.row_tiles, 1) * operand->dtype.bytes();
  const std::vector<Range>& region = ReadOf(*realize.block, operand).region;
  const auto overlaps = [&](int iterator) {
    return std::ranges::any_of(region, [&](const Range& range) {
      const auto uses = [&](int other) {
        return UsesVar(range.min, realize.block->iter_vars[static_cast<size_t>(other)].var);
      };
      return uses(iterator) && std::ranges::any_of(contraction.rows, uses);
    });
  };
  for (int iterator : contraction.inner) {
    if (plan.row_place == RowPlace::kPacked || !overlaps(iterator)) bytes *= IteratorExtent(realize, iterator);
  }
  return bytes;
}
int64_t BytesOfColumns(const BlockRealizeNode& realize, const Contraction& contraction) {
  int64_t bytes = contraction.column_operand->dtype.bytes();
  for (int iterator : contraction.inner) bytes *= IteratorExtent(realize, iterator);
  for (int iterator : contraction.columns) bytes *= IteratorExtent(realize, iterator);
  return bytes;
}

// After how many of the loops over rows, of these extents, those over columns move the least data from beyond a cache
// of `near_bytes`.
size_t PlaceOfColumns(const std::vector<int64_t>& extents, int64_t tile_bytes, int64_t column_bytes,
                      int64_t column_tiles, int64_t near_bytes) {
  int64_t inside = tile_bytes, outside = 1;
  for (const int64_t extent : extents) inside *= extent;
  const int64_t row_bytes = inside;
  size_t best = 0;
  int64_t least = 0;
  for (size_t place = 0; place <= extents.size(); ++place) {
    const int64_t bytes = column_bytes * (column_bytes <= near_bytes ? 1 : outside) +
                          row_bytes * (inside <= near_bytes ? 1 : column_tiles);
    // A loop of one iteration changes nothing.
    if (place == 0 || (bytes <= least && extents[place - 1] > 1)) {
      best = place;
      least = bytes;
    }
    if (place == extents.size()) break;
    inside /= extents[place];
    outside *= extents[place];
  }
  return best;
}

// Packs rows in a loop, or (null) ahead of all others in one that threads share.
Outcome<Done> PackRows(Schedule& sch, BlockRv stage, const LoopRv* loop, int width, const Target& target) {
  if (loop != nullptr) TW_RETURN_IF_REFUSED(sch.ComputeAt(stage, *loop));
  TW_RETURN_IF_REFUSED(SplitInnermost(sch, stage, width));
  TW_ASSIGN_OR_RETURN(std::vector<LoopRv> loops, sch.GetLoops(stage));
  TW_RETURN_IF_REFUSED(sch.Vectorize(loops.back()));
  if (loop != nullptr) return Done();
  loops.pop_back();
  std::vector<int64_t> extents;
  for (const LoopRv& outer : loops) extents.push_back(*ExtentOf(sch, outer));
  const size_t shared = ParallelLoops(extents, target.cores);
  if (shared == 0) return Done();
  LoopRv threads = loops[0];
  if (shared > 1) {
    TW_ASSIGN_OR_RETURN(
        threads, sch.Fuse(std::vector<LoopRv>(loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(shared))));
  }
  return sch.Parallel(threads);
}

}  // namespace

Outcome<Done> ScheduleContraction(Schedule& sch, BlockRv block, const Target& target, Choices& choices) {
  const int step_depth = StepDepthOf(RealizeOf(sch, block), target);
  const bool fused_depth = step_depth > 1 && FuseDepth(sch, block, step_depth);
  TW_ASSIGN_OR_RETURN(const ContractionPlan plan, PlanContraction(sch, block, target, choices));
  const Contraction& contraction = plan.contraction;
  const std::string name = RealizeOf(sch, block).block->name;
  const bool rows_in_memory = plan.rows_in_memory();
  std::vector<int> inner_order = contraction.inner;
  for (int last : plan.last_inner) {
    std::erase(inner_order, last);
    inner_order.push_back(last);
  }

  // Stages: what the block reads and writes gets buffers indexed by its iterators. Padding blocks move into the row
  // stage.
  std::optional<BlockRv> row_stage;
  if (plan.row_place == RowPlace::kInPlace || plan.row_place == RowPlace::kWindows) {
    row_stage = WriterOf(sch, block, contraction.row_operand);
  } else {
    TW_ASSIGN_OR_RETURN(row_stage, ReindexRead(sch, block, contraction.row_operand));
  }
  TW_ASSIGN_OR_RETURN(const BlockRv column_stage, ReindexRead(sch, block, contraction.column_operand));
  const bool plain_output = WritesAtIterators(*RealizeOf(sch, block).block);
  TW_ASSIGN_OR_RETURN(const RegisterTile tile, PickTile(sch, name, plan, choices));
  const int tile_columns = tile.vectors * plan.instruction.lanes;
  bool is_cut = false;
  std::optional<BlockRv> write_back;
  if (!(rows_in_memory && plain_output && IsWrittenInPlace(sch, block, plan, tile))) {
    TW_ASSIGN_OR_RETURN(write_back, StageOutput(sch, block, rows_in_memory ? "global" : "register"));
    if (!plain_output) {
      const std::vector<int> dims = StageDims({&contraction.batch, &contraction.rows, &contraction.columns});
      std::vector<int> last = {plan.row, plan.column};
      if (tile.row_tiles > 0) last.insert(last.begin(), plan.outer_row);
      TW_RETURN_IF_REFUSED(ReorderStage(sch, block, dims, last));
    }
    SplitIntoPieces(sch, *write_back);
    // A consumer that takes a part of the output only leaves a predicate, with which blocks do not move: it is fused
    // when all are in their places.
    const Schedule unfused = sch;
    FuseConsumers(sch, *write_back);
    is_cut = !IsTrue(RealizeOf(sch, *write_back).predicate);
    if (is_cut) sch = unfused;
  }
  if (row_stage) InlineProducers(sch, *row_stage, false);
  InlineProducers(sch, column_stage, true);
  if (!rows_in_memory) TW_RETURN_IF_REFUSED(sch.SetScope(*row_stage, 0, "register"));
  const std::vector<int> row_dims = StageDims({&contraction.batch, &contraction.rows, &contraction.inner});
  const std::vector<int> column_dims = StageDims({&contraction.batch, &contraction.columns, &contraction.inner});
  const auto column_dim = static_cast<size_t>(std::ranges::find(column_dims, plan.column) - column_dims.begin());
  const bool plain_columns =
      plan.instruction.group == 1 && CopiesAlong(*RealizeOf(sch, column_stage).block, column_dim);

  const bool worth_packing = WorthPacking(plan, tile, RealizeOf(sch, block));
  const int group = plan.instruction.group;
  const int64_t depth_step = DepthStep(IteratorExtent(RealizeOf(sch, block), plan.depth), plan.instruction);
  const int64_t depth_extent = RoundUp(IteratorExtent(RealizeOf(sch, block), plan.depth), depth_step);
  const bool padded_depth = depth_extent != IteratorExtent(RealizeOf(sch, block), plan.depth);
  std::vector<int64_t> depths = {depth_step};
  if (!rows_in_memory) depths.insert(depths.end(), {2 * depth_step, 4 * depth_step});
  // All of a fused depth, so that its borders are constants.
  if (!rows_in_memory && fused_depth && tile.rows * tile.vectors * depth_extent / group <= kMostSteps) {
    std::erase(depths, depth_extent);
    depths.push_back(depth_extent);
  }
  std::erase_if(depths, [&](int64_t depth) { return depth_extent % depth != 0; });
  TW_ASSIGN_OR_RETURN(
      const Choices::Pick tile_depth,
      choices.Take(sch, name + ".tile_depth", depths,
                   PreferredDepth(plan.instruction, depths,
                                  fused_depth || padded_depth ? std::optional(depth_extent) : std::nullopt)));

  // Edges: iterators become multiples of the tile; the stages compute zeros there, and nothing is written back.
  const BlockRealizeNode& realize = RealizeOf(sch, block);
  const int64_t rows = IteratorExtent(realize, plan.row), columns = IteratorExtent(realize, plan.column);
  if (rows % tile.rows != 0 || columns % tile_columns != 0 || padded_depth) {
    Value::List padding(realize.bindings.size(), Value(1));
    padding[static_cast<size_t>(plan.row)] = Value(tile.rows);
    padding[static_cast<size_t>(plan.column)] = Value(tile_columns);
    padding[static_cast<size_t>(plan.depth)] = Value(depth_step);
    TW_RETURN_IF_REFUSED(sch.Apply("pad_einsum_in_place", {block, Value(padding)}));
  }

  // Operands in the layout the tile reads: rows next to the innermost depth, columns in panels.
  if (!rows_in_memory) {
    TW_RETURN_IF_REFUSED(ReorderStage(sch, *row_stage, row_dims, {plan.row, plan.depth}));
    TW_RETURN_IF_REFUSED(ReorderStage(sch, column_stage, column_dims, {plan.depth, plan.column}, tile_columns, group));
  } else {
    const int step = static_cast<int>(tile_depth.value);
    if (plan.row_place == RowPlace::kPacked) {
      TW_RETURN_IF_REFUSED(LayOutRows(sch, *row_stage, row_dims, plan, tile.rows, step));
    } else if (plan.row_place == RowPlace::kWindows) {
      TW_RETURN_IF_REFUSED(LayOutWindows(sch, *row_stage, *RealizeOf(sch, block).block, plan, step));
    }
    TW_RETURN_IF_REFUSED(LayOutColumns(sch, column_stage, column_dims, plan, inner_order, tile_columns, step));
  }

  // Loops. Rows may be blocked: tile rows [row block, rows of a block]; the loops over the batch go between any of the
  // loops over rows, and those over columns between these or inside.
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, LoopsByIterator(sch, block, "contraction_rule"));
  auto loop_of = [&](int iterator) { return loops[static_cast<size_t>(iterator)]; };
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> row, sch.Split(loop_of(plan.row), {Value(), tile.rows}));
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> column, sch.Split(loop_of(plan.column), {Value(), tile_columns}));
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> depth, sch.Split(loop_of(plan.depth), {Value(), tile_depth}));
  std::vector<LoopRv> outer_rows, outer, inner, in_tile = {row[1], column[1], depth[1]};
  for (int iterator : contraction.rows) {
    if (iterator == plan.outer_row && tile.row_tiles > 0) {
      TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> parts, sch.Split(loop_of(iterator), {Value(), tile.row_tiles}));
      outer_rows.push_back(parts[0]);
      in_tile.insert(in_tile.begin(), parts[1]);
    } else if (iterator != plan.row) {
      outer_rows.push_back(loop_of(iterator));
    }
  }
  const std::vector<int64_t> blocks = Divisors(*ExtentOf(sch, row[0]));
  size_t preferred_block = blocks.size() - 1;
  // Tiles of AMX are so fast that reading what they multiply takes longer, unless it comes from near: one operand from
  // the second cache level while the other one, in panels, is next to the registers.
  const int64_t near_bytes = target.caches[1].bytes * 3 / 4;
  const Buffer row_operand = row_stage ? RealizeOf(sch, *row_stage).block->writes[0].buffer : contraction.row_operand;
  const int64_t tile_bytes = BytesOfRows(RealizeOf(sch, block), row_operand, tile, plan);
  const int64_t column_bytes = BytesOfColumns(RealizeOf(sch, block), contraction);
  int64_t batches = 1;
  for (int iterator : contraction.batch) batches *= IteratorExtent(RealizeOf(sch, block), iterator);
  const bool all_columns_near = column_bytes * batches <= near_bytes;
  // Each thread copies the windows of its part of the batch, and meets these columns alone.
  const bool batch_shares_windows =
      plan.row_place == RowPlace::kWindows && !contraction.batch.empty() && batches % target.cores == 0;
  if (rows_in_memory && column_bytes > near_bytes) {
    while (preferred_block > 0 && blocks[preferred_block] * tile_bytes > near_bytes) --preferred_block;
  }
  TW_ASSIGN_OR_RETURN(const Choices::Pick row_block, choices.Take(sch, name + ".row_block", blocks, preferred_block));
  if (row_block.value == blocks.back()) {
    outer_rows.push_back(row[0]);
  } else {
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> blocked, sch.Split(row[0], {Value(), row_block}));
    outer_rows.insert(outer_rows.end(), blocked.begin(), blocked.end());
  }
  const bool constant = ReadsConstants(sch, column_stage);
  const auto row_loops = static_cast<int64_t>(outer_rows.size());
  int64_t batch_place = 0;
  if (constant && !contraction.batch.empty()) {
    // Phases of an output that is cut off somewhere, or whose windows differ, are next to their rows: some have less to
    // do than others.
    const bool inside = is_cut || plan.uneven;
    const bool rows_outside = plan.rows_outside || (rows_in_memory && all_columns_near && !batch_shares_windows);
    const size_t preferred = rows_outside ? outer_rows.size() : inside ? outer_rows.size() - 1 : 0;
    TW_ASSIGN_OR_RETURN(const Choices::Pick picked,
                        choices.Take(sch, name + ".batch_after", Iota(0, row_loops), preferred));
    batch_place = picked.value;
  }
  size_t preferred_place = 0;
  if (rows_in_memory && constant) {
    std::vector<int64_t> extents;
    for (auto loop = outer_rows.begin() + batch_place; loop != outer_rows.end(); ++loop) {
      extents.push_back(*ExtentOf(sch, *loop));
    }
    preferred_place = PlaceOfColumns(extents, tile_bytes, column_bytes, *ExtentOf(sch, column[0]), near_bytes);
  }
  TW_ASSIGN_OR_RETURN(const Choices::Pick column_place,
                      choices.Take(sch, name + ".columns_after", Iota(batch_place, row_loops), preferred_place));
  outer.assign(outer_rows.begin(), outer_rows.begin() + batch_place);
  for (int iterator : contraction.batch) outer.push_back(loop_of(iterator));
  const auto place = outer_rows.begin() + column_place.value;
  outer.insert(outer.end(), outer_rows.begin() + batch_place, place);
  for (int iterator : contraction.columns) outer.push_back(iterator == plan.column ? column[0] : loop_of(iterator));
  outer.insert(outer.end(), place, outer_rows.end());
  for (int iterator : inner_order) inner.push_back(iterator == plan.depth ? depth[0] : loop_of(iterator));
  std::vector<LoopRv> order = outer;
  order.insert(order.end(), inner.begin(), inner.end());
  order.insert(order.end(), in_tile.begin(), in_tile.end());
  TW_RETURN_IF_REFUSED(sch.Reorder(order));

  // Data movement.
  const LoopRv tile_loop = outer.back();
  if (write_back) TW_RETURN_IF_REFUSED(sch.ReverseComputeAt(*write_back, tile_loop));
  if (!rows_in_memory) TW_RETURN_IF_REFUSED(sch.ComputeAt(*row_stage, inner.back()));
  TW_ASSIGN_OR_RETURN(const BlockRv init, sch.DecomposeReduction(block, inner[0]));
  TW_RETURN_IF_REFUSED(sch.Tensorize(in_tile[0], plan.instruction.TileName(tile.row_tiles, tile.rows, tile_columns,
                                                                           static_cast<int>(tile_depth.value))));
  if (plan.instruction.amx != nullptr) {
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> zeroed, sch.GetLoops(init));
    TW_RETURN_IF_REFUSED(sch.Tensorize(zeroed[zeroed.size() + 1 - in_tile.size()],
                                       AmxZeroName(*plan.instruction.amx, tile.row_tiles, tile.rows, tile_columns)));
  } else {
    TW_RETURN_IF_REFUSED(WriteOut(sch, init, tile_loop, true));
  }
  if (write_back) TW_RETURN_IF_REFUSED(WriteOut(sch, *write_back, tile_loop, true));
  // Loops in the last of which rows are packed, and no others of which threads share: those outside of the ones over
  // columns; of copies for windows those over the batch.
  size_t loops_of_rows = 0;
  if (plan.row_place == RowPlace::kPacked) {
    loops_of_rows = contraction.batch.size() + static_cast<size_t>(column_place.value);
  } else if (batch_shares_windows && batch_place == 0) {
    loops_of_rows = contraction.batch.size();
  }
  if (rows_in_memory && row_stage) {
    const LoopRv* loop = loops_of_rows == 0 ? nullptr : &outer[loops_of_rows - 1];
    TW_RETURN_IF_REFUSED(PackRows(sch, *row_stage, loop, static_cast<int>(tile_depth.value), target));
  } else if (!rows_in_memory) {
    if (group > 1) TW_RETURN_IF_REFUSED(SplitInnermost(sch, *row_stage, group));
    TW_RETURN_IF_REFUSED(WriteOut(sch, *row_stage, inner.back(), group > 1));
  }

  // A column operand that is no constant is packed where it is used, unless loops over rows would repeat that; or read
  // where it lies.
  bool packed = true;
  if (plain_columns && !constant) {
    TW_ASSIGN_OR_RETURN(const Choices::Pick pick, choices.Take(sch, name + ".packed", {0, 1}, worth_packing ? 1 : 0));
    packed = pick.value != 0;
  }
  if (!packed) {
    TW_RETURN_IF_REFUSED(sch.ComputeAt(column_stage, inner.back()));
    TW_RETURN_IF_REFUSED(WriteOut(sch, column_stage, inner.back(), true));
  } else if (!constant && (column_place.value == 0 || !contraction.batch.empty())) {
    const size_t loops_of_panel = contraction.batch.size() + (column_place.value == 0 ? contraction.columns.size() : 0);
    outer.resize(std::min(outer.size(), loops_of_panel));
    TW_RETURN_IF_REFUSED(PackInLoop(sch, column_stage, outer.back(), target));
  }

  // Threads. 0: the caller's thread alone.
  std::vector<int64_t> extents;
  if (loops_of_rows > 0) outer.resize(std::min(outer.size(), loops_of_rows));
  for (const LoopRv& loop : outer) extents.push_back(*ExtentOf(sch, loop));
  TW_ASSIGN_OR_RETURN(const Choices::Pick parallel,
                      choices.Take(sch, name + ".parallel_loops", Iota(0, static_cast<int64_t>(outer.size())),
                                   ParallelLoops(extents, target.cores)));
  if (parallel.value != 0) {
    LoopRv threads = outer[0];
    if (parallel.value > 1) {
      TW_ASSIGN_OR_RETURN(threads, sch.Fuse({outer.begin(), outer.begin() + parallel.value}));
    }
    TW_RETURN_IF_REFUSED(ChooseStreaming(sch, threads, name, target, choices));
    TW_RETURN_IF_REFUSED(sch.Parallel(threads));
  }

  if (is_cut) FuseConsumers(sch, *write_back);
  if (constant) {
    TW_RETURN_IF_REFUSED(sch.Apply("hoist_prepack", {column_stage}));
  }
  return Done();
}

}  // namespace tilewright
