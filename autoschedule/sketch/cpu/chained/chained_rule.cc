#include "autoschedule/sketch/cpu/chained/chained_rule.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "autoschedule/movement/cpu/operand_stages.h"
#include "autoschedule/movement/cpu/stage_layouts.h"
#include "autoschedule/program/block_loops.h"
#include "autoschedule/program/fuse_consumers.h"
#include "autoschedule/sketch/cpu/chained/chained_tiles.h"
#include "base/status_macros.h"
#include "ir/analysis.h"
#include "ir/functor.h"

namespace tilewright {
namespace {

using Done = std::monostate;
constexpr const char* kName = "chained_rule";

class ChainedSchedule {
 public:
  // `all_keys`: at once.
  ChainedSchedule(Schedule& sch, const ChainedPlan& plan, const Target& target, Choices& choices, bool all_keys)
      : sch_(sch),
        plan_(plan),
        target_(target),
        choices_(choices),
        all_keys_(all_keys),
        lanes_(target.lanes(32)),
        chain_(plan.blocks) {}

  Outcome<Done> Apply() {
    name_ = RealizeOf(sch_, plan_.product).block->name;
    TW_RETURN_IF_ERROR(ChooseBlocks());
    DivideLate();
    TW_RETURN_IF_ERROR(StageProduct());
    TW_RETURN_IF_ERROR(LayOutScores());
    if (key_block_ > 0) {
      TW_RETURN_IF_ERROR(FollowRunningValues());
    } else {
      TW_RETURN_IF_ERROR(KeepAllKeys());
    }
    TW_RETURN_IF_ERROR(WriteBlocks());
    TW_RETURN_IF_ERROR(WriteFirstTiles());
    return RunInParallel();
  }

 private:
  const BlockNode& Node(BlockRv block) const { return *RealizeOf(sch_, block).block; }

  // ---- Sizes

  // The sizes that divide the extent.
  static std::vector<int64_t> Dividing(int64_t extent, std::vector<int64_t> sizes) {
    std::erase_if(sizes, [&](int64_t size) { return size > extent || extent % size != 0; });
    return sizes;
  }

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

  // ---- The chain before any loop is shared

  std::optional<BlockRv> Second() const {
    return second_ ? std::optional<BlockRv>(chain_[*second_].block) : std::nullopt;
  }

  // Quotients by sums of rows become quotients of the second product's results.
  void DivideLate() {
    second_ = plan_.second;
    if (!second_) return;
    for (size_t i = 0; i < *second_; ++i) {
      if (chain_[i].reduces) continue;
      Schedule attempt = sch_;
      if (!attempt.ComputeInline(chain_[i].block).ok()) continue;
      if (!HoistAll(attempt)) continue;
      sch_ = std::move(attempt);
    }
    Schedule attempt = sch_;
    if (HoistAll(attempt)) sch_ = std::move(attempt);
    std::erase_if(chain_, [&](const ChainedBlock& block) { return !Exists(sch_, block.block); });
    const auto second = std::ranges::find_if(
        chain_, [&](const ChainedBlock& b) { return b.block.index == plan_.blocks[*plan_.second].block.index; });
    second_ = static_cast<size_t>(second - chain_.begin());
  }
  // Whether something was taken out of the second product.
  bool HoistAll(Schedule& sch) {
    const BlockRv second = plan_.blocks[*plan_.second].block;
    const size_t reads = RealizeOf(sch, second).block->reads.size();
    for (size_t read = 0; read < reads; ++read) {
      Outcome<BlockRv> scaled = sch.HoistFactor(second, static_cast<int>(read));
      if (!scaled.ok()) continue;
      scaled_ = *scaled;
      return true;
    }
    return false;
  }

  Outcome<Done> StageProduct() {
    TW_ASSIGN_OR_RETURN(scores_, StageOutput(sch_, plan_.product, "register"));
    FuseConsumers(sch_, *scores_);
    std::erase_if(chain_, [&](const ChainedBlock& block) { return !Exists(sch_, block.block); });
    if (!plan_.second) return Done();
    const auto second = std::ranges::find_if(
        chain_, [&](const ChainedBlock& b) { return b.block.index == plan_.blocks[*plan_.second].block.index; });
    if (second == chain_.end()) return Refusal{kName, "the second product was inlined"};
    second_ = static_cast<size_t>(second - chain_.begin());
    return Done();
  }

  // ---- All keys at once

