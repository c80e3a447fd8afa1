#include "autoschedule/sketch/cpu/chained/chained_rule.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "autoschedule/movement/cpu/operand_stages.h"
#include "autoschedule/movement/cpu/stage_layouts.h"
#include "autoschedule/program/block_loops.h"
#include "autoschedule/program/sizes.h"
#include "autoschedule/sketch/cpu/chained/chained_tiles.h"
#include "autoschedule/sketch/cpu/chained/cpu_steps.h"
#include "autoschedule/sketch/cpu/chained/few_rows_rule.h"
#include "autoschedule/sketch/cpu/chained/tensor_tiles.h"
#include "autoschedule/sketch/cpu/chained/wide_operands.h"
#include "base/math.h"
#include "base/status_macros.h"
#include "ir/analysis.h"
#include "ir/functor.h"

namespace tilewright {
namespace {

class ChainedSchedule : private CpuChainedSteps {
 public:
  // `all_keys`: at once.
  ChainedSchedule(Schedule& sch, const ChainedPlan& plan, const Target& target, Choices& choices, bool all_keys)
      : CpuChainedSteps(sch, plan, target, choices),
        all_keys_(all_keys),
        instructions_(InstructionsOf(sch, plan, target)) {
    if (instructions_ && instructions_->scores.amx()) sum_scope_ = "global";
  }

  Outcome<Done> Apply() {
    TW_RETURN_IF_ERROR(ChooseBlocks());
    DivideLate();
    if (plan_.narrow) {
      TW_ASSIGN_OR_RETURN(weights_, StageWeights());
      if (weights_.empty()) weights_ = WritersOfWeights();
      if (!instructions_) TW_RETURN_IF_ERROR(WidenWeights());
    }
    TW_RETURN_IF_ERROR(StageProduct());
    TW_RETURN_IF_ERROR(LayOutScores());
    std::optional<IndexMap> groups;
    if (instructions_) {
      TW_ASSIGN_OR_RETURN(groups, GroupWeights());
    }
    if (key_block_ > 0) {
      TW_RETURN_IF_ERROR(FollowRunningValues(true));
      TW_RETURN_IF_ERROR(LayOutParts(plan_.rows.size()));
    } else {
      TW_RETURN_IF_ERROR(KeepAllKeys());
    }
    if (groups) TW_RETURN_IF_ERROR(LayOutProducts(*groups));
    TW_RETURN_IF_ERROR(WriteBlocks());
    TW_RETURN_IF_ERROR(instructions_ ? MultiplyScores() : WriteFirstTiles());
    return RunInParallel();
  }

 private:
  // ---- Sizes

  // The preferred one first. Rows that no size divides are one block where they are few; else the last block is not
  // whole.
  std::vector<int64_t> RowBlocks() const {
    std::vector<int64_t> all = {4 * lanes_, 2 * lanes_, 8 * lanes_, lanes_};
    if (instructions_) all = {8 * lanes_, 4 * lanes_, 2 * lanes_, lanes_};
    std::erase_if(
        all, [&](int64_t size) { return plan_.needs_all_keys() && BytesOfScores(size) > target_.Near().bytes / 2; });
    std::vector<int64_t> blocks = Dividing(plan_.row_extent, all);
    if (!blocks.empty()) return blocks;
    if (HasConstant(plan_.row()) && plan_.row_extent <= 2 * std::ranges::max(all)) blocks.push_back(plan_.row_extent);
    for (int64_t size : all) {
      if (size < plan_.row_extent) blocks.push_back(size);
    }
    return blocks;
  }

  // Whether the product's iterator has one extent at every size.
  bool HasConstant(int iterator) const {
    return ExtentOf(Node(plan_.product).iter_vars[static_cast<size_t>(iterator)]).has_value();
  }

  bool IsParam(const Buffer& buffer, BlockRv block) const {
    return std::ranges::any_of(FunctionOf(sch_, block)->params,
                               [&](const Param& param) { return param.buffer && param.buffer.same_as(buffer); });
  }

  int64_t BytesOfScores(int64_t rows) const {
    return rows * plan_.key_extent * plan_.type.bytes() * plan_.score_buffers;
  }

