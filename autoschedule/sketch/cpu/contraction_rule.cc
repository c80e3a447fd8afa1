#include "autoschedule/sketch/cpu/contraction_rule.h"

#include <algorithm>
#include <numeric>

#include "autoschedule/cost/machine_costs.h"
#include "autoschedule/movement/auto_copy.h"
#include "autoschedule/movement/cpu/bypass_caches.h"
#include "autoschedule/movement/cpu/near_operands.h"
#include "autoschedule/movement/cpu/operand_stages.h"
#include "autoschedule/movement/cpu/packed_constants.h"
#include "autoschedule/movement/cpu/stage_layouts.h"
#include "autoschedule/program/block_loops.h"
#include "autoschedule/program/fuse_consumers.h"
#include "autoschedule/program/sizes.h"
#include "autoschedule/program/unpacked_constants.h"
#include "autoschedule/sketch/cpu/contraction_loops.h"
#include "autoschedule/sketch/cpu/contraction_plan.h"
#include "autoschedule/sketch/cpu/depth_choices.h"
#include "autoschedule/sketch/cpu/output_order.h"
#include "autoschedule/sketch/cpu/plain_rule.h"
#include "base/math.h"
#include "base/status_macros.h"
#include "intrin/amx_tile.h"
#include "intrin/dot_tile.h"
#include "ir/analysis.h"
#include "ir/annotations.h"

namespace tilewright {
namespace {

using Done = std::monostate;
// The preferred prefetch distance of rows, as an index.
constexpr size_t kFetchedAhead = 2;

// Whether tiles can be stored directly to the output: they divide it, and nothing else is computed from them.
bool IsWrittenInPlace(Schedule& sch, BlockRv block, const ContractionPlan& plan, const RegisterTile& tile) {
  const BlockRealizeNode& realize = RealizeOf(sch, block);
  const auto extent = [&](int iterator) {
    return realize.block->iter_vars[static_cast<size_t>(iterator)].domain.extent;
  };
  if (!Divides(tile.rows, extent(plan.row))) return false;
  if (!Divides(tile.vectors * plan.instruction.lanes, extent(plan.column))) return false;
  // Rows and columns of a tile are the last dimensions of more than one element.
  const Var& column = realize.block->iter_vars[static_cast<size_t>(plan.column)].var;
  if (!realize.block->writes[0].region.back().min.same_as(column)) return false;
  const Outcome<std::vector<BlockRv>> consumers = sch.GetConsumers(block);
  return consumers.ok() && consumers->empty();
}

// How much of K a tile takes.
struct TileDepth {
  Choices::Pick pick;
  int64_t step = 1;  // of the instruction: the depth is a multiple
};

// Copies of the operands, and by which iterators these are indexed.
struct OperandStages {
  std::optional<BlockRv> rows;  // none where the operand is read as it lies
  BlockRv columns;
  std::vector<int> row_dims, column_dims;
};

struct ColumnPacking {
  bool constant = false;               // packed ahead of time
  bool plain = false;                  // can be read where they lie
  bool worth_packing = false;          // though they could be
  std::vector<int64_t> depth_factors;  // of columns that stay packed as their constants are
};

struct WrittenOutput {
  std::optional<BlockRv> write_back;  // none where tiles are stored in place
  std::optional<BlockRv> copy;        // in another order of dimensions
  bool is_cut = false;                // a consumer takes a part of the output only
};

// One schedule under construction.
class ContractionSchedule {
 public:
  // `fused_depth`: whether the plan's depth is two iterators that were made one.
  ContractionSchedule(Schedule& sch, BlockRv block, const ContractionPlan& plan, bool fused_depth, const Target& target,
                      Choices& choices)
      : sch_(sch),
        block_(block),
        plan_(plan),
        contraction_(plan_.contraction),
        fused_depth_(fused_depth),
        target_(target),
        choices_(choices),
        name_(RealizeOf(sch, block).block->name),
        inner_order_(contraction_.inner) {
    for (int last : plan_.last_inner) {
      std::erase(inner_order_, last);
      inner_order_.push_back(last);
    }
  }

  Outcome<Done> Apply();

