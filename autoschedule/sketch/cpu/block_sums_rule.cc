#include "autoschedule/sketch/cpu/block_sums_rule.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "autoschedule/movement/auto_copy.h"
#include "autoschedule/movement/cpu/operand_stages.h"
#include "autoschedule/movement/cpu/stage_layouts.h"
#include "autoschedule/program/access_strides.h"
#include "autoschedule/program/block_loops.h"
#include "autoschedule/program/contraction.h"
#include "autoschedule/program/fuse_consumers.h"
#include "autoschedule/program/sizes.h"
#include "autoschedule/sketch/cpu/contraction_plan.h"
#include "autoschedule/tensorize/register_tile.h"
#include "base/status_macros.h"
#include "intrin/dot_tile.h"
#include "ir/analysis.h"
#include "schedule/layout/hoist_prepack.h"
#include "schedule/program/sum_form.h"

namespace tilewright {
namespace {

using Done = std::monostate;

Refusal No(const char* reason, uint32_t block) { return {"block_sums_rule", reason, {block}}; }

const MachineInstruction* InstructionFor(const Contraction& contraction, const Target& target) {
  return FindInstruction(target, "dot", contraction.row_operand->dtype, contraction.column_operand->dtype,
                         contraction.product_type);
}

// The only reader of the block's sums, a reduction over the block's batch iterator; nothing if other blocks read them.
std::optional<BlockRv> AdderOf(Schedule& sch, BlockRv block, const Contraction& contraction) {
  const Outcome<std::vector<BlockRv>> readers = sch.GetConsumers(block);
  if (!readers.ok() || readers->size() != 1 || IsScheduled(sch, readers->front())) return std::nullopt;
  const BlockNode& adder = *RealizeOf(sch, readers->front()).block;
  if (!adder.init || !AsSum(adder) || !isa<VarNode>(adder.writes[0].region.back().min)) return std::nullopt;
  const auto is_reduce = [](const IterVar& iter) { return iter.kind == IterKind::kReduce; };
  if (std::ranges::count_if(adder.iter_vars, is_reduce) != 1) return std::nullopt;
  const auto reduced = std::ranges::find_if(adder.iter_vars, is_reduce);
  for (const BufferRegion& read : adder.reads) {
    if (!read.buffer.same_as(contraction.output)) continue;
    // Blocks first, then rows and columns.
    if (read.region.empty() || !read.region[0].min.same_as(reduced->var)) return std::nullopt;
    for (size_t d = 1; d < read.region.size(); ++d) {
      if (!isa<VarNode>(read.region[d].min)) return std::nullopt;
    }
    return readers->front();
  }
  return std::nullopt;
}

// The iterator along the last dimension of what the block writes at its iterators.
Var ColumnOf(const BlockNode& adder) { return Var(cast<VarNode>(adder.writes[0].region.back().min)); }

// Whether the stage computes its copy from constants only.
bool IsMadeOfConstants(const Schedule& sch, BlockRv stage) {
  return !RealizeOf(sch, stage).block->reads.empty() && ReadsConstants(sch, stage);
}

// Stores a copy in panels: the dimension `depth`, if `dims` has it, is divided by groups; the last dimensions are the
// columns of a panel and the elements of a group.
Outcome<Done> LayOutPanels(Schedule& sch, BlockRv copy, size_t column, std::optional<size_t> depth, int width,
                           int group) {
  const Buffer buffer = RealizeOf(sch, copy).block->writes[0].buffer;
  std::vector<Var> inputs;
  std::vector<Expr> outputs;
  for (size_t d = 0; d < buffer->shape.size(); ++d) {
    inputs.emplace_back("i" + std::to_string(d));
    if (d == column) continue;
    outputs.push_back(d == depth ? FloorDiv(inputs[d], group) : Expr(inputs[d]));
  }
  outputs.insert(outputs.begin(), FloorDiv(inputs[column], width));
  outputs.push_back(FloorMod(inputs[column], width));
  if (depth) outputs.push_back(FloorMod(inputs[*depth], group));
  const bool whole = AsInt(buffer->shape[column]).value_or(0) % width == 0;
  const Value pad = whole ? Value() : Value(0);
  TW_RETURN_IF_ERROR(sch.TransformLayout(copy, Value::List{Value("write"), Value(0)},
                                         IndexMap(std::move(inputs), std::move(outputs)), pad));
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, sch.GetLoops(copy));
  if (BytesOf(buffer) >= kManyReads / 4) TW_RETURN_IF_ERROR(sch.Parallel(loops[0]));
  return sch.HoistPrepack(copy);
}

// One schedule under construction.
class BlockSums {
 public:
  BlockSums(Schedule& sch, BlockRv block, BlockRv adder, const Contraction& contraction, const Target& target,
            Choices& choices)
      : sch_(sch),
        block_(block),
        adder_(adder),
        contraction_(contraction),
        target_(target),
        choices_(choices),
        name_(RealizeOf(sch, block).block->name),
        row_(*InstructionFor(contraction, target)) {}