  // The first size that gives all cores the same work, or the first one where none does.
  size_t Balanced(const std::vector<int64_t>& row_blocks) const {
    int64_t others = 1;
    for (const int row : plan_.rows) {
      const Expr& extent = Node(plan_.product).iter_vars[static_cast<size_t>(row)].domain.extent;
      if (row != plan_.row()) others *= LikelySizes::Of(FunctionOf(sch_, plan_.product)).Likely(extent);
    }
    const auto balanced = std::ranges::find_if(row_blocks, [&](int64_t size) {
      return KeepsCoresBusyThroughout(others * CeilDiv(plan_.row_extent, size), target_.cores);
    });
    return balanced == row_blocks.end() ? 0 : static_cast<size_t>(balanced - row_blocks.begin());
  }

  Outcome<Done> ChooseBlocks() {
    const std::vector<int64_t> row_blocks = RowBlocks();
    TW_ASSIGN_OR_RETURN(const Choices::Pick row_block,
                        choices_.Take(sch_, name_ + ".row_block", row_blocks, Balanced(row_blocks)));
    row_block_ = row_block.value;
    tile_rows_ = {{plan_.row(), row_block_}};
    const bool fits = BytesOfScores(row_block_) <= target_.Near().bytes / 2;
    std::vector<int64_t> keys = Dividing(plan_.key_extent, {128, 64, 256});
    std::erase(keys, plan_.key_extent);
    if (all_keys_ || plan_.needs_all_keys() || !HasConstant(plan_.key)) keys.clear();
    keys.push_back(0);
    // Packing or converting what the products read pays where a block of keys stays near.
    const bool at_once = fits && !plan_.masked && !plan_.narrow;
    TW_ASSIGN_OR_RETURN(const Choices::Pick key_block,
                        choices_.Take(sch_, name_ + ".key_block", keys, at_once ? keys.size() - 1 : 0));
    key_block_ = key_block.value;
    TW_ASSIGN_OR_RETURN(const Choices::Pick tile, choices_.Take(sch_, name_ + ".tile_vectors", {2, 1, 4}, 0));
    tile_vectors_ = tile.value;
    TW_ASSIGN_OR_RETURN(const Choices::Pick pass, choices_.Take(sch_, name_ + ".row_vectors", {4, 2, 1, 8}, 0));
    pass_vectors_ = pass.value;
    return Done();
  }

  // They are multiplied in float32.
  Outcome<Done> WidenWeights() {
    for (const BlockRv& weights : std::exchange(weights_, {})) {
      if (Node(weights).writes[0].buffer->dtype.bits() >= 32) continue;
      TW_RETURN_IF_ERROR(sch_.WidenBuffer(weights, 0, "float32"));
    }
    return Done();
  }