 private:
  // Makes buffers, indexed by the block's iterators, for what it reads and writes, and the tile.
  Outcome<Done> MakeStages();
  Outcome<bool> FlipsAhead();
  Outcome<Done> KeepColumnsPacked();
  Outcome<Done> TakeTile(std::vector<RegisterTile> tiles);
  // The tiles of AMX, with estimates for sums of few steps.
  std::vector<RegisterTile> RatedTiles(bool plain_output);
  Outcome<Done> StageOutputUnlessInPlace(bool plain_output);
  Outcome<Done> PickDepth();
  Outcome<Done> PadToTiles();
  Outcome<Done> LayOutOperands();

  // Puts the tile's loops inside of all others. The order of the other loops is chosen after everything that is
  // computed with a tile is in its place, so that candidates share these steps.
  Outcome<Done> SplitIntoTiles();
  Outcome<Done> TensorizeTile();
  Outcome<Done> WriteOutZeros(BlockRv init, LoopRv tile_loop);
  Outcome<Done> WriteOutRows();
  Outcome<Done> PlaceRows();
  Outcome<Done> PlaceColumns();
  Outcome<Done> FetchRowsAhead(LoopRv loop);
  Outcome<Done> RunInParallel();

  const BlockRealizeNode& realize() const { return RealizeOf(sch_, block_); }
  Ref<BlockRealizeNode> likely() const { return LikelyRealizeOf(sch_, block_); }
  int64_t Extent(int iterator) const { return IteratorExtent(*likely(), iterator); }
  bool DividesExtent(int64_t divisor, int iterator) const {
    return Divides(divisor, realize().block->iter_vars[static_cast<size_t>(iterator)].domain.extent);
  }
  int TileColumns() const { return tile_.vectors * plan_.instruction.lanes; }
  // The elements along K that the tile loads into one vector register; 0 if it loads them otherwise.
  int64_t LineDepth() const {
    const bool loads = plan_.whole_lines && plan_.instruction.HoldsLines(tile_.rows, tile_.vectors);
    return loads ? plan_.instruction.LineDepth() : 0;
  }

  Schedule& sch_;
  const BlockRv block_;
  const ContractionPlan plan_;
  const Contraction& contraction_;
  const bool fused_depth_;
  const Target& target_;
  Choices& choices_;
  const std::string name_;
  std::vector<int> inner_order_;  // inner iterators as their loops are nested