  Outcome<Done> Apply();

 private:
  Outcome<Done> AddRow();
  Outcome<Done> PickTiles();
  Outcome<Done> StageOperands();
  Outcome<Done> PackColumns();
  Outcome<Done> PackScales();
  Outcome<Done> SplitLoops();
  Outcome<Done> PlaceAdder();
  Outcome<Done> PlaceSums();
  Outcome<Done> WriteOutAdder();
  Outcome<Done> PlaceTile();
  Outcome<Done> PlaceColumns();
  Outcome<Done> ShareTiles();
  const BlockNode& block() const { return *RealizeOf(sch_, block_).block; }
  int64_t Extent(int iterator) const { return ExtentOf(block().iter_vars[static_cast<size_t>(iterator)]).value_or(0); }
  // The dimension of the column stage that the iterator is.
  size_t ColumnDim(int iterator) const {
    return static_cast<size_t>(std::ranges::find(column_dims_, iterator) - column_dims_.begin());
  }

  Schedule& sch_;
  const BlockRv block_, adder_;
  Contraction contraction_;
  const Target& target_;
  Choices& choices_;
  const std::string name_;
  const MachineInstruction& row_;

  ContractionPlan plan_;
  RegisterTile tile_;
  int64_t tile_groups_ = 1;
  bool sums_follow_ = false;
  bool has_row_ = true;  // otherwise the row was added, and no operand has it
  BlockRv write_back_, row_stage_, column_stage_;
  std::vector<int> row_dims_, column_dims_;
  LoopRv columns_, rows_, blocks_;
  std::vector<LoopRv> inner_, tile_loops_;
};

// A product with a vector gets a row dimension of 1.
Outcome<Done> BlockSums::AddRow() {
  if (!contraction_.rows.empty()) return Done();
  has_row_ = false;
  std::vector<Var> inputs;
  std::vector<Expr> outputs;
  for (const IterVar& iter : block().iter_vars) {
    inputs.emplace_back(iter.var.name(), iter.var.dtype());
    outputs.push_back(inputs.back());
  }
  outputs.insert(outputs.begin(), Const(inputs[0].dtype(), 0));
  TW_RETURN_IF_ERROR(sch_.TransformBlockLayout(block_, IndexMap(std::move(inputs), std::move(outputs))));
  for (auto* iterators : {&contraction_.batch, &contraction_.columns, &contraction_.inner}) {
    for (int& iterator : *iterators) ++iterator;
  }
  contraction_.rows = {0};
  return Done();
}

Outcome<Done> BlockSums::PickTiles() {
  const Ref<BlockRealizeNode> likely = LikelyRealizeOf(sch_, block_);
  // Bytes that are unpacked take registers too.
  plan_ = {.contraction = contraction_,
           .instruction = {.row = &row_,
                           .group = row_.group(),
                           .lanes = row_.n,
                           .registers = row_.registers - row_.OtherRegisters(1),
                           .per_cycle = StartsPerCycle(row_, target_)},
           .row = contraction_.rows.back(),
           .column = contraction_.columns.back(),
           .depth = DepthIterator(block(), contraction_)};
  const int64_t rows = IteratorExtent(*likely, plan_.row), columns = IteratorExtent(*likely, plan_.column);
  plan_.tiles = RegisterTiles(plan_.instruction, rows, columns, rows);
  // If the adder reads nothing else that is computed, it moves to the sums; otherwise the sums move to the adder, in
  // whole tiles.
  TW_ASSIGN_OR_RETURN(const std::vector<BlockRv> producers, sch_.GetProducers(adder_));
  sums_follow_ = producers.size() > 1;
  const Expr& all_rows = block().iter_vars[static_cast<size_t>(plan_.row)].domain.extent;
  std::erase_if(plan_.tiles, [&](const RegisterTile& tile) {
    return sums_follow_ && (!Divides(tile.rows, all_rows) || columns % (tile.vectors * row_.n) != 0);
  });
  if (plan_.tiles.empty()) return No("the registers hold no tile of {block0}", block().id);
  TW_ASSIGN_OR_RETURN(tile_, PickTile(sch_, name_, plan_, plan_.tiles, choices_));
  std::vector<int64_t> groups = {1, 2, 4, 8};
  std::erase_if(groups, [&](int64_t count) { return Extent(plan_.depth) % (count * row_.group()) != 0; });
  size_t preferred = 0;
  // LLVM keeps weights of long code in memory where other instructions add up what one multiplies.
  while (!row_.ByParts() && preferred + 1 < groups.size() &&
         groups[preferred + 1] * tile_.rows * tile_.vectors <= row_.group() * row_.registers) {
    ++preferred;
  }
  TW_ASSIGN_OR_RETURN(const Choices::Pick pick, choices_.Take(sch_, name_ + ".tile_depth", groups, preferred));
  tile_groups_ = pick.value;
  return Done();
}

// Copies of both operands at the block's iterators, padded to whole tiles; sums in registers.
Outcome<Done> BlockSums::StageOperands() {
  TW_ASSIGN_OR_RETURN(row_stage_, ReindexRead(sch_, block_, contraction_.row_operand));
  TW_ASSIGN_OR_RETURN(column_stage_, ReindexRead(sch_, block_, contraction_.column_operand));
  InlineProducers(sch_, column_stage_, true);
  if (!IsMadeOfConstants(sch_, column_stage_)) return No("the columns of {block0} are not constant", block().id);
  row_dims_ = StageDims({&contraction_.batch, &contraction_.rows, &contraction_.inner});
  if (!has_row_) std::erase(row_dims_, plan_.row);
  column_dims_ = StageDims({&contraction_.batch, &contraction_.columns, &contraction_.inner});
  TW_RETURN_IF_ERROR(PackColumns());
  const int64_t columns = tile_.vectors * row_.n;
  Value::List padding(block().iter_vars.size(), Value(1));
  padding[static_cast<size_t>(plan_.row)] = Value(tile_.rows);
  padding[static_cast<size_t>(plan_.column)] = Value(columns);
  const bool whole_rows = Divides(tile_.rows, block().iter_vars[static_cast<size_t>(plan_.row)].domain.extent);
  if (!whole_rows || Extent(plan_.column) % columns != 0) {
    TW_RETURN_IF_ERROR(sch_.PadEinsumInPlace(block_, std::move(padding)));
  }
  std::vector<int> last = {plan_.row, plan_.depth};
  if (!has_row_) last.erase(last.begin());
  TW_RETURN_IF_ERROR(ReorderStage(sch_, row_stage_, row_dims_, last));
  TW_RETURN_IF_ERROR(ReorderStage(sch_, column_stage_, column_dims_, {plan_.depth, plan_.column},
                                  static_cast<int>(columns), row_.group()));
  return sch_.SetScope(block_, 0, "register");
}

// The constants that columns are unpacked from, in panels as wide as one vector of sums for every tile.
Outcome<Done> BlockSums::PackColumns() {
  const std::vector<BufferRegion> reads = RealizeOf(sch_, column_stage_).block->reads;
  for (const BufferRegion& read : reads) {
    TW_ASSIGN_OR_RETURN(const BlockRv copy, ReindexRead(sch_, column_stage_, read.buffer));
    const BlockNode& stage = *RealizeOf(sch_, column_stage_).block;
    const Buffer packed = RealizeOf(sch_, copy).block->writes[0].buffer;
    const std::vector<Range>& region = ReadOf(stage, packed).region;
    const auto dim_of = [&](int iterator) -> std::optional<size_t> {
      const Var& var = stage.iter_vars[ColumnDim(iterator)].var;
      const auto found = std::ranges::find_if(region, [&](const Range& r) { return r.min.same_as(var); });
      if (found == region.end()) return std::nullopt;
      return static_cast<size_t>(found - region.begin());
    };
    const std::optional<size_t> column = dim_of(plan_.column), depth = dim_of(plan_.depth);
    if (!column || !depth) return No("{block0} does not read bytes at columns and along the depth", stage.id);
    TW_RETURN_IF_ERROR(LayOutPanels(sch_, copy, *column, depth, row_.n, row_.group()));
  }
  return Done();
}

// Constants that the adder reads along its columns lie in panels too.
Outcome<Done> BlockSums::PackScales() {
  const std::vector<BufferRegion> reads = RealizeOf(sch_, adder_).block->reads;
  for (const BufferRegion& read : reads) {
    const Var column = ColumnOf(*RealizeOf(sch_, adder_).block);
    const bool along = std::ranges::any_of(read.region, [&](const Range& r) { return UsesVar(r.min, column); });
    if (!along || read.buffer.same_as(contraction_.output)) continue;
    Schedule attempt = sch_;
    const Outcome<BlockRv> stage = ReindexRead(attempt, adder_, read.buffer);
    if (!stage.ok()) continue;
    InlineProducers(attempt, *stage, true);
    if (!IsMadeOfConstants(attempt, *stage)) continue;
    const BlockNode& adder = *RealizeOf(attempt, adder_).block;
    const std::vector<Range>& region = ReadOf(adder, RealizeOf(attempt, *stage).block->writes[0].buffer).region;
    const Var now = ColumnOf(adder);
    const auto dim = std::ranges::find_if(region, [&](const Range& r) { return r.min.same_as(now); });
    if (dim == region.end()) continue;
    const auto place = static_cast<size_t>(dim - region.begin());
    if (LayOutPanels(attempt, *stage, place, std::nullopt, row_.n, 1).ok()) sch_ = std::move(attempt);
  }
  return Done();
}

// The order of loops: column tiles, row tiles, blocks of K, groups, and other reductions (planes of a byte).
Outcome<Done> BlockSums::SplitLoops() {
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, LoopsByIterator(sch_, block_, "block_sums_rule"));
  const auto loop_of = [&](int iterator) { return loops[static_cast<size_t>(iterator)]; };
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> row, sch_.Split(loop_of(plan_.row), {Value(), tile_.rows}));
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> column,
                      sch_.Split(loop_of(plan_.column), {Value(), tile_.vectors * row_.n}));
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> depth,
                      sch_.Split(loop_of(plan_.depth), {Value(), tile_groups_, row_.group()}));
  std::vector<LoopRv> order = {column[0]};
  for (int iterator : contraction_.rows) order.push_back(iterator == plan_.row ? row[0] : loop_of(iterator));
  order.push_back(loop_of(contraction_.batch[0]));
  inner_ = {depth[0], depth[1]};
  for (int iterator : contraction_.inner) {
    if (iterator != plan_.depth) inner_.push_back(loop_of(iterator));
  }
  tile_loops_ = {row[1], column[1], depth[2]};
  columns_ = column[0];
  rows_ = order[order.size() - 2];
  blocks_ = order.back();
  order.insert(order.end(), inner_.begin(), inner_.end());
  order.insert(order.end(), tile_loops_.begin(), tile_loops_.end());
  return sch_.Reorder(order);
}