  // The blocks of the chain that second products read.
  std::vector<BlockRv> WritersOfWeights() const {
    std::vector<BlockRv> writers;
    for (const ChainedBlock& block : chain_) {
      const Buffer& written = Node(block.block).writes[0].buffer;
      const auto reads = [&](const BufferRegion& read) { return read.buffer.same_as(written); };
      const bool weights = std::ranges::any_of(
          seconds_, [&](const SecondProduct& second) { return std::ranges::any_of(Node(second.block).reads, reads); });
      if (!block.reduces && weights) writers.push_back(block.block);
    }
    return writers;
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

  // The place of a weight in groups of neighbours along keys. What is found of the weights' iterators holds before
  // blocks of keys are theirs.
  Outcome<IndexMap> GroupWeights() const {
    if (weights_.size() != 1) return Refusal{kName, "{block0} reads no weights", {Node(seconds_[0].block).id}};
    const BlockRv staged = weights_[0];
    const ChainedBlock& weights =
        *std::ranges::find_if(chain_, [&](const ChainedBlock& block) { return block.block.index == staged.index; });
    const auto uses = [&](const Range& range, int along) {
      const int iterator = weights.IteratorAlong(along);
      return iterator >= 0 && UsesVar(range.min, Node(staged).iter_vars[static_cast<size_t>(iterator)].var);
    };
    std::vector<Var> inputs;
    std::vector<Expr> outputs;
    Expr row, key;
    for (const Range& range : Node(staged).writes[0].region) {
      const Var& input = inputs.emplace_back("i" + std::to_string(inputs.size()));
      if (uses(range, plan_.row())) {
        row = input;
      } else if (uses(range, plan_.key)) {
        key = input;
      } else {
        outputs.push_back(input);
      }
    }
    if (!row || !key) return Refusal{kName, "{block0} does not have rows and keys", {Node(staged).id}};
    const int group = instructions_->result.group;
    outputs.insert(outputs.end(), {FloorDiv(key, group), row, FloorMod(key, group)});
    return IndexMap(std::move(inputs), std::move(outputs));
  }

  // Weights in groups, and sums of their product with rows next to each other.
  Outcome<Done> LayOutProducts(const IndexMap& groups) {
    const Value::List selected = {Value("write"), Value(0)};
    TW_RETURN_IF_ERROR(sch_.Apply("transform_layout", {weights_[0], Value(selected), Value(groups)}));
    const SecondProduct& second = seconds_[0];
    TW_RETURN_IF_ERROR(PutLast(second.sum(), SecondColumn(second)));
    TW_RETURN_IF_ERROR(PutLast(second.sum(), SecondVar(second, plan_.row())));
    if (!second.part) return Done();
    TW_RETURN_IF_ERROR(PutLast(*second.result, ResultVar(second, kAlongOther)));
    return PutLast(*second.result, ResultVar(second, plan_.row()));
  }
  Var ResultVar(const SecondProduct& second, int along) const {
    return Node(*second.result).iter_vars[ResultIterator(second, along)].var;
  }

  // What the running values and the parts of reductions are kept in: as the reduced values, of an iteration each.
  Outcome<Done> LayOutParts(size_t dimensions) {
    TW_ASSIGN_OR_RETURN(const std::vector<BlockRv> blocks, sch_.GetChildBlocks(shared_));
    for (const BlockRv& block : blocks) {
      const auto is_part = [&](const SecondProduct& s) { return s.part && Node(*s.part).id == Node(block).id; };
      if (std::ranges::any_of(seconds_, is_part)) continue;
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

  // The dimension of what the block writes at the variable.
  Outcome<Done> PutLast(BlockRv block, const Var& var) {
    const std::vector<Range>& region = Node(block).writes[0].region;
    for (size_t d = 0; d < region.size(); ++d) {
      if (UsesVar(region[d].min, var)) return PutLast(block, 0, d);
    }
    return Done();
  }
  Outcome<Done> PutLast(BlockRv block, size_t write, size_t dimension) {
    const BufferRegion& written = Node(block).writes[write];
    if (IsParam(written.buffer, block) || dimension + 1 == written.region.size()) return Done();
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
      const auto is_block = [&](BlockRv weights) { return Node(block).id == Node(weights).id; };
      const bool weights = std::ranges::any_of(weights_, is_block);
      TW_RETURN_IF_ERROR(weights ? WriteGroups(block) : WriteByVectors(block));
    }
    if (instructions_) return MultiplyWeights(seconds_[0]);
    for (const SecondProduct& second : seconds_) TW_RETURN_IF_ERROR(WriteSecondTiles(second));
    return Done();
  }

  Outcome<Done> WriteByVectors(BlockRv block) {
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, OwnLoops(block));
    const std::optional<size_t> last = LoopAlongLast(sch_, block, loops);
    if (!last) return Done();
    if (const std::optional<size_t> row = RowsAcross(block, loops); row && *row != *last) {
      return WriteTransposed(loops, *row, *last, lanes_);
    }
    if (ReadsResult(block) && loops.size() == 2) return WriteTransposed(loops, 1 - *last, *last, lanes_);
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
    if (loops.size() > 1) TW_RETURN_IF_ERROR(sch_.Reorder(order));
    const bool takes_apart = Node(block).init && order.size() > first_inner + 1 && !IsCombining(block);
    if (takes_apart) {
      TW_ASSIGN_OR_RETURN(const BlockRv init, sch_.DecomposeReduction(block, order[first_inner]));
      TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> init_loops, sch_.GetLoops(init));
      if (!init_loops.empty()) TW_RETURN_IF_ERROR(sch_.Vectorize(init_loops.back()));
    }
    return sch_.Vectorize(parts.back());
  }