  RegisterTile tile_;
  TileDepth depth_;
  OperandStages stages_;
  ColumnPacking columns_;
  WrittenOutput output_;
  ContractionLoops loops_;
  ContractionSizes sizes_;
  LoopNest nest_;
};

Outcome<Done> ContractionSchedule::MakeStages() {
  if (plan_.row_place == RowPlace::kInPlace || plan_.copies_images()) {
    stages_.rows = WriterOf(sch_, block_, contraction_.row_operand);
  } else {
    TW_ASSIGN_OR_RETURN(stages_.rows, ReindexRead(sch_, block_, contraction_.row_operand));
  }
  TW_RETURN_IF_ERROR(KeepColumnsPacked());
  TW_ASSIGN_OR_RETURN(stages_.columns, ReindexRead(sch_, block_, contraction_.column_operand));
  // Padding blocks move into the row stage.
  TW_ASSIGN_OR_RETURN(const bool flipped_ahead, FlipsAhead());
  if (stages_.rows && !flipped_ahead) InlineProducers(sch_, *stages_.rows, false);
  InlineProducers(sch_, stages_.columns, true);
  columns_.constant = ReadsConstants(sch_, stages_.columns);
  // An AMX tile decides how the output is written. Other tiles are chosen after the steps that their candidates share.
  const bool plain_output = WritesAtIterators(*realize().block);
  if (plan_.rows_in_memory()) {
    TW_RETURN_IF_ERROR(TakeTile(RatedTiles(plain_output)));
  }
  TW_RETURN_IF_ERROR(StageOutputUnlessInPlace(plain_output));
  if (!plan_.rows_in_memory()) TW_RETURN_IF_ERROR(TakeTile(plan_.tiles));
  stages_.row_dims = StageDims({&contraction_.batch, &contraction_.rows, &contraction_.inner});
  stages_.column_dims = StageDims({&contraction_.batch, &contraction_.columns, &contraction_.inner});
  const auto column_dim =
      static_cast<size_t>(std::ranges::find(stages_.column_dims, plan_.column) - stages_.column_dims.begin());
  columns_.plain = plan_.instruction.group == 1 && CopiesAlong(*RealizeOf(sch_, stages_.columns).block, column_dim);
  columns_.worth_packing = WorthPacking(plan_, tile_, *likely(), target_);
  return Done();
}

// Columns computed from packed constants are unpacked panel by panel into the caches.
Outcome<Done> ContractionSchedule::KeepColumnsPacked() {
  if (plan_.rows_in_memory()) return Done();
  const std::optional<BlockRv> unpacker = UnpackerOf(sch_, block_, contraction_);
  Schedule packed = sch_;
  if (!unpacker || !PackInPanels(packed, *unpacker, target_).ok()) return Done();
  TW_ASSIGN_OR_RETURN(const Choices::Pick pick,
                      choices_.Take(sch_, name_ + ".columns_stored", {0, 1}, 1, {{"unpacked"}, {"packed"}}));
  if (pick.value == 0) return Done();
  columns_.depth_factors = DepthFactors(sch_, *unpacker, Extent(plan_.depth));
  return PackInPanels(sch_, *unpacker, target_);
}

// Whether the copy with flipped bits is made before all tiles. Otherwise each tile flips the bits again in registers;
// where the instruction takes elements of registers, that occupies units that multiply.
Outcome<bool> ContractionSchedule::FlipsAhead() {
  if (!plan_.flips_rows || !plan_.instruction.LoadsAll()) return false;
  int64_t windows = 1;
  for (const int iterator : contraction_.inner) windows *= iterator == plan_.depth ? 1 : Extent(iterator);
  const size_t preferred = PaysToFlipAhead(Extent(plan_.column), windows, target_) ? 1 : 0;
  TW_ASSIGN_OR_RETURN(const Choices::Pick pick, choices_.Take(sch_, name_ + ".flipped_ahead", {0, 1}, preferred));
  return pick.value != 0;
}

Outcome<Done> ContractionSchedule::TakeTile(std::vector<RegisterTile> tiles) {
  if (!columns_.depth_factors.empty()) tiles = TilesBesideConstants(plan_.instruction, std::move(tiles));
  TW_ASSIGN_OR_RETURN(tile_, PickTile(sch_, name_, plan_, std::move(tiles), choices_));
  return Done();
}

std::vector<RegisterTile> ContractionSchedule::RatedTiles(bool plain_output) {
  std::vector<RegisterTile> tiles = plan_.tiles;
  int64_t products = 1;
  for (int iterator : contraction_.inner) products *= Extent(iterator);
  const int depth = plan_.instruction.StepDepth();
  const bool far_columns = columns_.constant && BytesOfColumns(*likely(), contraction_) > target_.Nearest().bytes / 2;
  const ShallowSum sum = {Extent(plan_.row), Extent(plan_.column), RoundUp(products, depth) / depth, far_columns};
  if (sum.steps > kShallowSteps) return tiles;
  for (RegisterTile& tile : tiles) {
    const bool staged = !plain_output || !IsWrittenInPlace(sch_, block_, plan_, tile);
    tile.efficiency = RateShallow(tile, sum, staged, target_);
  }
  return tiles;
}

Outcome<Done> ContractionSchedule::StageOutputUnlessInPlace(bool plain_output) {
  output_.write_back = plan_.write_back;
  if (output_.write_back) return Done();
  if (plan_.rows_in_memory() && plain_output && IsWrittenInPlace(sch_, block_, plan_, tile_)) return Done();
  TW_ASSIGN_OR_RETURN(output_.write_back, StageOutput(sch_, block_, plan_.rows_in_memory() ? "global" : "register"));
  if (!plain_output) {
    const std::vector<int> dims = StageDims({&contraction_.batch, &contraction_.rows, &contraction_.columns});
    std::vector<int> last = {plan_.row, plan_.column};
    if (tile_.row_tiles > 0) last.insert(last.begin(), plan_.outer_row);
    TW_RETURN_IF_ERROR(ReorderStage(sch_, block_, dims, last));
  }
  SplitIntoPieces(sch_, *output_.write_back);
  // A consumer of a part of the output leaves a predicate, and a block with a predicate cannot be moved. It is fused
  // after all blocks are in their places.
  const Schedule unfused = sch_;
  FuseConsumers(sch_, *output_.write_back);
  output_.is_cut = !IsTrue(RealizeOf(sch_, *output_.write_back).predicate);
  if (output_.is_cut) {
    sch_ = unfused;
    return Done();
  }
  TW_ASSIGN_OR_RETURN(output_.copy, ChooseOutputOrder(sch_, *output_.write_back, name_, target_, choices_));
  return Done();
}

Outcome<Done> ContractionSchedule::PickDepth() {
  const int group = plan_.instruction.group;
  const int64_t extent = Extent(plan_.depth);
  depth_.step = DepthStep(extent, plan_.instruction, plan_.copies_images() || plan_.row_place == RowPlace::kPacked);
  const int64_t padded = RoundUp(extent, depth_.step);
  std::vector<int64_t> depths = {depth_.step};
  if (!plan_.rows_in_memory()) {
    depths.insert(depths.end(), {2 * depth_.step, 3 * depth_.step, 4 * depth_.step});
    const int64_t line = LineDepth();
    if (line > depths.back() && line % depth_.step == 0) depths.push_back(line);
    // All of a fused depth, so that its borders are constants.
    const int64_t groups = padded / group;
    if (fused_depth_ && groups <= kMostDotGroups && tile_.rows * tile_.vectors * groups <= kMostWrittenOut) {
      std::erase(depths, padded);
      depths.push_back(padded);
    }
  }
  const bool constant = ExtentOf(realize().block->iter_vars[static_cast<size_t>(plan_.depth)]).has_value();
  std::erase_if(depths, [&](int64_t depth) {
    return constant ? padded % depth != 0 : depth != depth_.step && !DividesExtent(depth, plan_.depth);
  });
  const std::optional<int64_t> whole = fused_depth_ || padded != extent ? std::optional(padded) : std::nullopt;
  TW_ASSIGN_OR_RETURN(depth_.pick,
                      choices_.Take(sch_, name_ + ".tile_depth", depths,
                                    PreferredDepth(plan_.instruction, tile_, depths, whole, LineDepth(), target_)));
  return Done();
}

// Iterators become multiples of the tile; the stages compute zeros there, and nothing is written back.
Outcome<Done> ContractionSchedule::PadToTiles() {
  Value::List padding(realize().bindings.size(), Value(1));
  bool pads = false;
  const auto pad = [&](int iterator, int64_t multiple) {
    padding[static_cast<size_t>(iterator)] = Value(multiple);
    pads |= !DividesExtent(multiple, iterator);
  };
  pad(plan_.row, tile_.rows);
  pad(plan_.column, TileColumns());
  pad(plan_.depth, depth_.step);
  if (pads) TW_RETURN_IF_ERROR(sch_.PadEinsumInPlace(block_, std::move(padding)));
  return Done();
}

// In the order in which the tile reads them: rows next to the innermost depth, columns in panels.
Outcome<Done> ContractionSchedule::LayOutOperands() {
  if (!plan_.rows_in_memory()) {
    TW_RETURN_IF_ERROR(ReorderStage(sch_, *stages_.rows, stages_.row_dims, {plan_.row, plan_.depth}));
    return ReorderStage(sch_, stages_.columns, stages_.column_dims, {plan_.depth, plan_.column}, TileColumns(),
                        plan_.instruction.group);
  }
  const int depth = static_cast<int>(depth_.pick.value);
  if (plan_.row_place == RowPlace::kPacked) {
    TW_RETURN_IF_ERROR(LayOutRows(sch_, *stages_.rows, stages_.row_dims, plan_, tile_.rows, depth));
  } else if (plan_.copies_images()) {
    TW_RETURN_IF_ERROR(LayOutWindows(sch_, *stages_.rows, *realize().block, plan_, depth));
  }
  return LayOutColumns(sch_, stages_.columns, stages_.column_dims, plan_, inner_order_, TileColumns(), depth);
}

Outcome<Done> ContractionSchedule::SplitIntoTiles() {
  const Buffer rows = stages_.rows ? RealizeOf(sch_, *stages_.rows).block->writes[0].buffer : contraction_.row_operand;
  sizes_ = {.tile_bytes = BytesOfRows(*likely(), rows, tile_, plan_),
            .column_bytes = BytesOfColumns(*likely(), contraction_),
            .constant_columns = columns_.constant,
            .cut_output = output_.is_cut};
  for (int iterator : contraction_.batch) sizes_.batches *= Extent(iterator);
  for (int i = 0; i < std::ssize(realize().block->iter_vars); ++i) sizes_.products *= static_cast<double>(Extent(i));
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, LoopsByIterator(sch_, block_, "contraction_rule"));
  const auto loop_of = [&](int iterator) { return loops[static_cast<size_t>(iterator)]; };
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> row, sch_.Split(loop_of(plan_.row), {Value(), tile_.rows}));
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> column, sch_.Split(loop_of(plan_.column), {Value(), TileColumns()}));
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> depth, sch_.Split(loop_of(plan_.depth), {Value(), depth_.pick.rv}));
  sizes_.column_tiles = LikelyExtent(sch_, column[0]);
  loops_.tile = {row[1], column[1], depth[1]};
  for (int iterator : contraction_.rows) {
    if (iterator == plan_.outer_row && tile_.row_tiles > 0) {
      TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> parts, sch_.Split(loop_of(iterator), {Value(), tile_.row_tiles}));
      loops_.rows.push_back(parts[0]);
      loops_.tile.insert(loops_.tile.begin(), parts[1]);
    } else if (iterator != plan_.row) {
      loops_.rows.push_back(loop_of(iterator));
    }
  }
  loops_.rows.push_back(row[0]);
  for (int iterator : contraction_.batch) loops_.batch.push_back(loop_of(iterator));
  for (int iterator : contraction_.columns) {
    loops_.columns.push_back(iterator == plan_.column ? column[0] : loop_of(iterator));
  }
  for (int iterator : inner_order_) loops_.inner.push_back(iterator == plan_.depth ? depth[0] : loop_of(iterator));
  std::vector<LoopRv> order;
  for (const std::vector<LoopRv>* part : {&loops_.batch, &loops_.columns, &loops_.rows, &loops_.inner, &loops_.tile}) {
    order.insert(order.end(), part->begin(), part->end());
  }
  return sch_.Reorder(order);
}