// The sums of blocks are added up as soon as a tile of them is complete.
Outcome<Done> BlockSums::PlaceAdder() {
  TW_RETURN_IF_ERROR(sch_.ReverseComputeAt(adder_, blocks_));
  TW_RETURN_IF_ERROR(sch_.ReverseComputeAt(write_back_, rows_));
  return WriteOutAdder();
}

Outcome<Done> BlockSums::WriteOutAdder() {
  TW_ASSIGN_OR_RETURN(const BlockRv init, sch_.DecomposeReduction(adder_, blocks_));
  TW_RETURN_IF_ERROR(WriteOut(sch_, adder_, blocks_, true));
  for (const BlockRv& part : {init, write_back_}) TW_RETURN_IF_ERROR(WriteOut(sch_, part, rows_, true));
  return Done();
}

// The loops of the adder become tiles, and the sums of a tile are computed in those over blocks.
Outcome<Done> BlockSums::PlaceSums() {
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> all, LoopsByIterator(sch_, adder_, "block_sums_rule"));
  const BlockNode& adder = *RealizeOf(sch_, adder_).block;
  std::vector<LoopRv> order, inside;
  for (size_t i = 0; i < all.size(); ++i) {
    if (adder.iter_vars[i].kind == IterKind::kReduce) {
      blocks_ = all[i];
    } else {
      order.push_back(all[i]);
    }
  }
  if (order.size() != contraction_.rows.size() + (has_row_ ? 1 : 0)) return No("{block0} has other rows", adder.id);
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> column, sch_.Split(order.back(), {Value(), tile_.vectors * row_.n}));
  order.pop_back();
  columns_ = rows_ = column[0];
  inside = {column[1]};
  if (has_row_) {
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> row, sch_.Split(order.back(), {Value(), tile_.rows}));
    order.back() = rows_ = row[0];
    inside.insert(inside.begin(), row[1]);
  }
  order.insert(order.begin(), column[0]);
  order.push_back(blocks_);
  order.insert(order.end(), inside.begin(), inside.end());
  TW_RETURN_IF_ERROR(sch_.Reorder(order));
  TW_RETURN_IF_ERROR(sch_.ReverseComputeAt(write_back_, rows_));
  TW_RETURN_IF_ERROR(sch_.ComputeAt(block_, blocks_, /*preserve_unit_loops=*/true));
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, LoopsInside(sch_, block_, blocks_));
  if (loops.size() != block().iter_vars.size()) return No("iterators of {block0} have no loops", block().id);
  const auto loop_of = [&](int iterator) { return loops[static_cast<size_t>(iterator)]; };
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> depth,
                      sch_.Split(loop_of(plan_.depth), {Value(), tile_groups_, row_.group()}));
  inner_ = {depth[0], depth[1]};
  for (int iterator : contraction_.inner) {
    if (iterator != plan_.depth) inner_.push_back(loop_of(iterator));
  }
  tile_loops_ = {loop_of(plan_.row), loop_of(plan_.column), depth[2]};
  std::vector<LoopRv> nest = {loop_of(contraction_.batch[0])};
  for (int iterator : contraction_.rows) {
    if (iterator != plan_.row) nest.push_back(loop_of(iterator));
  }
  nest.insert(nest.end(), inner_.begin(), inner_.end());
  nest.insert(nest.end(), tile_loops_.begin(), tile_loops_.end());
  TW_RETURN_IF_ERROR(sch_.Reorder(nest));
  return WriteOutAdder();
}

