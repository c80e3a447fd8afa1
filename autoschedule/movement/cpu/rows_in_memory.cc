#include "autoschedule/movement/cpu/rows_in_memory.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "autoschedule/cost/machine_costs.h"
#include "autoschedule/movement/cpu/operand_stages.h"
#include "autoschedule/movement/cpu/pitched_rows.h"
#include "autoschedule/normalize/fuse_depth.h"
#include "autoschedule/normalize/split_iterators.h"
#include "autoschedule/program/access_strides.h"
#include "autoschedule/program/block_loops.h"
#include "base/status_macros.h"
#include "ir/analysis.h"
#include "ir/arith/linear.h"
#include "target/costs.h"

namespace tilewright {
namespace {

// How much more efficient rows have to be that are packed as one.
constexpr double kWorthFusing = 1.1;
bool AreColumnsFar(const BlockRealizeNode& realize, const Contraction& contraction, const Target& target) {
  return BytesOfColumns(realize, contraction) > NearBytes(target);
}

// Number of cores that share M. If B exceeds L2, cores share N instead.
int CoresOfRows(const BlockRealizeNode& realize, const Contraction& contraction, const Target& target) {
  return AreColumnsFar(realize, contraction, target) ? 1 : target.cores;
}

// How rows can be read where they lie, by tiles of AMX: the last dimension is the depth, in whole steps, and
// neighbouring rows are neighbours along another one. Empty when they cannot. `row_load`: what a row takes to load.
// `outer_row`: the iterator of which tiles may take several values; left as it is without one.
std::vector<RegisterTile> TilesInPlace(const BlockRealizeNode& realize, const Contraction& contraction,
                                       const TileInstruction& instruction, int depth, const Target& target,
                                       double row_load, int* outer_row) {
  const BlockNode& block = *realize.block;
  const int64_t extent = IteratorExtent(realize, depth);
  if (extent % DepthStep(extent, instruction, false) != 0) return {};
  const BufferRegion& read = ReadOf(block, contraction.row_operand);
  const auto var = [&](int iterator) { return block.iter_vars[static_cast<size_t>(iterator)].var; };
  const std::vector<Access> accesses = AccessesOf(block);
  const auto access = std::ranges::find_if(
      accesses, [&](const Access& a) { return !a.store && a.buffer.same_as(contraction.row_operand); });
  // Whether the iterator moves by one along one dimension; its distance in elements.
  const auto moves_along = [&](int iterator) -> int64_t {
    int64_t dimension = 1, along = 0;
    for (size_t d = read.region.size(); d-- > 0;) {
      if (UsesVar(read.region[d].min, var(iterator))) {
        if (along != 0) return 0;
        along = dimension;
      }
      dimension *= AsInt(read.buffer->shape[d]).value_or(0);
    }
    return access->strides[static_cast<size_t>(iterator)] == along ? along : 0;
  };
  const size_t rows = contraction.rows.size();
  const int row = contraction.rows.back();
  const int64_t stride = moves_along(row) * contraction.row_operand->dtype.bytes();
  if (moves_along(depth) != 1 || moves_along(row) <= 1 ||
      (IteratorExtent(realize, row) > 1 && stride % (target.Nearest().bytes / target.Nearest().ways) == 0)) {
    return {};
  }
  const int64_t extent_of_row = IteratorExtent(realize, row),
                columns = IteratorExtent(realize, contraction.columns.back());
  TileOperands operands = OperandsOf(realize, contraction, instruction, target);
  operands.cores = CoresOfRows(realize, contraction, target);
  operands.shared_rows = operands.costs.shared_rows;
  operands.row_load = row_load;
  std::vector<RegisterTile> best = DividingAmxTiles(1, extent_of_row, columns, operands);
  for (size_t i = rows - 1; i-- > 0;) {
    const int outer = contraction.rows[i];
    if (IteratorExtent(realize, outer) == 1 || moves_along(outer) == 0) continue;
    std::vector<RegisterTile> tiles =
        DividingAmxTiles(IteratorExtent(realize, outer), extent_of_row, columns, operands);
    if (!best.empty() && BestTile(tiles).efficiency <= BestTile(best).efficiency) continue;
    best = std::move(tiles);
    *outer_row = outer;
  }
  return best;
}

// Whether the last two row iterators follow each other, so that they can be one.
bool HasOuterRow(const Contraction& contraction) {
  const size_t rows = contraction.rows.size();
  return rows > 1 && contraction.rows[rows - 2] + 1 == contraction.rows[rows - 1];
}

// What changes in a plan where the block's iterators or operands did.
Outcome<std::monostate> MatchAgain(Schedule& sch, BlockRv block, ContractionPlan* plan) {
  const BlockRealizeNode& realize = RealizeOf(sch, block);
  const absl::StatusOr<Contraction> contraction = MatchContraction(realize);
  if (!contraction.ok()) {
    return Refusal{
        "contraction_rule", "{text0}", {realize.block->id}, {}, {std::string(contraction.status().message())}};
  }
  plan->contraction = *contraction;
  plan->row = contraction->rows.back();
  plan->column = contraction->columns.back();
  plan->depth = DepthIterator(*realize.block, *contraction);
  return std::monostate();
}

// Whether one row iterator, or several that follow each other, is worth more to tiles.
struct RowTiles {
  std::vector<RegisterTile> tiles;
  bool fuses = false;
};
// `fused`: from where tiles of several iterators' rows load.
RowTiles TilesOfRows(const BlockRealizeNode& realize, const ContractionPlan& plan, bool may_fuse,
                     const TileOperands& fused, const Target& target) {
  const std::vector<int>& rows = plan.contraction.rows;
  const int64_t extent = IteratorExtent(realize, plan.row), columns = IteratorExtent(realize, plan.column);
  const bool outer = HasOuterRow(plan.contraction);
  TileOperands operands = OperandsOf(realize, plan.contraction, plan.instruction, target);
  operands.cores = fused.cores;
  operands.shared_rows = outer ? operands.costs.shared_rows : fused.shared_rows;
  std::vector<RegisterTile> tiles = RegisterTiles(plan.instruction, extent, columns, extent, operands);
  if (!may_fuse || !outer) return {std::move(tiles)};
  const int64_t all_rows = extent * IteratorExtent(realize, rows[rows.size() - 2]);
  std::vector<RegisterTile> of_all = RegisterTiles(plan.instruction, all_rows, columns, all_rows, fused);
  if (BestTile(of_all).efficiency <= kWorthFusing * BestTile(tiles).efficiency) return {std::move(tiles)};
  return {std::move(of_all), true};
}

// The dimensions of the row operand along which rows other than the tiled ones, and windows, move.
Value::List DimensionsOfOtherWindows(const BlockNode& block, const ContractionPlan& plan) {
  Value::List dims;
  const std::vector<Range>& region = ReadOf(block, plan.contraction.row_operand).region;
  for (size_t d = 0; d < region.size(); ++d) {
    const auto uses = [&](int iterator) {
      const IterVar& iter = block.iter_vars[static_cast<size_t>(iterator)];
      return ExtentOf(iter) != 1 && UsesVar(region[d].min, iter.var);
    };
    const bool other_row =
        std::ranges::any_of(plan.contraction.rows, [&](int row) { return row != plan.row && uses(row); });
    if (other_row && !uses(plan.row) && std::ranges::any_of(plan.contraction.inner, uses)) {
      dims.emplace_back(static_cast<int64_t>(d));
    }
  }
  return dims;
}

// Makes windows along the row and the depth behind them, next to each other in the copy, a single iterator where that
// saves padding and the depth is not whole groups, which would be copied at once. Whether the copy is as before, or
// has one dimension for them.
bool FuseDepthOfCopy(Schedule& sch, BlockRv block, BlockRv copy, const ContractionPlan& plan, const Target& target) {
  if (IteratorExtent(RealizeOf(sch, block), plan.depth) % plan.instruction.group == 0) return true;
  const std::optional<FusibleDepth> depth =
      FindFusibleDepth(RealizeOf(sch, block), plan.instruction.StepDepth(), target);
  if (!depth || !depth->pays || !FuseDepth(sch, block, *depth)) return true;
  const Buffer& buffer = RealizeOf(sch, copy).block->writes[0].buffer;
  return FuseCopiedDimensions(sch, copy, buffer->shape.size() - 1);
}

// Whether the depth is along dimensions of the row operand along which rows are not.
bool HasDepthOfItsOwn(const BlockNode& block, const ContractionPlan& plan) {
  bool has_depth = false;
  for (const Range& range : ReadOf(block, plan.contraction.row_operand).region) {
    if (!UsesVar(range.min, block.iter_vars[static_cast<size_t>(plan.depth)].var)) continue;
    if (UsesVar(range.min, block.iter_vars[static_cast<size_t>(plan.row)].var)) return false;
    has_depth = true;
  }
  return has_depth;
}

// The schedule with an image copied.
struct ImageCopy {
  Schedule sch;
  ContractionPlan plan;
  int64_t bytes;    // of the copy
  double sums = 1;  // that are computed for one that is wanted
};

// Load cost of operands that overlapping windows share. `reads`: how often windows read each element of the copy, or
// how often consecutive windows read a line.
TileOperands OperandsOfCopy(const BlockRealizeNode& plain, const Contraction& contraction,
                            const TileInstruction& instruction, int64_t reads, const Target& target) {
  TileOperands operands = OperandsOf(plain, contraction, instruction, target);
  // A line of rows comes from the second cache level once, then from the first, which delivers two in a cycle.
  operands.row_load = 0.5 + 0.25 / static_cast<double>(reads);
  operands.column_load = AreColumnsFar(plain, contraction, target) ? operands.costs.far_column : 1;
  operands.cores = CoresOfRows(plain, contraction, target);
  operands.shared_rows = operands.costs.shared_copies;
  return operands;
}

// With rows copied for windows along the row alone.
std::optional<ImageCopy> CopyForWindows(const Schedule& sch, BlockRv block, const ContractionPlan& plan,
                                        const Target& target) {
  ImageCopy result{sch, plan, 0};
  const Value::List kept = DimensionsOfOtherWindows(*RealizeOf(sch, block).block, plan);
  if (kept.empty()) return std::nullopt;
  const Outcome<BlockRv> copy = ReindexRead(result.sch, block, plan.contraction.row_operand, kept);
  if (!copy.ok() || !FuseDepthOfCopy(result.sch, block, *copy, plan, target) ||
      !MatchAgain(result.sch, block, &result.plan).ok()) {
    return std::nullopt;
  }
  const Contraction& contraction = result.plan.contraction;
  if (!HasDepthOfItsOwn(*RealizeOf(result.sch, block).block, result.plan)) return std::nullopt;
  result.bytes = BytesOf(contraction.row_operand);
  // Rows that follow each other without a stride: windows along the outer one are whole rows apart.
  const BlockNode& before = *RealizeOf(result.sch, block).block;
  std::vector<int> windows;
  int64_t reads = 1;  // of an element, by these
  bool follow = HasOuterRow(contraction);
  if (follow) {
    const Var outer = before.iter_vars[static_cast<size_t>(contraction.rows[contraction.rows.size() - 2])].var;
    for (const Range& range : ReadOf(before, contraction.row_operand).region) {
      if (!UsesVar(range.min, outer)) continue;
      arith::Analyzer analyzer;
      const auto form = arith::DetectLinear(range.min, {outer}, &analyzer);
      follow = form && IsInt(form->coefficients[0], 1);
      for (int inner : contraction.inner) {
        if (!UsesVar(range.min, before.iter_vars[static_cast<size_t>(inner)].var)) continue;
        windows.push_back(inner);
        reads *= IteratorExtent(RealizeOf(result.sch, block), inner);
      }
    }
  }
  const TileOperands operands =
      OperandsOfCopy(RealizeOf(sch, block), plan.contraction, plan.instruction, reads, target);
  RowTiles rows = TilesOfRows(RealizeOf(result.sch, block), result.plan, follow, operands, target);
  if (rows.fuses) {
    const int64_t extent = IteratorExtent(RealizeOf(result.sch, block), result.plan.row);
    const auto row = static_cast<size_t>(result.plan.row);
    if (!FuseIterators(result.sch, block, row, extent) || !MatchAgain(result.sch, block, &result.plan).ok()) {
      return std::nullopt;
    }
    // All behind the fused rows moved up.
    for (int& window : windows) window -= window > static_cast<int>(row) ? 1 : 0;
    result.plan.last_inner = std::move(windows);
  }
  result.plan.tiles = std::move(rows.tiles);
  result.plan.row_place = RowPlace::kWindows;
  return result;
}

// With the rows of an image one behind the other.
std::optional<ImageCopy> CopyAtPitch(const Schedule& sch, BlockRv block, const ContractionPlan& plan,
                                     const Target& target) {
  ImageCopy result{sch, plan, 0};
  const std::optional<PitchedRows> rows = FuseRowsAtPitch(result.sch, block, plan.contraction);
  if (!rows || !MatchAgain(result.sch, block, &result.plan).ok()) return std::nullopt;
  const BlockRealizeNode &plain = RealizeOf(sch, block), &now = RealizeOf(result.sch, block);
  if (!HasDepthOfItsOwn(*now.block, result.plan)) return std::nullopt;
  result.bytes = BytesOf(RealizeOf(result.sch, rows->copy).block->writes[0].buffer);
  int64_t reads = 1, wanted = IteratorExtent(plain, plan.row);
  for (int window : rows->windows) reads *= IteratorExtent(now, window);
  wanted *= IteratorExtent(plain, plan.contraction.rows[plan.contraction.rows.size() - 2]);
  const int64_t all = IteratorExtent(now, result.plan.row);
  result.sums = static_cast<double>(all) / static_cast<double>(wanted);
  const TileOperands operands = OperandsOfCopy(plain, plan.contraction, plan.instruction, reads, target);
  result.plan.tiles = RegisterTiles(plan.instruction, all, IteratorExtent(now, result.plan.column), all, operands);
  result.plan.last_inner = rows->windows;
  result.plan.write_back = rows->write_back;
  result.plan.row_place = RowPlace::kPitched;
  return result;
}

const char* NameOf(RowPlace place) {
  switch (place) {
    case RowPlace::kRegisters:
      return "registers";
    case RowPlace::kInPlace:
      return "in_place";
    case RowPlace::kPacked:
      return "packed";
    case RowPlace::kWindows:
      return "windows";
    case RowPlace::kPitched:
      return "pitched";
  }
  return "";
}

// Cycles that tiles of AMX take for all products, at this efficiency.
double CyclesOfTiles(const BlockRealizeNode& realize, const ContractionPlan& plan, double efficiency,
                     const Target& target) {
  double products = 1;
  for (const IterVar& iter : realize.block->iter_vars) products *= static_cast<double>(*ExtentOf(iter));
  return products / (plan.instruction.lanes * plan.instruction.StepDepth()) / efficiency / target.cores;
}
// Cycles in which cores copy so many bytes in a stage of its own.
double CyclesOfCopy(int64_t bytes, const Target& target) {
  return CyclesToCopy(static_cast<double>(bytes), bytes > target.Near().bytes * target.cores, target);
}
// Cycles in which cores write out the sums of tiles that are not stored where they belong.
double CyclesOfStaging(const BlockRealizeNode& realize, const Contraction& contraction, double sums,
                       const Target& target) {
  double bytes = contraction.product_type.bytes() * sums;
  for (const auto* iterators : {&contraction.batch, &contraction.rows, &contraction.columns}) {
    for (int iterator : *iterators) bytes *= static_cast<double>(IteratorExtent(realize, iterator));
  }
  return CyclesToStage(bytes, target);
}
// Cycles in which cores pack what all products read of the rows, tile by tile: each stays near, but a row is spread
// over all pages of its tile, which may be many.
double CyclesOfPacking(const BlockRealizeNode& realize, const Contraction& contraction, int tile_rows,
                       const Target& target) {
  int64_t bytes = BytesOfRow(realize, contraction);
  const bool many_pages = bytes * tile_rows > target.Near().bytes / 4;
  for (const auto* iterators : {&contraction.batch, &contraction.rows}) {
    for (int iterator : *iterators) bytes *= IteratorExtent(realize, iterator);
  }
  return CyclesToCopy(static_cast<double>(bytes), many_pages, target);
}

// Number of cores that share one product: cores divide the batch where they can.
int CoresOfProduct(const BlockRealizeNode& realize, const Contraction& contraction, const Target& target) {
  int64_t batches = 1;
  for (int iterator : contraction.batch) batches *= IteratorExtent(realize, iterator);
  return batches % target.cores == 0 ? 1 : target.cores;
}

// The places of rows that are possible, and the one that is preferred: the last of the cheapest.
class RowPlaces {
 public:
  RowPlaces(const BlockRealizeNode& realize, const ContractionPlan& plan, const Target& target)
      : realize_(realize), plan_(plan), target_(target) {}