Outcome<Done> ContractionSchedule::TensorizeTile() {
  const LoopRv tile_loop = loops_.rows.back();
  if (output_.write_back) TW_RETURN_IF_ERROR(sch_.ReverseComputeAt(*output_.write_back, tile_loop));
  if (!plan_.rows_in_memory()) {
    TW_ASSIGN_OR_RETURN(const AutoCopy rows, ReadStageAt(sch_, block_, *stages_.rows, loops_.inner.back(), "register"));
    TW_RETURN_IF_ERROR(Expand(sch_, rows));
    stages_.rows = rows.block;
  }
  TW_ASSIGN_OR_RETURN(const BlockRv init, sch_.DecomposeReduction(block_, loops_.inner[0]));
  if (const int rows = plan_.instruction.rows(); rows > 1) {
    const auto var = [&](int iterator) { return realize().block->iter_vars[static_cast<size_t>(iterator)].var; };
    TW_RETURN_IF_ERROR(LayOutSums(sch_, block_, var(plan_.row), var(plan_.column), rows, plan_.instruction.lanes));
  }
  TW_RETURN_IF_ERROR(sch_.Tensorize(
      loops_.tile[0],
      plan_.instruction.TileName(tile_.row_tiles, tile_.rows, TileColumns(), static_cast<int>(depth_.pick.value))));
  if (plan_.instruction.amx()) {
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> zeroed, sch_.GetLoops(init));
    TW_RETURN_IF_ERROR(sch_.Tensorize(zeroed[zeroed.size() + 1 - loops_.tile.size()],
                                      AmxZeroName(*plan_.instruction.row, tile_.row_tiles, tile_.rows, TileColumns())));
  } else {
    TW_RETURN_IF_ERROR(WriteOutZeros(init, tile_loop));
  }
  if (output_.write_back) TW_RETURN_IF_ERROR(WriteOut(sch_, *output_.write_back, tile_loop, true));
  return Done();
}