Outcome<Done> BlockSums::PlaceTile() {
  const LoopRv innermost = inner_.back();
  TW_ASSIGN_OR_RETURN(const AutoCopy rows, ReadStageAt(sch_, block_, row_stage_, innermost, "register"));
  TW_RETURN_IF_ERROR(Expand(sch_, rows));
  row_stage_ = rows.block;
  TW_RETURN_IF_ERROR(PlaceColumns());
  TW_ASSIGN_OR_RETURN(const BlockRv init, sch_.DecomposeReduction(block_, inner_[0]));
  const int columns = tile_.vectors * row_.n;
  TW_RETURN_IF_ERROR(sch_.Tensorize(tile_loops_[0], DotTileName(row_, tile_.rows, columns, row_.group())));
  // The intrinsic reads them from any memory.
  TW_RETURN_IF_ERROR(sch_.SetScope(column_stage_, 0, "register"));
  TW_RETURN_IF_ERROR(WriteOut(sch_, init, blocks_, true));
  TW_RETURN_IF_ERROR(SplitInnermost(sch_, row_stage_, row_.group()));
  TW_RETURN_IF_ERROR(WriteOut(sch_, row_stage_, innermost, true));
  for (size_t i = 1; i < inner_.size(); ++i) TW_RETURN_IF_ERROR(sch_.Unroll(inner_[i]));
  return Done();
}

