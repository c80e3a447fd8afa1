#include "autoschedule/sketch/cpu/chained/chained_rule.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "autoschedule/movement/cpu/operand_stages.h"
#include "autoschedule/movement/cpu/stage_layouts.h"
#include "autoschedule/program/block_loops.h"
#include "autoschedule/sketch/cpu/chained/chained_steps.h"
#include "autoschedule/sketch/cpu/chained/chained_tiles.h"
#include "autoschedule/sketch/cpu/chained/few_rows_rule.h"
#include "base/status_macros.h"
#include "ir/analysis.h"
#include "ir/functor.h"

namespace tilewright {
namespace {

class ChainedSchedule : private ChainedSteps {
 public:
  // `all_keys`: at once.
  ChainedSchedule(Schedule& sch, const ChainedPlan& plan, const Target& target, Choices& choices, bool all_keys)
      : ChainedSteps(sch, plan, target, choices), all_keys_(all_keys) {}

  Outcome<Done> Apply() {
    TW_RETURN_IF_ERROR(ChooseBlocks());
    DivideLate();
    TW_RETURN_IF_ERROR(StageProduct());
    TW_RETURN_IF_ERROR(LayOutScores());
    if (key_block_ > 0) {
      TW_RETURN_IF_ERROR(FollowRunningValues());
      TW_RETURN_IF_ERROR(LayOutParts(plan_.rows.size()));
    } else {
      TW_RETURN_IF_ERROR(KeepAllKeys());
    }
    TW_RETURN_IF_ERROR(WriteBlocks());
    TW_RETURN_IF_ERROR(WriteFirstTiles());
    return RunInParallel();
  }

 private:
  // ---- Sizes

  // The preferred one first. Rows that no size divides are one block where they are few; else the last block is not
  // whole.
  std::vector<int64_t> RowBlocks() const {
    const std::vector<int64_t> all = {4 * lanes_, 2 * lanes_, 8 * lanes_, lanes_};
    std::vector<int64_t> blocks = Dividing(plan_.row_extent, all);
    if (!blocks.empty()) return blocks;
    if (plan_.row_extent <= 2 * std::ranges::max(all)) blocks.push_back(plan_.row_extent);
    for (int64_t size : all) {
      if (size < plan_.row_extent) blocks.push_back(size);
    }
    return blocks;
  }

  Outcome<Done> ChooseBlocks() {
    TW_ASSIGN_OR_RETURN(const Choices::Pick row_block, choices_.Take(sch_, name_ + ".row_block", RowBlocks(), 0));
    row_block_ = row_block.value;
    tile_rows_ = {{plan_.row(), row_block_}};
    const int64_t bytes = row_block_ * plan_.key_extent * 4 * plan_.score_buffers;
    const bool fits = bytes <= target_.Near().bytes / 2;
    std::vector<int64_t> keys = Dividing(plan_.key_extent, {128, 64, 256});
    std::erase(keys, plan_.key_extent);
    if (all_keys_) keys.clear();
    keys.push_back(0);
    TW_ASSIGN_OR_RETURN(const Choices::Pick key_block,
                        choices_.Take(sch_, name_ + ".key_block", keys, fits && !plan_.masked ? keys.size() - 1 : 0));
    key_block_ = key_block.value;
    TW_ASSIGN_OR_RETURN(const Choices::Pick tile, choices_.Take(sch_, name_ + ".tile_vectors", {2, 1, 4}, 0));
    tile_vectors_ = tile.value;
    TW_ASSIGN_OR_RETURN(const Choices::Pick pass, choices_.Take(sch_, name_ + ".row_vectors", {4, 2, 1, 8}, 0));
    pass_vectors_ = pass.value;
    return Done();
  }

  // ---- Layouts