// By vectors as they lie in registers.
Outcome<Done> ContractionSchedule::WriteOutZeros(BlockRv init, LoopRv tile_loop) {
  if (const int rows = plan_.instruction.rows(); rows > 1) {
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, LoopsInside(sch_, init, tile_loop));
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> row, sch_.Split(loops[loops.size() - 2], {Value(), rows}));
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> column, sch_.Split(loops.back(), {Value(), plan_.instruction.lanes}));
    TW_RETURN_IF_ERROR(sch_.Reorder({row[0], column[0], row[1], column[1]}));
    TW_RETURN_IF_ERROR(sch_.Fuse({row[1], column[1]}));
  }
  return WriteOut(sch_, init, tile_loop, true);
}

Outcome<Done> ContractionSchedule::WriteOutRows() {
  if (plan_.rows_in_memory()) return Done();
  const int64_t line = LineDepth();
  const int64_t vector = line > 0 && depth_.pick.value % line == 0 ? line : plan_.instruction.group;
  if (vector > 1) TW_RETURN_IF_ERROR(SplitInnermost(sch_, *stages_.rows, static_cast<int>(vector)));
  return WriteOut(sch_, *stages_.rows, loops_.inner.back(), vector > 1);
}

Outcome<Done> ContractionSchedule::PlaceRows() {
  if (!stages_.rows || !plan_.rows_in_memory()) return Done();
  const LoopRv* loop = nest_.loops_of_rows == 0 ? nullptr : &nest_.outer[nest_.loops_of_rows - 1];
  return PackRows(sch_, *stages_.rows, loop, static_cast<int>(depth_.pick.value), target_);
}