// A group of each column of the tile, by vectors of the bytes of neighbouring columns.
Outcome<Done> BlockSums::PlaceColumns() {
  const LoopRv innermost = inner_.back();
  TW_RETURN_IF_ERROR(sch_.ComputeAt(column_stage_, innermost));
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, LoopsInside(sch_, column_stage_, innermost));
  const int64_t columns = tile_.vectors * row_.n;
  const auto with_extent = [&](int64_t extent) {
    return std::ranges::find_if(loops, [&](const LoopRv& loop) { return ExtentOf(sch_, loop) == extent; });
  };
  const auto column = with_extent(columns), group = with_extent(row_.group());
  if (loops.size() != 2 || column == loops.end() || group == loops.end() || column == group) {
    return No("{block0} does not unpack a group of each column", RealizeOf(sch_, column_stage_).block->id);
  }
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> vectors, sch_.Split(*column, {Value(), row_.n}));
  TW_RETURN_IF_ERROR(sch_.Reorder({vectors[0], vectors[1], *group}));
  TW_ASSIGN_OR_RETURN(const LoopRv vector, sch_.Fuse({vectors[1], *group}));
  TW_RETURN_IF_ERROR(sch_.Vectorize(vector));
  return sch_.Unroll(vectors[0]);
}

Outcome<Done> BlockSums::ShareTiles() {
  const size_t preferred = ParallelLoops(sch_, {columns_}, target_.cores);
  TW_ASSIGN_OR_RETURN(const Choices::Pick parallel, choices_.Take(sch_, name_ + ".parallel_loops", {0, 1}, preferred));
  return parallel.value == 0 ? Outcome<Done>(Done()) : sch_.Parallel(columns_);
}