  // The loop over rows of a result that is stored along keys, where the scores that it reads lie along rows.
  std::optional<size_t> RowsAcross(BlockRv block, const std::vector<LoopRv>& loops) const {
    const auto chained =
        std::ranges::find_if(chain_, [&](const ChainedBlock& b) { return b.block.index == block.index; });
    if (!plan_.gives_scores || chained == chain_.end() || loops.size() != 2) return std::nullopt;
    const int row = chained->IteratorAlong(plan_.row());
    if (row < 0 || chained->reduces || chained->IteratorAlong(plan_.key) < 0) return std::nullopt;
    return LoopOfIterator(sch_, block, loops, static_cast<size_t>(row));
  }

  // Vectors of groups of keys, whose rows lie next to each other in what they are made of.
  Outcome<Done> WriteGroups(BlockRv block) {
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, OwnLoops(block));
    return PackPanel(sch_, block, loops, target_);
  }

  // Whether the block reads sums of a second product that lie with rows next to each other.
  bool ReadsResult(BlockRv block) const {
    return instructions_ && seconds_[0].part && std::ranges::any_of(Node(block).reads, [&](const BufferRegion& read) {
             return read.buffer.same_as(Node(*seconds_[0].result).writes[0].buffer);
           });
  }

  // Tiles of a cache line of rows, by vectors of keys, which lowering transposes in registers.
  Outcome<Done> WriteTransposed(const std::vector<LoopRv>& loops, size_t row, size_t key, int64_t width) {
    const int64_t line = target_.Nearest().line_bytes / plan_.type.bytes();
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> rows, sch_.Split(loops[row], {Value(), Value(line)}));
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> keys, sch_.Split(loops[key], {Value(), Value(width)}));
    TW_RETURN_IF_ERROR(sch_.Reorder({rows[0], keys[0], rows[1], keys[1]}));
    TW_RETURN_IF_ERROR(sch_.Unroll(rows[1]));
    return sch_.Vectorize(keys[1]);
  }

  // ---- Tiles

  Outcome<Done> WriteFirstTiles() {
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, OwnLoops(*scores_));
    const std::optional<size_t> last = LoopAlongLast(sch_, *scores_, loops);
    if (!last || loops.size() != 2) return Refusal{kName, "scores are not those of rows and keys"};
    const LoopRv keys = loops[1 - *last], rows = loops[*last];
    const int64_t width = std::min(row_block_, tile_vectors_ * lanes_);
    TW_ASSIGN_OR_RETURN(const int64_t tile_keys,
                        TileOf(".tile_keys", LikelyExtent(sch_, keys), MostBroadcast((width + lanes_ - 1) / lanes_)));
    TW_ASSIGN_OR_RETURN(const SumTile tile, MakeSumTile(sch_, keys, rows, tile_keys, width));
    TW_ASSIGN_OR_RETURN(const BlockRv packed, ReindexRead(sch_, plan_.product, plan_.row_operand));
    if (Node(packed).writes[0].buffer->dtype.bits() < 32) {
      TW_RETURN_IF_ERROR(sch_.WidenBuffer(packed, 0, "float32"));
    }
    TW_RETURN_IF_ERROR(ReorderStage(sch_, packed, plan_.operand_iterators, {plan_.row()}));
    const auto var = [&](int iterator) { return Node(plan_.product).iter_vars[static_cast<size_t>(iterator)].var; };
    TW_ASSIGN_OR_RETURN(const std::optional<BlockRv> wide, StageWide(sch_, plan_.product, var(plan_.key)));
    TW_RETURN_IF_ERROR(sch_.ComputeAt(plan_.product, tile.place));
    TW_RETURN_IF_ERROR(sch_.Unroll(tile.broadcast));
    TW_RETURN_IF_ERROR(sch_.Vectorize(tile.loaded));
    TW_RETURN_IF_ERROR(WriteSum(sch_, plan_.product, tile.place, var(plan_.row())));
    if (wide) TW_RETURN_IF_ERROR(ConvertInLoop(sch_, *wide, shared_, pass_vectors_ * lanes_));
    return PackInLoop(sch_, packed, outer_.back(), target_);
  }

  Outcome<Done> WriteSecondTiles(const SecondProduct& second) {
    const BlockRv sum = second.sum(), result = *second.result;
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, OwnLoops(result));
    const std::optional<size_t> last = LoopAlongLast(sch_, result, loops);
    if (!last || loops.size() < 2) return Refusal{kName, "{block0} does not have rows and columns", {Node(result).id}};
    const std::optional<size_t> row = LoopOfIterator(sch_, result, loops, ResultIterator(second, plan_.row()));
    if (!row || *row == *last) return Refusal{kName, "{block0} does not have rows", {Node(result).id}};
    const int64_t extent = ExtentOf(sch_, loops[*last]).value_or(1), width = std::min(extent, tile_vectors_ * lanes_);
    TW_ASSIGN_OR_RETURN(const int64_t tile_rows,
                        TileOf(".tile_rows", row_block_, MostBroadcast((width + lanes_ - 1) / lanes_)));
    TW_ASSIGN_OR_RETURN(const SumTile tile, MakeSumTile(sch_, loops[*row], loops[*last], tile_rows, width));
    TW_ASSIGN_OR_RETURN(const std::optional<BlockRv> wide, StageWide(sch_, sum, SecondColumn(second)));
    TW_RETURN_IF_ERROR(sch_.ComputeAt(sum, tile.place));
    if (second.part) TW_RETURN_IF_ERROR(sch_.SetScope(sum, 0, "register"));
    TW_RETURN_IF_ERROR(sch_.Unroll(tile.broadcast));
    TW_RETURN_IF_ERROR(sch_.Vectorize(tile.loaded));
    TW_RETURN_IF_ERROR(WriteSum(sch_, sum, tile.place, SecondColumn(second)));
    return wide ? ConvertInLoop(sch_, *wide, shared_, pass_vectors_ * lanes_) : Outcome<Done>(Done());
  }

  // ---- Tiles of instructions that multiply groups

  // Keys by rows, which are packed in groups.
  Outcome<Done> MultiplyScores() {
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, OwnLoops(*scores_));
    const std::optional<size_t> last = LoopAlongLast(sch_, *scores_, loops);
    if (!last || loops.size() != 2) return Refusal{kName, "scores are not those of rows and keys"};
    const LoopRv keys = loops[1 - *last], rows = loops[*last];
    const BlockNode& product = Node(plan_.product);
    const auto reduced = std::ranges::find(product.iter_vars, IterKind::kReduce, &IterVar::kind);
    const int depth = static_cast<int>(reduced - product.iter_vars.begin());
    TW_ASSIGN_OR_RETURN(const ProductTile tile, TileFor(instructions_->scores, ExtentOf(sch_, keys).value_or(0),
                                                        ExtentOf(*reduced).value_or(0)));
    TW_ASSIGN_OR_RETURN(const SumTile sums, MakeSumTile(sch_, keys, rows, tile.rows, tile.columns));
    TW_ASSIGN_OR_RETURN(const BlockRv packed, ReindexRead(sch_, plan_.product, plan_.row_operand));
    TW_RETURN_IF_ERROR(ReorderStage(sch_, packed, plan_.operand_iterators, {depth, plan_.row()},
                                    static_cast<int>(tile.columns), tile.instruction.group));
    TW_RETURN_IF_ERROR(sch_.ComputeAt(plan_.product, sums.place));
    TW_RETURN_IF_ERROR(sch_.Vectorize(sums.loaded));
    const auto var = [&](int iterator) { return Node(plan_.product).iter_vars[static_cast<size_t>(iterator)].var; };
    TW_RETURN_IF_ERROR(MultiplyTile(sch_, plan_.product, sums.place, var(plan_.key), tile));
    return PackInLoop(sch_, packed, outer_.back(), target_);
  }

  Outcome<ProductTile> TileFor(const TileInstruction& instruction, int64_t rows, int64_t depth) const {
    const std::optional<ProductTile> tile = DividingTile(instruction, rows, row_block_, depth, target_);
    if (!tile) return Refusal{kName, "no tiles divide a block of {block0}", {Node(plan_.product).id}};
    return *tile;
  }

  // Columns of a second product by weights. Columns are packed with keys next to each other.
  Outcome<Done> MultiplyWeights(const SecondProduct& second) {
    const BlockRv sum = second.sum(), result = *second.result;
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, OwnLoops(result));
    const auto loop_of = [&](int along) { return LoopOfIterator(sch_, result, loops, ResultIterator(second, along)); };
    const std::optional<size_t> row = loop_of(plan_.row()), column = loop_of(kAlongOther);
    if (loops.size() != 2 || !row || !column || *row == *column) {
      return Refusal{kName, "{block0} does not have rows and columns", {Node(result).id}};
    }
    const int64_t keys = key_block_ > 0 ? key_block_ : plan_.key_extent;
    TW_ASSIGN_OR_RETURN(const ProductTile tile,
                        TileFor(instructions_->result, ExtentOf(sch_, loops[*column]).value_or(0), keys));
    TW_ASSIGN_OR_RETURN(const SumTile sums, MakeSumTile(sch_, loops[*column], loops[*row], tile.rows, tile.columns));
    if (second.part && sum_scope_ == "register") TW_RETURN_IF_ERROR(sch_.SetScope(sum, 0, sum_scope_));
    TW_ASSIGN_OR_RETURN(const BlockRv packed, StageColumns(second));
    TW_RETURN_IF_ERROR(sch_.ComputeAt(sum, sums.place));
    const bool by_rows = LoopAlongLast(sch_, result, {sums.loaded}).has_value();
    TW_RETURN_IF_ERROR(by_rows ? sch_.Vectorize(sums.loaded)
                               : WriteTransposed({sums.broadcast, sums.loaded}, 1, 0, lanes_));
    TW_RETURN_IF_ERROR(MultiplyTile(sch_, sum, sums.place, SecondColumn(second), tile));
    TW_RETURN_IF_ERROR(sch_.ComputeAt(packed, shared_));
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> packing, LoopsInside(sch_, packed, shared_));
    const std::optional<size_t> key = LoopAlongLast(sch_, packed, packing);
    if (packing.size() != 2 || !key) return Refusal{kName, "{block0} is not a matrix", {Node(packed).id}};
    return WriteTransposed(packing, 1 - *key, *key, target_.lanes(Node(packed).writes[0].buffer->dtype.bits()));
  }

  // A copy of the columns that the product reads, keys last.
  Outcome<BlockRv> StageColumns(const SecondProduct& second) {
    const BlockRv sum = second.sum();
    const auto reads_column = [&](const BufferRegion& read) {
      return !read.buffer.same_as(Node(sum).writes[0].buffer) &&
             std::ranges::any_of(read.region,
                                 [&](const Range& range) { return UsesVar(range.min, SecondColumn(second)); });
    };
    const auto columns = std::ranges::find_if(Node(sum).reads, reads_column);
    if (columns == Node(sum).reads.end()) return Refusal{kName, "{block0} has no columns", {Node(sum).id}};
    TW_ASSIGN_OR_RETURN(const BlockRv packed, ReindexRead(sch_, sum, Buffer(columns->buffer)));
    const std::vector<Range> region = ReadOf(Node(sum), Node(packed).writes[0].buffer).region;
    for (size_t d = 0; d < region.size(); ++d) {
      if (UsesVar(region[d].min, SecondVar(second, plan_.key))) TW_RETURN_IF_ERROR(PutLast(packed, 0, d));
    }
    return packed;
  }

  const bool all_keys_;
  const std::optional<ChainInstructions> instructions_;  // of products of narrow types
  std::vector<BlockRv> weights_;                         // round what second products read
  int64_t row_block_ = 0, tile_vectors_ = 1, pass_vectors_ = 1;
};

}  // namespace

ChainLimits LimitsOfChains(const Target& target) {
  return {.least_rows = target.lanes(32),
          .few_rows = true,
          .parts_keys = true,
          .converts = true,
          .chooses_keys = true,
          .score_bytes = target.Near().bytes / 2,
          .key_bytes = target.Near().bytes / 4};
}

bool HasTiles(const Schedule& sch, const ChainedPlan& plan, const Target& target) {
  return !plan.narrow || plan.has_few_rows() || InstructionsOf(sch, plan, target).has_value() ||
         !HasInstructionOf(sch, plan, target);
}

Outcome<std::monostate> ScheduleChained(Schedule& sch, const ChainedPlan& plan, const Target& target,
                                        Choices& choices) {
  if (plan.has_few_rows()) return ScheduleFewRows(sch, plan, target, choices);
  return ScheduleByKeys<ChainedSchedule>(sch, plan, target, choices);
}

}  // namespace tilewright