// Variable columns are packed where they are used, unless loops over rows would repeat the packing, or are read in
// place.
Outcome<Done> ContractionSchedule::PlaceColumns() {
  if (columns_.constant) return Done();
  bool packed = true;
  if (columns_.plain) {
    TW_ASSIGN_OR_RETURN(
        const Choices::Pick pick,
        choices_.Take(sch_, name_ + ".packed", {0, 1}, columns_.worth_packing ? 1 : 0, {{"in_place"}, {"packed"}}));
    packed = pick.value != 0;
  }
  if (!packed) {
    // Vectors along the columns, the last dimension of a panel.
    TW_ASSIGN_OR_RETURN(const std::vector<BlockRv> tiles, sch_.GetConsumers(stages_.columns));
    TW_ASSIGN_OR_RETURN(const AutoCopy columns,
                        ReadStageAt(sch_, tiles[0], stages_.columns, loops_.inner.back(), "global"));
    TW_RETURN_IF_ERROR(Expand(sch_, columns));
    return WriteOut(sch_, columns.block, columns.loop, true);
  }
  if (nest_.column_place > 0 && contraction_.batch.empty()) return Done();
  nest_.outer.resize(nest_.column_place == 0 ? nest_.outer.size() - nest_.rows.size() : contraction_.batch.size());
  if (!columns_.depth_factors.empty())
    return UnpackInLoop(sch_, stages_.columns, nest_.outer.back(), columns_.depth_factors, target_);
  return PackInLoop(sch_, stages_.columns, nest_.outer.back(), target_);
}

// A loop's later iterations' rows.
Outcome<Done> ContractionSchedule::FetchRowsAhead(LoopRv loop) {
  TW_ASSIGN_OR_RETURN(const Choices::Pick iterations,
                      choices_.Take(sch_, name_ + ".fetch_ahead", {0, 1, 2, 4}, kFetchedAhead));
  if (iterations.value == 0) return Done();
  return sch_.Annotate(loop, kPrefetchRows, Value(iterations.value));
}