  // Scores and what elementwise blocks make of them lie with rows next to each other, as do results of rows.
  Outcome<Done> LayOutScores() {
    const auto lay_out = [&](BlockRv block, const std::vector<int>& along) -> Outcome<Done> {
      const BlockNode& node = Node(block);
      std::optional<size_t> row;
      for (size_t i = 0; i < along.size(); ++i) {
        if (along[i] == plan_.row()) row = i;
      }
      if (!row || std::ranges::find(along, kAlongOther) != along.end()) return Done();
      const std::vector<Range>& region = node.writes[0].region;
      for (size_t d = 0; d < region.size(); ++d) {
        if (UsesVar(region[d].min, node.iter_vars[*row].var)) return PutLast(block, 0, d);
      }
      return Done();
    };
    std::vector<int> product(Node(plan_.product).iter_vars.size());
    std::iota(product.begin(), product.end(), 0);
    TW_RETURN_IF_ERROR(lay_out(plan_.product, product));
    TW_RETURN_IF_ERROR(lay_out(*scores_, AlongScores()));
    for (const ChainedBlock& block : chain_) TW_RETURN_IF_ERROR(lay_out(block.block, block.along));
    return Done();
  }

  // What the running values and the parts of reductions are kept in: as the reduced values, of an iteration each.
  Outcome<Done> LayOutParts(size_t dimensions) {
    TW_ASSIGN_OR_RETURN(const std::vector<BlockRv> blocks, sch_.GetChildBlocks(shared_));
    for (const BlockRv& block : blocks) {
      if (product_part_ && Node(*product_part_).id == Node(block).id) continue;
      for (size_t w = 0; w < Node(block).writes.size(); ++w) {
        const std::vector<Range>& region = Node(block).writes[w].region;
        const bool counts = region.size() == dimensions + 1 && IsStep(block, region.back().min);
        if (counts) TW_RETURN_IF_ERROR(PutLast(block, w, dimensions - 1));
      }
    }
    return Done();
  }
  // Whether the index is an iterator that the shared loop alone is bound to.
  bool IsStep(BlockRv block, const Expr& index) const {
    const BlockRealizeNode& realize = RealizeOf(sch_, block);
    for (size_t i = 0; i < realize.bindings.size(); ++i) {
      if (index.same_as(realize.block->iter_vars[i].var)) return realize.bindings[i].same_as(LoopOf(sch_, shared_).var);
    }
    return false;
  }

  Outcome<Done> PutLast(BlockRv block, size_t write, size_t dimension) {
    const BufferRegion& written = Node(block).writes[write];
    const Function function = FunctionOf(sch_, block);
    const bool is_param = std::ranges::any_of(
        function->params, [&](const Param& param) { return param.buffer && param.buffer.same_as(written.buffer); });
    if (is_param || dimension + 1 == written.region.size()) return Done();
    std::vector<Var> inputs;
    std::vector<Expr> outputs;
    for (size_t d = 0; d < written.region.size(); ++d) inputs.emplace_back("i" + std::to_string(d));
    for (size_t d = 0; d < inputs.size(); ++d) {
      if (d != dimension) outputs.push_back(inputs[d]);
    }
    outputs.push_back(inputs[dimension]);
    const Value::List selected = {Value("write"), Value(static_cast<int64_t>(write))};
    TW_RETURN_IF_ERROR(sch_.Apply("transform_layout",
                                  {block, Value(selected), Value(IndexMap(std::move(inputs), std::move(outputs)))}));
    return Done();
  }

  // ---- What is computed of the scores

  Outcome<Done> WriteBlocks() {
    TW_ASSIGN_OR_RETURN(const std::vector<BlockRv> blocks, sch_.GetChildBlocks(outer_.back()));
    for (const BlockRv& block : blocks) {
      if (Node(block).id == Node(*scores_).id || Node(block).id == Node(plan_.product).id || IsTile(block)) continue;
      TW_RETURN_IF_ERROR(WriteByVectors(block));
    }
    return second_ ? WriteSecondTiles() : Outcome<Done>(Done());
  }

  Outcome<Done> WriteByVectors(BlockRv block) {
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, OwnLoops(block));
    const std::optional<size_t> last = LoopAlongLast(sch_, block, loops);
    if (!last) return Done();
    const int64_t width = pass_vectors_ * lanes_, extent = ExtentOf(sch_, loops[*last]).value_or(0);
    std::vector<LoopRv> parts = {loops[*last]};
    if (extent > width) {
      TW_ASSIGN_OR_RETURN(parts, sch_.Split(loops[*last], {Value(), Value(width)}));
    }
    std::vector<LoopRv> order;
    if (parts.size() > 1) order.push_back(parts[0]);
    for (size_t l = 0; l < loops.size(); ++l) {
      if (l != *last) order.push_back(loops[l]);
    }
    const size_t first_inner = parts.size() > 1 ? 1 : 0;
    order.push_back(parts.back());
    if (order.size() > 1) TW_RETURN_IF_ERROR(sch_.Reorder(order));
    const bool takes_apart = Node(block).init && order.size() > first_inner + 1 && !IsCombining(block);
    if (takes_apart) {
      TW_ASSIGN_OR_RETURN(const BlockRv init, sch_.DecomposeReduction(block, order[first_inner]));
      TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> init_loops, sch_.GetLoops(init));
      if (!init_loops.empty()) TW_RETURN_IF_ERROR(sch_.Vectorize(init_loops.back()));
    }
    return sch_.Vectorize(parts.back());
  }

