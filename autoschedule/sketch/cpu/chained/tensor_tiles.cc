#include "autoschedule/sketch/cpu/chained/tensor_tiles.h"

#include <algorithm>
#include <vector>

#include "autoschedule/movement/auto_copy.h"
#include "autoschedule/movement/cpu/operand_stages.h"
#include "autoschedule/program/block_loops.h"
#include "autoschedule/program/estimates.h"
#include "autoschedule/tensorize/register_tile.h"
#include "base/status_macros.h"
#include "intrin/amx_tile.h"
#include "ir/analysis.h"
#include "schedule/program/sum_form.h"
#include "target/costs.h"

namespace tilewright {
namespace {

using Done = std::monostate;

// A factor of a product, and its type before it is converted.
struct Factor {
  Expr value;
  DataType type;
};

std::vector<Factor> FactorsOfSum(const BlockNode& block) {
  std::vector<Factor> factors;
  const std::optional<SumForm> sum = AsSum(block);
  if (!sum) return factors;
  for (const Expr& e : FactorsOf(sum->term)) {
    const auto* converted = dyn_cast<CastNode>(e);
    const Expr value = converted != nullptr ? converted->value : e;
    factors.push_back({value, value.dtype()});
  }
  return factors;
}

// The two factors of a product, that which `var` indexes first.
std::optional<std::pair<Factor, Factor>> FactorsBy(const BlockNode& block, const Var& var) {
  std::vector<Factor> factors = FactorsOfSum(block);
  if (factors.size() != 2) return std::nullopt;
  if (!UsesVar(factors[0].value, var)) std::swap(factors[0], factors[1]);
  if (!UsesVar(factors[0].value, var) || UsesVar(factors[1].value, var)) return std::nullopt;
  return std::pair(factors[0], factors[1]);
}

// The iterator that is reduced, of which there must be one.
const IterVar* Reduced(const BlockNode& block) {
  const IterVar* found = nullptr;
  for (const IterVar& iter : block.iter_vars) {
    if (iter.kind != IterKind::kReduce) continue;
    if (found != nullptr) return nullptr;
    found = &iter;
  }
  return found;
}

// Whether neighbours along the depth are neighbours in memory, and rows are a dimension of their own.
bool LiesAlong(const Expr& value, const Var& row, const Var& depth) {
  const auto* load = dyn_cast<LoadNode>(value);
  if (load == nullptr || load->predicate || !load->indices.back().same_as(depth)) return false;
  return std::ranges::count_if(load->indices, [&](const Expr& index) { return index.same_as(row); }) == 1 &&
         std::ranges::count_if(load->indices, [&](const Expr& index) { return UsesVar(index, row); }) == 1 &&
         std::ranges::count_if(load->indices, [&](const Expr& index) { return UsesVar(index, depth); }) == 1;
}

// The most that divides the depth and one instruction takes.
int64_t DepthOf(const TileInstruction& instruction, int64_t depth) {
  int64_t step = instruction.amx() ? instruction.StepDepth() : instruction.group;
  while (step > instruction.group && depth % step != 0) step -= instruction.group;
  return step;
}

// A tile's elements of A in registers, groups of neighbours at a time.
Outcome<Done> LoadRows(Schedule& sch, BlockRv sum, LoopRv step, const Var& row, int group) {
  const std::vector<BufferRegion> reads = RealizeOf(sch, sum).block->reads;
  const Buffer written = RealizeOf(sch, sum).block->writes[0].buffer;
  const auto operand = std::ranges::find_if(reads, [&](const BufferRegion& read) {
    const auto uses = [&](const Range& range) { return UsesVar(range.min, row); };
    return !read.buffer.same_as(written) && std::ranges::any_of(read.region, uses);
  });
  if (operand == reads.end()) return Refusal{"chained_rule", "{block0} has no rows", {RealizeOf(sch, sum).block->id}};
  TW_ASSIGN_OR_RETURN(const AutoCopy rows, ReadOperandAt(sch, sum, operand->buffer, step, "register"));
  TW_RETURN_IF_ERROR(Expand(sch, rows));
  TW_RETURN_IF_ERROR(SplitInnermost(sch, rows.block, group));
  return WriteOut(sch, rows.block, step, true);
}

// The iterators that the loops bind come last, in the loops' order, which is that of an instruction's description.
Outcome<Done> PutLastIterators(Schedule& sch, BlockRv block, const std::vector<LoopRv>& loops) {
  const BlockRealizeNode& realize = RealizeOf(sch, block);
  std::vector<int64_t> order, last;
  for (const LoopRv& loop : loops) {
    for (size_t i = 0; i < realize.bindings.size(); ++i) {
      if (UsesVar(realize.bindings[i], LoopOf(sch, loop).var)) last.push_back(static_cast<int64_t>(i));
    }
  }
  for (int64_t i = 0; i < static_cast<int64_t>(realize.bindings.size()); ++i) {
    if (std::ranges::find(last, i) == last.end()) order.push_back(i);
  }
  order.insert(order.end(), last.begin(), last.end());
  if (std::ranges::is_sorted(order)) return Done();
  return sch.ReorderBlockIterVar(block, std::vector<Value>(order.begin(), order.end()));
}

}  // namespace

std::optional<ProductTile> DividingTile(const TileInstruction& instruction, int64_t rows, int64_t columns,
                                        int64_t depth, const Target& target) {
  if (depth % instruction.group != 0 || instruction.rows() > 1) return std::nullopt;
  const TileOperands operands = {.costs = TileCostsOf(target)};
  std::vector<RegisterTile> tiles = RegisterTiles(instruction, rows, columns, rows, operands);
  if (tiles.empty()) return std::nullopt;
  const double best = BestTile(tiles).efficiency;
  std::erase_if(tiles, [&](const RegisterTile& tile) {
    return tile.efficiency < kWorthATry * best || rows % tile.rows != 0 ||
           columns % (tile.vectors * instruction.lanes) != 0;
  });
  if (tiles.empty()) return std::nullopt;
  const RegisterTile tile = BestTile(tiles);
  return ProductTile{instruction, tile.rows, tile.vectors * instruction.lanes, DepthOf(instruction, depth)};
}

std::optional<ChainInstructions> InstructionsOf(const Schedule& sch, const ChainedPlan& plan, const Target& target) {
  if (!plan.narrow || plan.seconds.size() != 1 || plan.has_few_rows()) return std::nullopt;
  const BlockNode& product = *RealizeOf(sch, plan.product).block;
  const ChainedBlock& second = plan.blocks[plan.seconds[0]];
  const BlockNode& sum = *RealizeOf(sch, second.block).block;
  const auto is_constant = [](const IterVar& iter) { return ExtentOf(iter).has_value(); };
  if (!std::ranges::all_of(product.iter_vars, is_constant) || !std::ranges::all_of(sum.iter_vars, is_constant)) {
    return std::nullopt;
  }
  const IterVar* depth = Reduced(product);
  const int row = second.IteratorAlong(plan.row()), column = second.IteratorAlong(kAlongOther);
  if (depth == nullptr || row < 0 || column < 0) return std::nullopt;
  const Var& key = product.iter_vars[static_cast<size_t>(plan.key)].var;
  const auto keys = FactorsBy(product, key);
  const auto weights = FactorsBy(sum, sum.iter_vars[static_cast<size_t>(row)].var);
  if (!keys || !weights || !LiesAlong(keys->first.value, key, depth->var)) return std::nullopt;
  if (!isa<LoadNode>(keys->second.value) || !isa<LoadNode>(weights->second.value)) return std::nullopt;
  const DataType type = DataType::Float(32);
  const auto scores = FindTileInstruction(target, keys->first.type, keys->second.type, type);
  const auto result = FindTileInstruction(target, weights->second.type, weights->first.type, type);
  if (!scores || !result) return std::nullopt;
  const int64_t columns = *ExtentOf(sum.iter_vars[static_cast<size_t>(column)]);
  const bool divide = DividingTile(*scores, plan.key_extent, plan.row_extent, *ExtentOf(*depth), target).has_value() &&
                      DividingTile(*result, columns, plan.row_extent, plan.key_extent, target).has_value();
  return divide ? std::optional(ChainInstructions{*scores, *result}) : std::nullopt;
}

bool HasInstructionOf(const Schedule& sch, const ChainedPlan& plan, const Target& target) {
  const auto multiplies = [&](BlockRv product) {
    const std::vector<Factor> factors = FactorsOfSum(*RealizeOf(sch, product).block);
    if (factors.size() != 2) return false;
    const auto found = FindTileInstruction(target, factors[0].type, factors[1].type, DataType::Float(32));
    return found && found->group > 1;
  };
  return multiplies(plan.product) ||
         std::ranges::any_of(plan.seconds, [&](size_t second) { return multiplies(plan.blocks[second].block); });
}

Outcome<Done> MultiplyTile(Schedule& sch, BlockRv sum, LoopRv place, const Var& row, const ProductTile& tile) {
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> inside, LoopsInside(sch, sum, place));
  const BlockRealizeNode& realize = RealizeOf(sch, sum);
  std::optional<LoopRv> rows, columns, reduced;
  for (const LoopRv& loop : inside) {
    for (size_t i = 0; i < realize.bindings.size(); ++i) {
      if (!UsesVar(realize.bindings[i], LoopOf(sch, loop).var)) continue;
      const IterVar& iter = realize.block->iter_vars[i];
      (iter.kind == IterKind::kReduce ? reduced : iter.var.same_as(row) ? rows : columns) = loop;
    }
  }
  if (inside.size() != 3 || !rows || !columns || !reduced) {
    return Refusal{"chained_rule", "{block0} is not a sum of a tile", {realize.block->id}};
  }
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> depth, sch.Split(*reduced, {Value(), Value(tile.depth)}));
  TW_RETURN_IF_ERROR(sch.Reorder({depth[0], *rows, *columns, depth[1]}));
  const TileInstruction& instruction = tile.instruction;
  if (!instruction.amx()) TW_RETURN_IF_ERROR(LoadRows(sch, sum, depth[0], row, instruction.group));
  TW_RETURN_IF_ERROR(PutLastIterators(sch, sum, {*rows, *columns, depth[1]}));
  TW_ASSIGN_OR_RETURN(const BlockRv init, sch.DecomposeReduction(sum, depth[0]));
  const int tile_rows = static_cast<int>(tile.rows), tile_columns = static_cast<int>(tile.columns);
  TW_RETURN_IF_ERROR(
      sch.Tensorize(*rows, instruction.TileName(0, tile_rows, tile_columns, static_cast<int>(tile.depth))));
  if (!instruction.amx()) return WriteOut(sch, init, place, true);
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> zeroed, LoopsInside(sch, init, place));
  return sch.Tensorize(zeroed[0], AmxZeroName(*instruction.row, 0, tile_rows, tile_columns));
}

}  // namespace tilewright