  // The loops of a block in the order: rows but the last, blocks of the last row's; the rest.
  struct Split {
    std::vector<LoopRv> outer, rest;  // outer: shared by all blocks
  };
  Outcome<Split> SplitLoops(BlockRv block, const std::vector<int>& along, bool keys) {
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, LoopsByIterator(sch_, block, kName));
    Split split;
    std::optional<LoopRv> row;
    for (size_t r = 0; r < plan_.rows.size(); ++r) {
      const auto iterator = std::ranges::find(along, plan_.rows[r]);
      if (iterator == along.end()) return Refusal{kName, "{block0} has no rows", {Node(block).id}};
      const LoopRv loop = loops[static_cast<size_t>(iterator - along.begin())];
      if (r + 1 < plan_.rows.size()) {
        split.outer.push_back(loop);
        continue;
      }
      TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> parts, sch_.Split(loop, {Value(), Value(row_block_)}));
      split.outer.push_back(parts[0]);
      row = parts[1];
    }
    split.rest.push_back(*row);
    for (size_t i = 0; i < along.size(); ++i) {
      if (std::ranges::find(plan_.rows, along[i]) != plan_.rows.end()) continue;
      if (!keys || along[i] != plan_.key) {
        split.rest.push_back(loops[i]);
        continue;
      }
      TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> parts, sch_.Split(loops[i], {Value(), Value(key_block_)}));
      split.outer.push_back(parts[0]);
      split.rest.push_back(parts[1]);
    }
    std::vector<LoopRv> order = split.outer;
    order.insert(order.end(), split.rest.begin(), split.rest.end());
    TW_RETURN_IF_ERROR(sch_.Reorder(order));
    return split;
  }

  // Iterators of the block that copies the product's result are those of its output, in its order.
  std::vector<int> AlongScores() const {
    std::vector<int> along = plan_.rows;
    along.push_back(plan_.key);
    std::ranges::sort(along);
    return along;
  }

  Outcome<Done> KeepAllKeys() {
    TW_ASSIGN_OR_RETURN(const Split split, SplitLoops(*scores_, AlongScores(), false));
    outer_ = split.outer;
    shared_ = outer_.back();
    if (second_) {
      const BlockRv second = chain_[*second_].block;
      TW_ASSIGN_OR_RETURN(result_, StageOutput(sch_, second, "register"));
      FuseConsumers(sch_, *result_);
    }
    for (const ChainedBlock& block : chain_) {
      if (!Exists(sch_, block.block)) continue;
      TW_RETURN_IF_ERROR(sch_.ReverseComputeAt(block.block, shared_));
      if (!second_ || block.block.index != chain_[*second_].block.index) continue;
      TW_RETURN_IF_ERROR(sch_.ReverseComputeAt(*result_, shared_));
      if (scaled_ && Exists(sch_, *scaled_)) TW_RETURN_IF_ERROR(sch_.ReverseComputeAt(*scaled_, shared_));
    }
    return Done();
  }

  // ---- Blocks of keys

  Outcome<Done> FollowRunningValues() {
    std::vector<LoopRv> loops;
    std::vector<BlockRv> late, inside;
    for (const ChainedBlock& block : chain_) {
      const bool has_keys = block.IteratorAlong(plan_.key) >= 0;
      if (!has_keys) {
        late.push_back(block.block);
        continue;
      }
      TW_ASSIGN_OR_RETURN(const Split split, SplitLoops(block.block, block.along, true));
      loops.push_back(split.outer.back());
      inside.push_back(block.block);
      if (loops.size() == 1) outer_.assign(split.outer.begin(), split.outer.end() - 1);
    }
    if (loops.size() > 1) {
      TW_ASSIGN_OR_RETURN(const std::vector<BlockRv> parts, sch_.RescaleReduction(loops));
      parts_ = parts;
    }
    if (scaled_) late.insert(late.begin(), *scaled_);
    shared_ = loops[0];
    if (second_) {
      result_ = chain_[*second_].block;
      product_part_ = parts_.empty() ? std::nullopt : std::optional<BlockRv>(parts_.back());
    }
    TW_RETURN_IF_ERROR(sch_.ComputeAt(*scores_, shared_));
    for (const BlockRv& block : late) TW_RETURN_IF_ERROR(sch_.ReverseComputeAt(block, outer_.back()));
    return LayOutParts(plan_.rows.size());
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

  bool IsTile(BlockRv block) const {
    const uint32_t id = Node(block).id;
    const auto is = [&](const std::optional<BlockRv>& b) { return b && Exists(sch_, *b) && Node(*b).id == id; };
    return is(result_) || is(product_part_) || is(Second());
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

  // The loops of a block inside of the shared ones.
  Outcome<std::vector<LoopRv>> OwnLoops(BlockRv block) {
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, sch_.GetLoops(block));
    const auto outside = [&](const LoopRv& loop) {
      const uint32_t id = LoopOf(sch_, loop).id;
      return LoopOf(sch_, shared_).id == id ||
             std::ranges::any_of(outer_, [&](const LoopRv& outer) { return LoopOf(sch_, outer).id == id; });
    };
    std::vector<LoopRv> own;
    for (const LoopRv& loop : loops) {
      if (!outside(loop)) own.push_back(loop);
    }
    return own;
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

  // Whether the shared loop itself carries the block's reduction.
  bool IsCombining(BlockRv block) const {
    const BlockRealizeNode& realize = RealizeOf(sch_, block);
    for (size_t i = 0; i < realize.bindings.size(); ++i) {
      const bool reduces = realize.block->iter_vars[i].kind == IterKind::kReduce;
      if (reduces && UsesVar(realize.bindings[i], LoopOf(sch_, shared_).var)) return true;
    }
    return false;
  }

  // ---- Tiles

  // The greatest divisor of the extent that is at most `most`, where it is at least half of it. Else `most`: the last
  // tile is not whole.
  static int64_t PreferredTile(int64_t extent, int64_t most) {
    if (extent <= most) return extent;
    int64_t best = 1;
    for (int64_t d = 2; d <= most; ++d) {
      if (extent % d == 0) best = d;
    }
    return 2 * best >= most ? best : most;
  }
  // Elements that are broadcast in a tile: what registers hold beside the vectors that are loaded.
  int64_t MostBroadcast(int64_t vectors) const {
    return std::max<int64_t>(1, (target_.cpu_part().vector_registers - vectors - 1) / vectors);
  }

  Outcome<int64_t> TileOf(const std::string& name, int64_t extent, int64_t most) {
    std::vector<int64_t> sizes = {PreferredTile(extent, most)};
    for (int64_t size : {8, 6, 4, 12, 2, 1}) {
      if (size <= std::min(most, extent) && size != sizes[0]) sizes.push_back(size);
    }
    TW_ASSIGN_OR_RETURN(const Choices::Pick pick, choices_.Take(sch_, name_ + name, sizes, 0));
    return pick.value;
  }

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
    const BlockRv sum = product_part_ ? *product_part_ : chain_[*second_].block;
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
    const size_t column_iterator = static_cast<size_t>(SecondIterator(kAlongOther)) + (product_part_ ? 1 : 0);
    const Var column = Node(sum).iter_vars[column_iterator].var;
    TW_RETURN_IF_ERROR(sch_.ComputeAt(sum, tile.place));
    if (product_part_) TW_RETURN_IF_ERROR(sch_.SetScope(sum, 0, "register"));
    TW_RETURN_IF_ERROR(sch_.Unroll(tile.broadcast));
    TW_RETURN_IF_ERROR(sch_.Vectorize(tile.loaded));
    return WriteSum(sch_, sum, tile.place, column);
  }

  // The last iterator of the second product along that.
  int SecondIterator(int along) const {
    const std::vector<int>& all = plan_.blocks[*plan_.second].along;
    int found = -1;
    for (size_t i = 0; i < all.size(); ++i) {
      if (all[i] == along) found = static_cast<int>(i);
    }
    return found;
  }
  // The iterator of the block that copies or combines its sums: the spatial ones in their order, at last.
  size_t ResultIterator(int along) const {
    const std::vector<int>& all = plan_.blocks[*plan_.second].along;
    size_t place = Node(*result_).iter_vars.size() - (all.size() - 1);
    for (int i = 0; i < SecondIterator(along); ++i) place += all[static_cast<size_t>(i)] == plan_.key ? 0 : 1;
    return place;
  }
  Outcome<Done> RunInParallel() {
    TW_ASSIGN_OR_RETURN(const LoopRv fused, FuseFirst(sch_, outer_, outer_.size()));
    return sch_.Parallel(fused);
  }

  Schedule& sch_;
  const ChainedPlan& plan_;
  const Target& target_;
  Choices& choices_;
  const bool all_keys_;
  const int64_t lanes_;
  std::string name_;
  std::vector<ChainedBlock> chain_;
  std::optional<size_t> second_;  // of them
  int64_t row_block_ = 0, key_block_ = 0, tile_vectors_ = 1, pass_vectors_ = 1;
  std::optional<BlockRv> scores_;  // copies sums of the product
  std::optional<BlockRv> scaled_;  // what divides late
  std::optional<BlockRv> result_;  // copies, or combines, sums of the second product
  std::optional<BlockRv> product_part_;
  std::vector<BlockRv> parts_;
  std::vector<LoopRv> outer_;  // loops over rows and their blocks
  LoopRv shared_;              // the innermost loop that all blocks share
};

}  // namespace

Outcome<Done> ScheduleChained(Schedule& sch, const ChainedPlan& plan, const Target& target, Choices& choices) {
  Schedule attempt = sch;
  Choices taken = choices;
  if (ChainedSchedule(attempt, plan, target, taken, false).Apply().ok()) {
    sch = std::move(attempt);
    choices = std::move(taken);
    return Done();
  }
  return ChainedSchedule(sch, plan, target, choices, true).Apply();
}

}  // namespace tilewright
