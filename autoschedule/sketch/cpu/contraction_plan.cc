#include "autoschedule/sketch/cpu/contraction_plan.h"

#include <algorithm>
#include <numeric>

#include "autoschedule/movement/cpu/rows_in_memory.h"
#include "autoschedule/program/access_strides.h"
#include "autoschedule/program/block_loops.h"
#include "autoschedule/program/estimates.h"
#include "autoschedule/program/sizes.h"
#include "base/status_macros.h"
#include "ir/analysis.h"
#include "ir/builtin.h"
#include "target/costs.h"

namespace tilewright {
namespace {

Refusal No(const char* reason, uint32_t block) { return {"contraction_rule", reason, {block}}; }

// Whether the row operand is stored at the block's iterators, of which several are inner: a result of cache_factors,
// computed where it is used.
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

// The distance in bytes between the elements of the row operand that adjacent rows of a tile read, or between adjacent
// elements if it is not known.
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

// The groups of windows of few channels whose columns are part of the depth. Tiles of f32 are not deep enough for that.
SharedGroups SharedGroupsOf(const BlockRealizeNode& realize, const ContractionPlan& plan) {
  const int group = plan.instruction.group;
  if (group == 1) return {};
  for (const Access& access : AccessesOf(*realize.block)) {
    if (access.store || !access.buffer.same_as(plan.contraction.row_operand)) continue;
    const int64_t stride = access.strides[static_cast<size_t>(plan.row)].value_or(0);
    const int64_t rows_apart = group / std::gcd(group, stride), elements = rows_apart * stride;
    if (stride <= 0 || elements >= IteratorExtent(realize, plan.depth)) return {};
    return {rows_apart, elements / group};
  }
  return {};
}

// Whether elements adjacent along a batch iterator lie closer in the output than rows, and the whole column operand
// stays near every core, as groups of a convolution with few channels do. A pass over the rows of one group would touch
// the lines, or at least the pages, of all groups.
bool RowsOutside(const BlockNode& block, const Contraction& contraction, const Target& target) {
  auto extent = [&](int iterator) { return *AsInt(block.iter_vars[static_cast<size_t>(iterator)].domain.extent); };
  int64_t column_bytes = contraction.column_operand->dtype.bytes();
  for (const auto* iterators : {&contraction.batch, &contraction.columns, &contraction.inner}) {
    for (int iterator : *iterators) column_bytes *= extent(iterator);
  }
  if (column_bytes > SharedColumnBytes(target)) return false;
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

// Whether the row operand is a copy with flipped bits (autoschedule/normalize/flip_rows.h).
bool FlipsRows(Schedule& sch, BlockRv block, const Contraction& contraction) {
  const std::optional<BlockRv> writer = WriterOf(sch, block, contraction.row_operand);
  if (!writer) return false;
  const auto* store = dyn_cast<StoreNode>(RealizeOf(sch, *writer).block->body);
  const auto* flipped = store == nullptr ? nullptr : dyn_cast<CallNode>(store->value);
  return flipped != nullptr && flipped->op == kFlipSignBit;
}

// The best tile with at most so many rows, if there is one.
RegisterTile BestOfFewRows(const std::vector<RegisterTile>& tiles, int64_t most_rows) {
  std::vector<RegisterTile> few = tiles;
  std::erase_if(few, [&](const RegisterTile& tile) { return tile.rows > most_rows; });
  return BestTile(few.empty() ? tiles : few);
}

// Whether elements adjacent along K are adjacent in the row operand and fill vector registers.
bool ReadsLines(const BlockNode& block, const ContractionPlan& plan) {
  const IterVar& depth = block.iter_vars[static_cast<size_t>(plan.depth)];
  const int line = plan.instruction.LineDepth();
  if (line == 1 || !Divides(line, depth.domain.extent)) return false;
  return std::ranges::any_of(AccessesOf(block), [&](const Access& access) {
    return !access.store && access.buffer.same_as(plan.contraction.row_operand) &&
           access.strides[static_cast<size_t>(plan.depth)] == 1;
  });
}

// Rates tiles by their mean slowness at both ends of the likely sizes; `few` are the same tiles with the least number
// of rows. A tile of many rows has few independent sums when one row is left of it, and these wait for each other.
void RateAtBothEnds(const std::vector<RegisterTile>& few, std::vector<RegisterTile>* tiles) {
  const double best = BestTile(*tiles).efficiency, best_of_few = BestTile(few).efficiency;
  for (RegisterTile& tile : *tiles) {
    const auto of_few = std::ranges::find_if(
        few, [&](const RegisterTile& t) { return t.vectors == tile.vectors && t.rows == tile.rows; });
    if (of_few == few.end()) continue;
    tile.efficiency = 2 * best / (best / tile.efficiency + best_of_few / of_few->efficiency);
  }
}

// The register tiles of the plan's instruction. None if groups of two rows would be padded, since their loads are not
// masked.
void PlanTiles(const BlockRealizeNode& realize, const BlockRealizeNode& likely, const LikelySizes& sizes,
               const Target& target, ContractionPlan* plan) {
  const std::vector<IterVar>& iters = realize.block->iter_vars;
  plan->tiles.clear();
  if (!Divides(plan->instruction.group, iters[static_cast<size_t>(plan->depth)].domain.extent)) {
    if (plan->instruction.rows() > 1) return;
    plan->instruction.registers -= TileInstruction::kMaskRegisters;
  }
  const int64_t rows = IteratorExtent(likely, plan->row), columns = IteratorExtent(likely, plan->column);
  const int64_t stride = RowStrideBytes(*realize.block, plan->contraction, iters[static_cast<size_t>(plan->row)].var);
  TileOperands operands = OperandsOf(likely, plan->contraction, plan->instruction, target);
  operands.shared = SharedGroupsOf(likely, *plan);
  operands.whole_lines = plan->whole_lines = ReadsLines(*realize.block, *plan);
  const int64_t most_rows = std::min(rows, MaxRowsWithoutConflicts(target, stride));
  plan->tiles = RegisterTiles(plan->instruction, rows, columns, most_rows, operands);
  const int64_t least = sizes.Least(iters[static_cast<size_t>(plan->row)].domain.extent);
  if (least >= TileCostsOf(target).most_rows || least >= rows) return;
  RateAtBothEnds(RegisterTiles(plan->instruction, least, columns, most_rows, operands), &plan->tiles);
}

// The iterator whose values are rows of a tile: the last one that is probably longer than 1. The batch inside of a
// sequence, as recurrent layers store it, is often 1.
int RowOfTile(const BlockRealizeNode& likely, const Contraction& contraction) {
  const auto several = [&](int row) { return IteratorExtent(likely, row) > 1; };
  const auto last = std::find_if(contraction.rows.rbegin(), contraction.rows.rend(), several);
  return last == contraction.rows.rend() ? contraction.rows.back() : *last;
}

// The instruction whose best tile multiplies most is preferred.
Outcome<ContractionPlan> PickPlan(Schedule& sch, const std::string& block, const std::vector<ContractionPlan>& plans,
                                  Choices& choices) {
  if (plans.size() == 1) return plans[0];
  const auto speed = [](const ContractionPlan& plan) {
    return BestTile(plan.tiles).efficiency * plan.instruction.ProductsPerCycle();
  };
  std::vector<int64_t> places;
  std::vector<Choice::Meaning> families;
  size_t preferred = 0;
  for (size_t i = 0; i < plans.size(); ++i) {
    places.push_back(static_cast<int64_t>(i));
    families.push_back({std::string(plans[i].instruction.row->family)});
    if (speed(plans[i]) > speed(plans[preferred])) preferred = i;
  }
  TW_ASSIGN_OR_RETURN(const Choices::Pick picked,
                      choices.Take(sch, block + ".instruction", places, preferred, families));
  return plans[static_cast<size_t>(picked.value)];
}

}  // namespace

Outcome<ContractionPlan> PlanContraction(Schedule& sch, BlockRv block, const Target& target, Choices& choices,
                                         bool batch_inside) {
  const BlockRealizeNode& realize = RealizeOf(sch, block);
  const uint32_t id = realize.block->id;
  absl::StatusOr<Contraction> contraction = MatchContraction(realize);
  if (!contraction.ok()) {
    return Refusal{"contraction_rule", "{text0}", {id}, {}, {std::string(contraction.status().message())}};
  }
  const std::vector<TileInstruction> instructions = FindTileInstructions(
      target, contraction->row_operand->dtype, contraction->column_operand->dtype, contraction->product_type);
  if (instructions.empty()) {
    return Refusal{"contraction_rule",
                   "the target has no tiles that multiply {text0} by {text1} and add in {text2}",
                   {id},
                   {},
                   {contraction->row_operand->dtype.ToString(), contraction->column_operand->dtype.ToString(),
                    contraction->product_type.ToString()}};
  }
  if (contraction->rows.empty()) return No("{block0} has no rows to tile", id);
  const Ref<BlockRealizeNode> kept = LikelyRealizeOf(sch, block);
  const BlockRealizeNode& likely = *kept;
  const LikelySizes sizes = LikelySizes::Of(FunctionOf(sch, block));
  ContractionPlan plan{*contraction,
                       instructions.back(),
                       {},
                       RowOfTile(likely, *contraction),
                       contraction->columns.back(),
                       contraction->inner.back()};
  if (plan.instruction.group > 1) plan.depth = DepthIterator(*realize.block, *contraction);
  plan.batch_inside = batch_inside;
  plan.rows_outside = RowsOutside(*likely.block, *contraction, target);
  // Rows of one or two lines.
  const bool short_rows = plan.rows_outside && plan.instruction.group == 1 &&
                          BytesOfRow(likely, *contraction) <= 2 * target.Nearest().line_bytes;
  if (short_rows) plan.short_rows = TileCostsOf(target).most_rows / 2;
  plan.uneven = IsComputedPerProduct(*realize.block, *contraction);
  if (plan.instruction.amx()) {
    const auto is_constant = [](const IterVar& iter) { return ExtentOf(iter).has_value(); };
    if (!std::ranges::all_of(realize.block->iter_vars, is_constant)) {
      return No("the extents of {block0} are not all constant, as those of AMX tiles have to be", id);
    }
    TW_ASSIGN_OR_RETURN(plan, PlanRowsInMemory(sch, block, target, choices, plan));
  } else {
    plan.flips_rows = FlipsRows(sch, block, *contraction);
    std::vector<ContractionPlan> plans;
    for (const TileInstruction& instruction : instructions) {
      plan.instruction = instruction;
      if (plan.flips_rows) plan.instruction.registers -= TileInstruction::kFlipRegisters;
      PlanTiles(realize, likely, sizes, target, &plan);
      if (!plan.tiles.empty()) plans.push_back(plan);
    }
    TW_ASSIGN_OR_RETURN(plan, PickPlan(sch, realize.block->name, plans, choices));
  }
  const double best = BestTile(plan.tiles).efficiency;
  std::erase_if(plan.tiles, [&](const RegisterTile& tile) { return tile.efficiency < kWorthATry * best; });
  return plan;
}

Outcome<RegisterTile> PickTile(Schedule& sch, const std::string& block, const ContractionPlan& plan,
                               std::vector<RegisterTile> tiles, Choices& choices) {
  const RegisterTile best = BestTile(tiles);
  std::vector<int64_t> vectors, rows;
  size_t preferred = 0;
  for (const RegisterTile& tile : tiles) {
    if (!vectors.empty() && vectors.back() == tile.vectors) continue;
    if (tile.vectors == best.vectors) preferred = vectors.size();
    vectors.push_back(tile.vectors);
  }
  TW_ASSIGN_OR_RETURN(const Choices::Pick picked, choices.Take(sch, block + ".tile_vectors", vectors, preferred));
  std::erase_if(tiles, [&](const RegisterTile& tile) { return tile.vectors != picked.value; });
  const RegisterTile best_here = plan.short_rows > 0 ? BestOfFewRows(tiles, plan.short_rows) : BestTile(tiles);
  for (const RegisterTile& tile : tiles) {
    if (std::ranges::find(rows, tile.rows) != rows.end()) continue;
    if (tile.rows == best_here.rows) preferred = rows.size();
    rows.push_back(tile.rows);
  }
  TW_ASSIGN_OR_RETURN(const Choices::Pick height, choices.Take(sch, block + ".tile_rows", rows, preferred));
  std::erase_if(tiles, [&](const RegisterTile& tile) { return tile.rows != height.value; });
  if (plan.outer_row < 0) return tiles[0];
  const RegisterTile best_tiles = BestTile(tiles);
  std::vector<int64_t> row_tiles;
  for (const RegisterTile& tile : tiles) {
    if (tile.row_tiles == best_tiles.row_tiles) preferred = row_tiles.size();
    row_tiles.push_back(tile.row_tiles);
  }
  TW_ASSIGN_OR_RETURN(const Choices::Pick count, choices.Take(sch, block + ".row_tiles", row_tiles, preferred));
  for (const RegisterTile& tile : tiles) {
    if (tile.row_tiles == count.value) return tile;
  }
  return best_tiles;
}

}  // namespace tilewright