Outcome<Done> BlockSums::Apply() {
  TW_ASSIGN_OR_RETURN(write_back_, StageOutput(sch_, adder_, "register"));
  FuseConsumers(sch_, write_back_);
  if (!IsTrue(RealizeOf(sch_, write_back_).predicate)) return No("a part of what {block0} adds up is used", block().id);
  TW_RETURN_IF_ERROR(AddRow());
  TW_RETURN_IF_ERROR(PickTiles());
  TW_RETURN_IF_ERROR(StageOperands());
  TW_RETURN_IF_ERROR(PackScales());
  if (sums_follow_) {
    TW_RETURN_IF_ERROR(PlaceSums());
  } else {
    TW_RETURN_IF_ERROR(SplitLoops());
    TW_RETURN_IF_ERROR(PlaceAdder());
  }
  TW_RETURN_IF_ERROR(PlaceTile());
  return ShareTiles();
}

}  // namespace

bool IsSumOfBlocks(Schedule& sch, BlockRv block, const Target& target) {
  const absl::StatusOr<Contraction> contraction = MatchContraction(RealizeOf(sch, block));
  if (!contraction.ok() || contraction->batch.size() != 1 || contraction->columns.size() != 1) return false;
  const MachineInstruction* row = InstructionFor(*contraction, target);
  if (row == nullptr || row->c.type.is_float()) return false;
  const BlockNode& node = *RealizeOf(sch, block).block;
  const auto extent = [&](int iterator) { return ExtentOf(node.iter_vars[static_cast<size_t>(iterator)]).value_or(0); };
  if (!WritesAtIterators(node) || contraction->batch[0] != 0) return false;
  for (int iterator : contraction->inner) {
    if (extent(iterator) == 0) return false;
  }
  if (extent(contraction->columns[0]) == 0 || extent(DepthIterator(node, *contraction)) % row->group() != 0)
    return false;
  return AdderOf(sch, block, *contraction).has_value();
}

Outcome<std::monostate> ScheduleSumsOfBlocks(Schedule& sch, BlockRv block, const Target& target, Choices& choices) {
  const absl::StatusOr<Contraction> contraction = MatchContraction(RealizeOf(sch, block));
  const uint32_t id = RealizeOf(sch, block).block->id;
  if (!contraction.ok()) return No("{block0} does not multiply", id);
  const std::optional<BlockRv> adder = AdderOf(sch, block, *contraction);
  if (!adder) return No("no block adds up what {block0} sums", id);
  return BlockSums(sch, block, *adder, *contraction, target, choices).Apply();
}

}  // namespace tilewright