Outcome<Done> ContractionSchedule::RunInParallel() {
  if (nest_.loops_of_rows > 0) nest_.outer.resize(std::min(nest_.outer.size(), nest_.loops_of_rows));
  const bool rows_alone = contraction_.batch.empty() && contraction_.rows.size() == 1;
  const bool may_be_alone = !plan_.batch_inside && !rows_alone;
  const auto [alone, count] = ShareLoops(sch_, nest_.outer, sizes_.products, may_be_alone, target_);
  nest_.outer.erase(nest_.outer.begin(), nest_.outer.begin() + static_cast<std::ptrdiff_t>(alone));
  size_t preferred = count;
  // The smaller the work of the other stages in an iteration, the nearer its results.
  const size_t most = LoopsToFuse(sch_, nest_.outer);
  if (plan_.batch_inside) preferred = std::min(most, std::max(preferred, static_cast<size_t>(nest_.batch_place)));
  // 0: the caller's thread alone.
  std::vector<int64_t> counts(most + 1);
  std::iota(counts.begin(), counts.end(), 0);
  TW_ASSIGN_OR_RETURN(const Choices::Pick parallel, choices_.Take(sch_, name_ + ".parallel_loops", counts, preferred));
  if (parallel.value == 0) return Done();
  const auto shared = static_cast<size_t>(parallel.value);
  // The last loop over rows that is outside of all others.
  size_t last_row = std::min(nest_.rows.size(), nest_.outer.size());
  while (last_row > 0 && LikelyExtent(sch_, nest_.outer[last_row - 1]) == 1) --last_row;
  const bool ahead = alone == 0 && plan_.short_rows > 0 && last_row > 0 &&
                     nest_.batch_place == static_cast<int64_t>(nest_.rows.size());
  TW_ASSIGN_OR_RETURN(const LoopRv threads, FuseFirst(sch_, nest_.outer, shared));
  TW_RETURN_IF_ERROR(ChooseStreaming(sch_, threads, name_, target_, choices_));
  if (ahead) TW_RETURN_IF_ERROR(FetchRowsAhead(last_row <= shared ? threads : nest_.outer[last_row - 1]));
  return sch_.Parallel(threads);
}

Outcome<Done> ContractionSchedule::Apply() {
  TW_RETURN_IF_ERROR(MakeStages());
  TW_RETURN_IF_ERROR(PickDepth());
  TW_RETURN_IF_ERROR(PadToTiles());
  TW_RETURN_IF_ERROR(LayOutOperands());
  if (columns_.constant) TW_RETURN_IF_ERROR(PackAhead(sch_, stages_.columns, target_));
  TW_RETURN_IF_ERROR(SplitIntoTiles());
  TW_RETURN_IF_ERROR(TensorizeTile());
  TW_RETURN_IF_ERROR(WriteOutRows());
  TW_ASSIGN_OR_RETURN(
      nest_, NestLoops(sch_, name_, plan_, loops_, sizes_, stages_.rows && plan_.rows_in_memory(), target_, choices_));
  TW_RETURN_IF_ERROR(PlaceRows());
  TW_RETURN_IF_ERROR(PlaceColumns());
  TW_RETURN_IF_ERROR(RunInParallel());
  if (output_.is_cut) FuseConsumers(sch_, *output_.write_back);
  return output_.copy ? SchedulePlain(sch_, *output_.copy, target_, choices_) : Done();
}

// With the depth as it lies.
Outcome<Done> ScheduleTiles(Schedule& sch, BlockRv block, const Target& target, Choices& choices, bool batch_inside) {
  TW_ASSIGN_OR_RETURN(const bool fused_depth, ChooseFusedDepth(sch, block, target, choices));
  TW_ASSIGN_OR_RETURN(const ContractionPlan plan, PlanContraction(sch, block, target, choices, batch_inside));
  return ContractionSchedule(sch, block, plan, fused_depth, target, choices).Apply();
}

}  // namespace

Outcome<Done> ScheduleContraction(Schedule& sch, BlockRv block, const Target& target, Choices& choices,
                                  bool batch_inside) {
  const auto tiles = [&](Schedule& s, Choices& c) { return ScheduleTiles(s, block, target, c, batch_inside); };
  TW_RETURN_IF_ERROR(ChooseDepthInnermost(sch, block, target, choices, tiles));
  return tiles(sch, choices);
}

}  // namespace tilewright