  // ---- Tiles

  Outcome<Done> WriteFirstTiles() {
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, OwnLoops(*scores_));
    const std::optional<size_t> last = LoopAlongLast(sch_, *scores_, loops);
    if (!last || loops.size() != 2) return Refusal{kName, "scores are not those of rows and keys"};
    const LoopRv keys = loops[1 - *last], rows = loops[*last];
    const int64_t width = std::min(row_block_, tile_vectors_ * lanes_);
    TW_ASSIGN_OR_RETURN(const int64_t tile_keys, TileOf(".tile_keys", ExtentOf(sch_, keys).value_or(1),
                                                        MostBroadcast((width + lanes_ - 1) / lanes_)));
    TW_ASSIGN_OR_RETURN(const SumTile tile, MakeSumTile(sch_, keys, rows, tile_keys, width));
    TW_ASSIGN_OR_RETURN(const BlockRv packed, ReindexRead(sch_, plan_.product, plan_.row_operand));
    TW_RETURN_IF_ERROR(ReorderStage(sch_, packed, plan_.operand_iterators, {plan_.row()}));
    TW_RETURN_IF_ERROR(sch_.ComputeAt(plan_.product, tile.place));
    TW_RETURN_IF_ERROR(sch_.Unroll(tile.broadcast));
    TW_RETURN_IF_ERROR(sch_.Vectorize(tile.loaded));
    const Var row = Node(plan_.product).iter_vars[static_cast<size_t>(plan_.row())].var;
    TW_RETURN_IF_ERROR(WriteSum(sch_, plan_.product, tile.place, row));
    return PackInLoop(sch_, packed, outer_.back(), target_);
  }

  Outcome<Done> WriteSecondTiles() {
    const BlockRv sum = SecondSum();
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, OwnLoops(*result_));
    const std::optional<size_t> last = LoopAlongLast(sch_, *result_, loops);
    if (!last || loops.size() < 2)
      return Refusal{kName, "{block0} does not have rows and columns", {Node(*result_).id}};
    const std::optional<size_t> row = LoopOfIterator(sch_, *result_, loops, ResultIterator(plan_.row()));
    if (!row || *row == *last) return Refusal{kName, "{block0} does not have rows", {Node(*result_).id}};
    const int64_t extent = ExtentOf(sch_, loops[*last]).value_or(1), width = std::min(extent, tile_vectors_ * lanes_);
    TW_ASSIGN_OR_RETURN(const int64_t tile_rows,
                        TileOf(".tile_rows", row_block_, MostBroadcast((width + lanes_ - 1) / lanes_)));
    TW_ASSIGN_OR_RETURN(const SumTile tile, MakeSumTile(sch_, loops[*row], loops[*last], tile_rows, width));
    const Var column = SecondColumn();
    TW_RETURN_IF_ERROR(sch_.ComputeAt(sum, tile.place));
    if (product_part_) TW_RETURN_IF_ERROR(sch_.SetScope(sum, 0, "register"));
    TW_RETURN_IF_ERROR(sch_.Unroll(tile.broadcast));
    TW_RETURN_IF_ERROR(sch_.Vectorize(tile.loaded));
    return WriteSum(sch_, sum, tile.place, column);
  }

  const bool all_keys_;
  int64_t row_block_ = 0, tile_vectors_ = 1, pass_vectors_ = 1;
};

}  // namespace

Outcome<std::monostate> ScheduleChained(Schedule& sch, const ChainedPlan& plan, const Target& target,
                                        Choices& choices) {
  if (plan.has_few_rows()) return ScheduleFewRows(sch, plan, target, choices);
  return ScheduleByKeys<ChainedSchedule>(sch, plan, target, choices);
}

}  // namespace tilewright
