#include "autoschedule/contraction_rule.h"

#include <algorithm>
#include <numeric>

#include "autoschedule/access_strides.h"
#include "autoschedule/block_loops.h"
#include "autoschedule/bypass_caches.h"
#include "autoschedule/contraction.h"
#include "autoschedule/fuse_consumers.h"
#include "autoschedule/fuse_depth.h"
#include "autoschedule/operand_stages.h"
#include "autoschedule/register_tile.h"
#include "autoschedule/tile_instruction.h"
#include "ir/analysis.h"
#include "schedule/assign_or_return.h"
#include "schedule/hoist_prepack.h"

namespace tilewright {
namespace {

using Done = std::monostate;
// Tiles whose estimated efficiency is below this part of the best one are not tried.
constexpr double kWorthATry = 0.6;
// Instructions of a tile that holds the whole depth. Borders are written once more each.
constexpr int64_t kMostSteps = 400;
// Groups of a tile whose rows are flipped: flipped groups that several rows of a deeper one share would be kept in
// registers that there are not.
constexpr int kFlippedGroups = 2;
// Vector registers for what is masked in groups that are partly padding: the mask, and a group that may end outside of
// its buffer.
constexpr int kMaskRegisters = 2;
// For the bits that are flipped in rows.
constexpr int kFlipRegisters = 1;

// Pages of a panel up to which it is read where it lies.
constexpr int64_t kPageBytes = 4096, kMostPages = 512;

Refusal No(const char* reason, uint32_t block) { return {"contraction_rule", reason, {block}}; }

int64_t RoundUp(int64_t n, int64_t multiple) { return (n + multiple - 1) / multiple * multiple; }

int64_t Extent(const BlockRealizeNode& realize, int iterator) {
  return *AsInt(realize.block->iter_vars[static_cast<size_t>(iterator)].domain.extent);
}

// What the rule finds out before it changes anything.
struct Plan {
  Contraction contraction;
  TileInstruction instruction;
  std::vector<RegisterTile> tiles;  // those worth a try
  int row, column, depth;           // the tiled iterators
  bool rows_outside = false;        // of the batch, preferably
  bool uneven = false;              // factors of some products are known to be zero: some batches have less to do
};

// Whether the row operand is stored at the iterators, several inner ones among them: what cache_factors leaves, which
// is computed where it is used.
bool IsComputedPerProduct(const BlockNode& block, const Contraction& contraction, const BufferRegion& read) {
  int inner = 0;
  for (const Range& range : read.region) {
    const auto* var = dyn_cast<VarNode>(range.min);
    if (var == nullptr && !AsInt(range.min)) return false;
    for (int iterator : contraction.inner) {
      inner += var == block.iter_vars[static_cast<size_t>(iterator)].var.get() ? 1 : 0;
    }
  }
  return inner > 1;
}

bool IsComputedPerProduct(const BlockNode& block, const Contraction& contraction) {
  return std::ranges::any_of(block.reads, [&](const BufferRegion& read) {
    return read.buffer.same_as(contraction.row_operand) && IsComputedPerProduct(block, contraction, read);
  });
}

// The distance in bytes of two elements of the row operand that neighbouring rows of a tile read; where that is not
// known, of neighbours in memory.
int64_t RowStrideBytes(const BlockNode& block, const Contraction& contraction, const Var& row) {
  int64_t stride = 0;
  const auto& shape = contraction.row_operand->shape;
  for (const BufferRegion& read : block.reads) {
    if (!read.buffer.same_as(contraction.row_operand)) continue;
    if (IsComputedPerProduct(block, contraction, read)) return contraction.row_operand->dtype.bytes();
    int64_t inner = contraction.row_operand->dtype.bytes();
    for (size_t d = shape.size(); d-- > 0;) {
      if (UsesVar(read.region[d].min, row)) stride = std::max(stride, inner);
      inner *= AsInt(shape[d]).value_or(1);
    }
  }
  return stride;
}

// The inner iterator along which groups are formed: that of the row operand's last dimension, where neighbours are next
// to each other in memory; the innermost one where that dimension has none of its own.
int DepthIterator(const BlockNode& block, const Contraction& contraction) {
  for (const BufferRegion& read : block.reads) {
    if (!read.buffer.same_as(contraction.row_operand)) continue;
    for (int iterator : contraction.inner) {
      if (read.region.back().min.same_as(block.iter_vars[static_cast<size_t>(iterator)].var)) return iterator;
    }
  }
  return contraction.inner.back();
}

// Whether neighbours along a batch iterator lie closer in the output than rows do, and half of the first cache level
// holds the whole column operand: groups of a convolution with few channels. Each pass over the rows for one group
// alone would touch the lines of all of them.
bool RowsOutside(const BlockNode& block, const Contraction& contraction, const Target& target) {
  auto extent = [&](int iterator) { return *AsInt(block.iter_vars[static_cast<size_t>(iterator)].domain.extent); };
  int64_t column_bytes = contraction.column_operand->dtype.bytes();
  for (const auto* iterators : {&contraction.batch, &contraction.columns, &contraction.inner}) {
    for (int iterator : *iterators) column_bytes *= extent(iterator);
  }
  if (column_bytes > target.caches[0].bytes / 2) return false;
  for (const Access& access : AccessesOf(block)) {
    if (!access.store) continue;
    auto stride = [&](int iterator) { return access.strides[static_cast<size_t>(iterator)].value_or(0); };
    for (int batch : contraction.batch) {
      if (extent(batch) == 1) continue;
      return std::all_of(contraction.rows.begin(), contraction.rows.end(),
                         [&](int row) { return extent(row) == 1 || stride(row) > stride(batch); });
    }
  }
  return false;
}

// Whether the row operand is a copy with flipped bits (autoschedule/flip_rows.h).
bool FlipsRows(Schedule& sch, BlockRv block, const Contraction& contraction) {
  const std::optional<BlockRv> writer = WriterOf(sch, block, contraction.row_operand);
  if (!writer) return false;
  const auto* store = dyn_cast<StoreNode>(RealizeOf(sch, *writer).block->body);
  const auto* flipped = store == nullptr ? nullptr : dyn_cast<CallNode>(store->value);
  return flipped != nullptr && flipped->op == "bitwise_xor";
}

Outcome<Plan> MakePlan(Schedule& sch, BlockRv block, const Target& target) {
  const BlockRealizeNode& realize = RealizeOf(sch, block);
  const uint32_t id = realize.block->id;
  absl::StatusOr<Contraction> contraction = MatchContraction(realize);
  if (!contraction.ok()) {
    return Refusal{"contraction_rule", "{text0}", {id}, {}, {std::string(contraction.status().message())}};
  }
  const std::optional<TileInstruction> instruction = FindTileInstruction(
      target, contraction->row_operand->dtype, contraction->column_operand->dtype, contraction->product_type);
  if (!instruction) {
    return Refusal{"contraction_rule",
                   "the target has no tiles that multiply {text0} by {text1} and add in {text2}",
                   {id},
                   {},
                   {contraction->row_operand->dtype.ToString(), contraction->column_operand->dtype.ToString(),
                    contraction->product_type.ToString()}};
  }
  if (contraction->rows.empty()) return No("{block0} has no rows to tile", id);
  for (const IterVar& iter : realize.block->iter_vars) {
    if (!AsInt(iter.domain.extent)) return No("an extent of {block0} is not constant", id);
  }
  Plan plan{
      *contraction, *instruction, {}, contraction->rows.back(), contraction->columns.back(), contraction->inner.back()};
  if (instruction->group > 1) plan.depth = DepthIterator(*realize.block, *contraction);
  if (Extent(realize, plan.depth) % instruction->group != 0) plan.instruction.registers -= kMaskRegisters;
  if (FlipsRows(sch, block, *contraction)) plan.instruction.registers -= kFlipRegisters;
  const int64_t rows = Extent(realize, plan.row), columns = Extent(realize, plan.column);
  const int64_t stride =
      RowStrideBytes(*realize.block, *contraction, realize.block->iter_vars[static_cast<size_t>(plan.row)].var);
  const int64_t most = std::min(rows, MaxRowsWithoutConflicts(target, stride));
  plan.tiles = RegisterTiles(plan.instruction, rows, columns, most);
  plan.rows_outside = RowsOutside(*realize.block, *contraction, target);
  plan.uneven = IsComputedPerProduct(*realize.block, *contraction);
  const double best = BestTile(plan.tiles).efficiency;
  std::erase_if(plan.tiles, [&](const RegisterTile& tile) { return tile.efficiency < kWorthATry * best; });
  return plan;
}

// The group in which the target's tiles multiply neighbours of the contraction's operands; 1 when there is none.
int GroupOf(const BlockRealizeNode& realize, const Target& target) {
  const absl::StatusOr<Contraction> contraction = MatchContraction(realize);
  if (!contraction.ok()) return 1;
  const std::optional<TileInstruction> instruction = FindTileInstruction(
      target, contraction->row_operand->dtype, contraction->column_operand->dtype, contraction->product_type);
  return instruction ? instruction->group : 1;
}

// A tile: first its vectors, then its rows.
Outcome<RegisterTile> PickTile(Schedule& sch, const std::string& block, const Plan& plan, Choices& choices) {
  const RegisterTile best = BestTile(plan.tiles);
  std::vector<int64_t> vectors, rows;
  size_t preferred = 0;
  for (const RegisterTile& tile : plan.tiles) {
    if (!vectors.empty() && vectors.back() == tile.vectors) continue;
    if (tile.vectors == best.vectors) preferred = vectors.size();
    vectors.push_back(tile.vectors);
  }
  TW_ASSIGN_OR_RETURN(const Choices::Pick picked, choices.Take(sch, block + ".tile_vectors", vectors, preferred));
  std::vector<RegisterTile> tiles = plan.tiles;
  std::erase_if(tiles, [&](const RegisterTile& tile) { return tile.vectors != picked.value; });
  const RegisterTile best_here = BestTile(tiles);
  for (const RegisterTile& tile : tiles) {
    if (tile.rows == best_here.rows) preferred = rows.size();
    rows.push_back(tile.rows);
  }
  TW_ASSIGN_OR_RETURN(const Choices::Pick height, choices.Take(sch, block + ".tile_rows", rows, preferred));
  for (const RegisterTile& tile : tiles) {
    if (tile.rows == height.value) return tile;
  }
  return best_here;
}

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

// The number of a buffer among those a block reads.
int ReadIndex(const BlockRealizeNode& realize, const Buffer& buffer) {
  const auto& reads = realize.block->reads;
  const auto it =
      std::find_if(reads.begin(), reads.end(), [&](const BufferRegion& r) { return r.buffer.same_as(buffer); });
  return static_cast<int>(it - reads.begin());
}

Outcome<BlockRv> ReindexRead(Schedule& sch, BlockRv block, const Buffer& buffer) {
  const Value::List which = {Value("read"), Value(ReadIndex(RealizeOf(sch, block), buffer))};
  TW_ASSIGN_OR_RETURN(const std::vector<Rv> results, sch.Apply("reindex", {block, Value(which)}));
  return BlockRv{results[0]};
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
bool WorthPacking(const Plan& plan, const RegisterTile& tile, const BlockRealizeNode& realize) {
  int64_t uses = 1, panel_rows = 1, bytes = plan.contraction.column_operand->dtype.bytes();
  for (int row : plan.contraction.rows) uses *= Extent(realize, row);
  for (int inner : plan.contraction.inner) panel_rows *= Extent(realize, inner);
  for (int column : plan.contraction.columns) bytes *= Extent(realize, column);
  return uses > tile.rows && std::min(panel_rows, panel_rows * bytes / kPageBytes) > kMostPages;
}

// The positions of iterators in their order: the dimensions of a stage that uses them.
std::vector<int> StageDims(std::initializer_list<const std::vector<int>*> groups) {
  std::vector<int> dims;
  for (const std::vector<int>* group : groups) dims.insert(dims.end(), group->begin(), group->end());
  std::sort(dims.begin(), dims.end());
  return dims;
}

// Stores what `stage` writes, whose dimensions are the iterators `dims`, with those in `last` as its last dimensions.
// With `width`, the last of them is divided: (last // width, others..., last % width). With a group, the first of them
// is divided too: (..., first // group, last % width, first % group).
Outcome<Done> ReorderStage(Schedule& sch, BlockRv stage, const std::vector<int>& dims, const std::vector<int>& last,
                           int width = 0, int group = 1) {
  std::vector<Var> inputs;
  std::vector<Expr> outputs, tail(last.size());
  for (int dim : dims) {
    inputs.emplace_back("i" + std::to_string(inputs.size()));
    const auto place = std::find(last.begin(), last.end(), dim);
    if (place == last.end()) {
      outputs.push_back(inputs.back());
    } else {
      tail[static_cast<size_t>(place - last.begin())] = inputs.back();
    }
  }
  if (width != 0) {
    outputs.insert(outputs.begin(), FloorDiv(tail.back(), width));
    tail.back() = FloorMod(tail.back(), width);
  }
  if (group > 1) {
    tail.push_back(FloorMod(tail.front(), group));
    tail.front() = FloorDiv(tail.front(), group);
  }
  outputs.insert(outputs.end(), tail.begin(), tail.end());
  const Value::List written = {Value("write"), Value(0)};
  TW_RETURN_IF_REFUSED(
      sch.Apply("transform_layout", {stage, Value(written), Value(IndexMap(std::move(inputs), std::move(outputs)))}));
  return Done();
}

}  // namespace

Outcome<Done> ScheduleContraction(Schedule& sch, BlockRv block, const Target& target, Choices& choices) {
  const int groups = GroupOf(RealizeOf(sch, block), target);
  const bool fused_depth = groups > 1 && FuseDepth(sch, block, groups);
  TW_ASSIGN_OR_RETURN(const Plan plan, MakePlan(sch, block, target));
  const Contraction& contraction = plan.contraction;
  const std::string name = RealizeOf(sch, block).block->name;

  // Stages: what the block reads and writes gets buffers indexed by its iterators. Padding blocks move into the row
  // stage.
  TW_ASSIGN_OR_RETURN(const BlockRv row_stage, ReindexRead(sch, block, contraction.row_operand));
  TW_ASSIGN_OR_RETURN(const BlockRv column_stage, ReindexRead(sch, block, contraction.column_operand));
  const bool plain_output = WritesAtIterators(*RealizeOf(sch, block).block);
  TW_ASSIGN_OR_RETURN(const BlockRv write_back, StageOutput(sch, block));
  if (!plain_output) {
    const std::vector<int> dims = StageDims({&contraction.batch, &contraction.rows, &contraction.columns});
    TW_RETURN_IF_REFUSED(ReorderStage(sch, block, dims, {plan.row, plan.column}));
  }
  SplitIntoPieces(sch, write_back);
  // A consumer that takes a part of the output only leaves a predicate, with which blocks do not move: it is fused when
  // all are in their places.
  const Schedule unfused = sch;
  FuseConsumers(sch, write_back);
  const bool is_cut = !IsTrue(RealizeOf(sch, write_back).predicate);
  if (is_cut) sch = unfused;
  InlineProducers(sch, row_stage, false);
  InlineProducers(sch, column_stage, true);
  TW_RETURN_IF_REFUSED(sch.SetScope(row_stage, 0, "register"));
  const std::vector<int> row_dims = StageDims({&contraction.batch, &contraction.rows, &contraction.inner});
  const std::vector<int> column_dims = StageDims({&contraction.batch, &contraction.columns, &contraction.inner});
  const auto column_dim = static_cast<size_t>(std::ranges::find(column_dims, plan.column) - column_dims.begin());
  const bool plain_columns =
      plan.instruction.group == 1 && CopiesAlong(*RealizeOf(sch, column_stage).block, column_dim);

  TW_ASSIGN_OR_RETURN(const RegisterTile tile, PickTile(sch, name, plan, choices));
  const bool worth_packing = WorthPacking(plan, tile, RealizeOf(sch, block));
  const int tile_columns = tile.vectors * plan.instruction.lanes;
  const int group = plan.instruction.group;
  const int64_t depth_extent = RoundUp(Extent(RealizeOf(sch, block), plan.depth), group);
  const bool padded_depth = depth_extent != Extent(RealizeOf(sch, block), plan.depth);
  std::vector<int64_t> depths = {group, 2 * group, 4 * group};
  // All of a fused depth, so that its borders are constants.
  if (fused_depth && tile.rows * tile.vectors * depth_extent / group <= kMostSteps) {
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
  const int64_t rows = Extent(realize, plan.row), columns = Extent(realize, plan.column);
  if (rows % tile.rows != 0 || columns % tile_columns != 0 || padded_depth) {
    Value::List padding(realize.bindings.size(), Value(1));
    padding[static_cast<size_t>(plan.row)] = Value(tile.rows);
    padding[static_cast<size_t>(plan.column)] = Value(tile_columns);
    padding[static_cast<size_t>(plan.depth)] = Value(group);
    TW_RETURN_IF_REFUSED(sch.Apply("pad_einsum_in_place", {block, Value(padding)}));
  }

  // Operands in the layout the tile reads: rows next to the innermost depth, columns in panels.
  TW_RETURN_IF_REFUSED(ReorderStage(sch, row_stage, row_dims, {plan.row, plan.depth}));
  TW_RETURN_IF_REFUSED(ReorderStage(sch, column_stage, column_dims, {plan.depth, plan.column}, tile_columns, group));

  // Loops. Rows may be blocked: tile rows [row block, rows of a block]; the loops over the batch go between any of the
  // loops over rows, and those over columns between these or inside.
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, LoopsByIterator(sch, block, "contraction_rule"));
  auto loop_of = [&](int iterator) { return loops[static_cast<size_t>(iterator)]; };
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> row, sch.Split(loop_of(plan.row), {Value(), tile.rows}));
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> column, sch.Split(loop_of(plan.column), {Value(), tile_columns}));
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> depth, sch.Split(loop_of(plan.depth), {Value(), tile_depth}));
  std::vector<LoopRv> outer_rows, outer, inner;
  for (int iterator : contraction.rows) {
    if (iterator != plan.row) outer_rows.push_back(loop_of(iterator));
  }
  const std::vector<int64_t> blocks = Divisors(*ExtentOf(sch, row[0]));
  TW_ASSIGN_OR_RETURN(const Choices::Pick row_block, choices.Take(sch, name + ".row_block", blocks, blocks.size() - 1));
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
    const size_t preferred = plan.rows_outside ? outer_rows.size() : inside ? outer_rows.size() - 1 : 0;
    TW_ASSIGN_OR_RETURN(const Choices::Pick picked,
                        choices.Take(sch, name + ".batch_after", Iota(0, row_loops), preferred));
    batch_place = picked.value;
  }
  TW_ASSIGN_OR_RETURN(const Choices::Pick column_place,
                      choices.Take(sch, name + ".columns_after", Iota(batch_place, row_loops), 0));
  outer.assign(outer_rows.begin(), outer_rows.begin() + batch_place);
  for (int iterator : contraction.batch) outer.push_back(loop_of(iterator));
  const auto place = outer_rows.begin() + column_place.value;
  outer.insert(outer.end(), outer_rows.begin() + batch_place, place);
  for (int iterator : contraction.columns) outer.push_back(iterator == plan.column ? column[0] : loop_of(iterator));
  outer.insert(outer.end(), place, outer_rows.end());
  for (int iterator : contraction.inner) inner.push_back(iterator == plan.depth ? depth[0] : loop_of(iterator));
  std::vector<LoopRv> order = outer;
  order.insert(order.end(), inner.begin(), inner.end());
  order.insert(order.end(), {row[1], column[1], depth[1]});
  TW_RETURN_IF_REFUSED(sch.Reorder(order));

  // Data movement.
  const LoopRv tile_loop = outer.back();
  TW_RETURN_IF_REFUSED(sch.ReverseComputeAt(write_back, tile_loop));
  TW_RETURN_IF_REFUSED(sch.ComputeAt(row_stage, inner.back()));
  TW_ASSIGN_OR_RETURN(const BlockRv init, sch.DecomposeReduction(block, inner[0]));
  TW_RETURN_IF_REFUSED(
      sch.Tensorize(row[1], plan.instruction.TileName(tile.rows, tile_columns, static_cast<int>(tile_depth.value))));
  TW_RETURN_IF_REFUSED(WriteOut(sch, init, tile_loop, true));
  TW_RETURN_IF_REFUSED(WriteOut(sch, write_back, tile_loop, true));
  if (group > 1) TW_RETURN_IF_REFUSED(SplitInnermost(sch, row_stage, group));
  TW_RETURN_IF_REFUSED(WriteOut(sch, row_stage, inner.back(), group > 1));

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
  } else if (!constant && column_place.value == 0) {
    outer.resize(contraction.batch.size() + contraction.columns.size());
    TW_RETURN_IF_REFUSED(PackInLoop(sch, column_stage, outer.back(), target));
  }

  // Threads. 0: the caller's thread alone.
  std::vector<int64_t> extents;
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

  if (is_cut) FuseConsumers(sch, write_back);
  if (constant) {
    TW_RETURN_IF_REFUSED(sch.Apply("hoist_prepack", {column_stage}));
  }
  return Done();
}

}  // namespace tilewright