  // `copy`: cycles beside those of the tiles. `more`: how many times as long products take as tiles of that efficiency
  // do for what is wanted.
  void Add(RowPlace place, const std::vector<RegisterTile>& tiles, double copy, double more = 1) {
    const double cycles = CyclesOfTiles(realize_, plan_, BestTile(tiles).efficiency / more, target_) + copy;
    if (places_.empty() || cycles <= least_) {
      least_ = cycles;
      preferred_ = places_.size();
    }
    places_.push_back(static_cast<int64_t>(place));
  }

  Outcome<RowPlace> Take(Schedule& sch, Choices& choices) const {
    if (places_.size() <= 1) return RowPlace::kPacked;
    std::vector<Choice::Meaning> meanings;
    for (const int64_t place : places_) meanings.push_back({NameOf(static_cast<RowPlace>(place))});
    TW_ASSIGN_OR_RETURN(const Choices::Pick pick,
                        choices.Take(sch, realize_.block->name + ".rows", places_, preferred_, std::move(meanings)));
    return static_cast<RowPlace>(pick.value);
  }

 private:
  const BlockRealizeNode& realize_;
  const ContractionPlan& plan_;
  const Target& target_;
  std::vector<int64_t> places_;
  size_t preferred_ = 0;
  double least_ = 0;
};

}  // namespace

Outcome<ContractionPlan> PlanRowsInMemory(Schedule& sch, BlockRv block, const Target& target, Choices& choices,
                                          const ContractionPlan& given) {
  ContractionPlan plan = given;
  const BlockRealizeNode& realize = RealizeOf(sch, block);
  int outer_row = -1;
  const auto tiles_in_place = [&](double row_load) {
    outer_row = -1;
    return TilesInPlace(realize, plan.contraction, plan.instruction, plan.depth, target, row_load, &outer_row);
  };
  const std::vector<RegisterTile> in_place = tiles_in_place(1);
  TileOperands operands = OperandsOf(realize, plan.contraction, plan.instruction, target);
  operands.cores = CoresOfProduct(realize, plan.contraction, target);
  operands.shared_rows = operands.costs.shared_copies;
  RowTiles packed = TilesOfRows(realize, plan, true, operands, target);
  const std::optional<ImageCopy> windows = CopyForWindows(sch, block, plan, target),
                                 pitched = CopyAtPitch(sch, block, plan, target);
  RowPlaces places(realize, plan, target);
  places.Add(RowPlace::kPacked, packed.tiles,
             CyclesOfPacking(realize, plan.contraction, BestTile(packed.tiles).rows, target),
             windows || pitched ? TileCostsOf(target).all_windows : 1);
  if (windows) {
    places.Add(RowPlace::kWindows, windows->plan.tiles, CyclesOfCopy(windows->bytes, target),
               TileCostsOf(target).row_windows);
  }
  if (pitched) {
    places.Add(RowPlace::kPitched, pitched->plan.tiles,
               CyclesOfCopy(pitched->bytes, target) + CyclesOfStaging(realize, plan.contraction, pitched->sums, target),
               pitched->sums);
  }
  if (!in_place.empty()) {
    const Buffer& rows = plan.contraction.row_operand;
    const bool is_copy = WriterOf(sch, block, rows).has_value();
    places.Add(RowPlace::kInPlace, in_place, is_copy ? CyclesOfCopy(BytesOf(rows), target) : 0);
  }
  TW_ASSIGN_OR_RETURN(plan.row_place, places.Take(sch, choices));
  if (plan.row_place == RowPlace::kInPlace) {
    // The alignment of rows decides among tiles in place, not between these and copies: windows share rows, which come
    // from the first cache level then, and the estimate does not know that.
    const int64_t step = DepthStep(IteratorExtent(realize, plan.depth), plan.instruction, false);
    const bool aligned = step * plan.contraction.row_operand->dtype.bytes() % target.Nearest().line_bytes == 0;
    plan.tiles = tiles_in_place(aligned ? 1 : TileCostsOf(target).unaligned_row);
    plan.outer_row = outer_row;
    return plan;
  }
  if (plan.copies_images()) {
    // The choice is a step of the schedule too.
    std::optional<ImageCopy> copied = plan.row_place == RowPlace::kWindows ? CopyForWindows(sch, block, plan, target)
                                                                           : CopyAtPitch(sch, block, plan, target);
    sch = std::move(copied->sch);
    return std::move(copied->plan);
  }
  plan.tiles = std::move(packed.tiles);
  if (!packed.fuses) return plan;
  if (!FuseIterators(sch, block, static_cast<size_t>(plan.row), IteratorExtent(realize, plan.row))) {
    return Refusal{"contraction_rule", "the rows of {block0} cannot be one", {realize.block->id}};
  }
  TW_RETURN_IF_ERROR(MatchAgain(sch, block, &plan));
  return plan;
}

}  // namespace tilewright
