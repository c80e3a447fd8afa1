#include "autoschedule/sketch/cpu/chained/few_rows_rule.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "autoschedule/program/block_loops.h"
#include "autoschedule/program/row_chain.h"
#include "autoschedule/sketch/cpu/chained/chained_tiles.h"
#include "autoschedule/sketch/cpu/chained/cpu_steps.h"
#include "base/math.h"
#include "base/status_macros.h"
#include "ir/analysis.h"

namespace tilewright {
namespace {

class FewRowsSchedule : private CpuChainedSteps {
 public:
  // `all_keys`: at once.
  FewRowsSchedule(Schedule& sch, const ChainedPlan& plan, const Target& target, Choices& choices, bool all_keys)
      : CpuChainedSteps(sch, plan, target, choices), all_keys_(all_keys) {
    for (const FewRows& rows : plan.few_rows) {
      tile_rows_.push_back({rows.iterator, rows.elements});
      rows_ *= rows.elements;
    }
  }

  Outcome<Done> Apply() {
    TW_RETURN_IF_ERROR(Choose());
    DivideLate();
    TW_ASSIGN_OR_RETURN(const std::vector<BlockRv> staged, StageWeights());
    for (const BlockRv& weights : staged) {
      if (Node(weights).writes[0].buffer->dtype.bits() >= 32) continue;
      TW_RETURN_IF_ERROR(sch_.WidenBuffer(weights, 0, "float32"));
    }
    TW_RETURN_IF_ERROR(StageProduct());
    TW_ASSIGN_OR_RETURN(score_sums_, SumByLanes(plan_.product, lanes_));
    std::optional<Combination> combination;
    if (parts_keys_) {
      TW_ASSIGN_OR_RETURN(combination, ReduceParts());
    } else if (key_block_ > 0) {
      TW_RETURN_IF_ERROR(FollowRunningValues(true));
    } else {
      TW_RETURN_IF_ERROR(ReduceByLanes());
      TW_RETURN_IF_ERROR(KeepAllKeys());
    }
    TW_RETURN_IF_ERROR(WriteBlocks());
    TW_RETURN_IF_ERROR(WriteScores());
    if (combination) TW_RETURN_IF_ERROR(WriteCombination(*combination));
    return RunInParallel();
  }

 private:
  Outcome<Done> Choose() {
    const int64_t bytes = rows_ * plan_.key_extent * plan_.type.bytes() * plan_.score_buffers;
    const bool fits = bytes <= target_.Near().bytes / 2;
    std::vector<int64_t> keys = Dividing(plan_.key_extent, {256, 128, 64});
    std::erase(keys, plan_.key_extent);
    if (all_keys_ || !ExtentOf(Node(plan_.product).iter_vars[static_cast<size_t>(plan_.key)])) keys.clear();
    keys.push_back(0);
    TW_ASSIGN_OR_RETURN(const Choices::Pick key_block,
                        choices_.Take(sch_, name_ + ".key_block", keys, fits && !plan_.masked ? keys.size() - 1 : 0));
    key_block_ = key_block.value;
    // The most with which sums of all rows are in registers: each value is loaded once.
    const std::vector<int64_t> vectors = {4, 2, 1};
    const auto fits_rows = std::ranges::find_if(vectors, [&](int64_t v) { return MostBroadcast(v) >= rows_; });
    const auto preferred = static_cast<size_t>(std::min(fits_rows, vectors.end() - 1) - vectors.begin());
    TW_ASSIGN_OR_RETURN(const Choices::Pick tile, choices_.Take(sch_, name_ + ".tile_vectors", vectors, preferred));
    tile_vectors_ = tile.value;
    TW_ASSIGN_OR_RETURN(const Choices::Pick pass, choices_.Take(sch_, name_ + ".key_vectors", {4, 2, 1, 8}, 0));
    key_vectors_ = pass.value;
    return plan_.parts_keys && !all_keys_ ? ChooseParts() : Outcome<Done>(Done());
  }

  // As few parts as keep the cores busy, or some times as many.
  Outcome<Done> ChooseParts() {
    std::vector<int64_t> lengths;
    size_t preferred = 0;
    for (const int64_t times : {1, 2, 4}) {
      const int64_t parts = CeilDiv(target_.cores * times, plan_.tiles);
      const int64_t length = RoundUp(CeilDiv(plan_.key_extent, parts), key_vectors_ * lanes_);
      const int64_t made = CeilDiv(plan_.key_extent, length);
      const bool fits = rows_ * length * plan_.type.bytes() * plan_.score_buffers <= target_.Near().bytes / 2;
      if (made < 2 || std::ranges::find(lengths, length) != lengths.end() || !fits) continue;
      if (preferred == 0 && KeepsCoresBusyThroughout(made * plan_.tiles, target_.cores)) preferred = lengths.size() + 1;
      lengths.push_back(length);
    }
    if (lengths.empty()) return Refusal{kName, "{block0} has no parts that fit", {Node(plan_.product).id}};
    const size_t chosen = preferred > 0 ? preferred - 1 : 0;
    TW_ASSIGN_OR_RETURN(const Choices::Pick part, choices_.Take(sch_, name_ + ".part_keys", lengths, chosen));
    key_block_ = part.value;
    parts_keys_ = true;
    return Done();
  }

  // Takes a reduction along its last reduce iterator apart: by `width` lanes, then by fewer, then to one. The partial
  // reductions in their order; none where it runs along nothing, or along too little.
  Outcome<std::vector<BlockRv>> SumByLanes(BlockRv block, int64_t width) {
    std::vector<BlockRv> partial;
    const Block node = RealizeOf(sch_, block).block;
    const int iterator = LaneIterator(*node);
    if (iterator < 0) return partial;
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, LoopsByIterator(sch_, block, kName));
    std::vector<LoopRv> order, reduced;
    for (size_t i = 0; i < loops.size(); ++i) {
      if (static_cast<int>(i) == iterator) continue;
      (node->iter_vars[i].kind == IterKind::kSpatial ? order : reduced).push_back(loops[i]);
    }
    order.insert(order.end(), reduced.begin(), reduced.end());
    order.push_back(loops[static_cast<size_t>(iterator)]);
    if (order.size() > 1) TW_RETURN_IF_ERROR(sch_.Reorder(order));
    LoopRv loop = order.back();
    int64_t left = LikelyExtent(sch_, loop);
    // Each step adds up quarters of the one before.
    for (int64_t step = width; step > 1; step = step > lanes_ ? lanes_ : step / 4) {
      if (step > left || (step == left && !partial.empty())) continue;
      TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> parts, sch_.Split(loop, {Value(), Value(step)}));
      TW_ASSIGN_OR_RETURN(const BlockRv part, sch_.Rfactor(parts[1], -1));
      partial.push_back(part);
      TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> now, sch_.GetLoops(block));
      loop = now.back();
      left = step;
    }
    return partial;
  }

  // Reductions of rows of scores: partial results of vectors of keys.
  Outcome<Done> ReduceByLanes() {
    std::vector<ChainedBlock> chain;
    for (const ChainedBlock& reduced : chain_) {
      if (reduced.reduces && SecondOf(reduced.block) == nullptr) {
        TW_ASSIGN_OR_RETURN(const std::vector<BlockRv> partial, SumByLanes(reduced.block, key_vectors_ * lanes_));
        for (const BlockRv& block : partial) {
          by_lanes_.push_back(block);
          chain.push_back({block, {}, true});
        }
      }
      chain.push_back(reduced);
    }
    chain_ = std::move(chain);
    return Done();
  }

  bool IsOneOf(const std::vector<BlockRv>& blocks, BlockRv block) const {
    return std::ranges::any_of(blocks, [&](const BlockRv& b) { return Node(b).id == Node(block).id; });
  }

  Outcome<Done> WriteBlocks() {
    TW_ASSIGN_OR_RETURN(const std::vector<BlockRv> blocks, sch_.GetChildBlocks(outer_.back()));
    for (const BlockRv& block : blocks) {
      const bool scores = Node(block).id == Node(*scores_).id || Node(block).id == Node(plan_.product).id;
      if (scores || IsOneOf(score_sums_, block) || IsTile(block)) continue;
      if (IsOneOf(by_lanes_, block)) {
        TW_RETURN_IF_ERROR(WriteLanes(block, shared_));
      } else {
        TW_RETURN_IF_ERROR(WriteByVectors(block));
      }
    }
    for (const SecondProduct& second : seconds_) TW_RETURN_IF_ERROR(WriteSecondTiles(second));
    return Done();
  }

  // Elementwise blocks by vectors along what they store next to each other.
  Outcome<Done> WriteByVectors(BlockRv block) {
    if (Node(block).init) return Done();
    TW_ASSIGN_OR_RETURN(std::vector<LoopRv> loops, OwnLoops(block));
    const std::optional<size_t> last = LoopAlongLast(sch_, block, loops);
    if (!last) return Done();
    std::rotate(loops.begin() + static_cast<std::ptrdiff_t>(*last),
                loops.begin() + static_cast<std::ptrdiff_t>(*last) + 1, loops.end());
    if (loops.size() > 1) TW_RETURN_IF_ERROR(sch_.Reorder(loops));
    const int64_t width = key_vectors_ * lanes_;
    if (ExtentOf(sch_, loops.back()).value_or(width + 1) <= width) return sch_.Vectorize(loops.back());
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> parts, sch_.Split(loops.back(), {Value(), Value(width)}));
    return sch_.Vectorize(parts[1]);
  }

  // Partial reductions, of which the first iterator is the lanes, inside of `place`: what is reduced outermost.
  // `in_registers`: all but what is reduced is written out.
  Outcome<Done> WriteLanes(BlockRv block, LoopRv place, bool in_registers = false) {
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> inside, LoopsInside(sch_, block, place));
    std::vector<LoopRv> reduced, spatial;
    std::optional<LoopRv> lanes;
    for (const LoopRv& loop : inside) {
      const BlockRealizeNode& realize = RealizeOf(sch_, block);
      const auto runs = [&](size_t i) { return UsesVar(realize.bindings[i], LoopOf(sch_, loop).var); };
      bool reduces = false;
      for (size_t i = 1; i < realize.bindings.size(); ++i) {
        reduces |= realize.block->iter_vars[i].kind == IterKind::kReduce && runs(i);
      }
      if (runs(0)) {
        lanes = loop;
      } else {
        (reduces ? reduced : spatial).push_back(loop);
      }
    }
    if (!lanes) return Refusal{kName, "{block0} has no lanes", {Node(block).id}};
    std::vector<LoopRv> order = in_registers ? reduced : spatial;
    const std::vector<LoopRv>& inner = in_registers ? spatial : reduced;
    order.insert(order.end(), inner.begin(), inner.end());
    order.push_back(*lanes);
    if (order.size() > 1) TW_RETURN_IF_ERROR(sch_.Reorder(order));
    if (!reduced.empty()) {
      TW_ASSIGN_OR_RETURN(const BlockRv init, sch_.DecomposeReduction(block, reduced[0]));
      TW_RETURN_IF_ERROR(WriteOut(sch_, init, !in_registers && !spatial.empty() ? spatial.back() : place, true));
    }
    if (in_registers) {
      for (const LoopRv& loop : spatial) TW_RETURN_IF_ERROR(sch_.Unroll(loop));
    }
    for (const LoopRv& loop : reduced) {
      if (ExtentOf(sch_, loop).value_or(lanes_ + 1) <= lanes_) TW_RETURN_IF_ERROR(sch_.Unroll(loop));
    }
    return sch_.Vectorize(*lanes);
  }

  Outcome<Done> WriteScores() {
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, OwnLoops(*scores_));
    const std::vector<int> along = AlongScores();
    const auto key = static_cast<size_t>(std::ranges::find(along, plan_.key) - along.begin());
    const std::optional<size_t> keys = LoopOfIterator(sch_, *scores_, loops, key);
    if (!keys) return Refusal{kName, "{block0} does not have keys", {Node(*scores_).id}};
    // As many sums as there are registers for, beside those of a row and a key.
    const int64_t most = std::max<int64_t>(1, (target_.cpu_part().vector_registers - 2) / (rows_ + 1));
    TW_ASSIGN_OR_RETURN(const int64_t tile_keys,
                        TileOf(".tile_keys", LikelyExtent(sch_, loops[*keys]), std::min(lanes_, most)));
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> parts, sch_.Split(loops[*keys], {Value(), Value(tile_keys)}));
    std::vector<LoopRv> order = {parts[0]};
    for (size_t l = 0; l < loops.size(); ++l) {
      if (l != *keys) order.push_back(loops[l]);
    }
    order.push_back(parts[1]);
    TW_RETURN_IF_ERROR(sch_.Reorder(order));
    std::vector<BlockRv> sums = score_sums_;
    sums.push_back(plan_.product);
    for (size_t i = sums.size(); i-- > 0;) {
      TW_RETURN_IF_ERROR(sch_.ComputeAt(sums[i], parts[0]));
      if (i + 1 < sums.size()) TW_RETURN_IF_ERROR(sch_.SetScope(sums[i], 0, "register"));
    }
    for (const BlockRv& sum : score_sums_) TW_RETURN_IF_ERROR(WriteLanes(sum, parts[0], true));
    TW_RETURN_IF_ERROR(score_sums_.empty() ? WriteScalars(parts[0]) : WriteOut(sch_, plan_.product, parts[0], false));
    for (size_t l = 1; l + 1 < order.size(); ++l) TW_RETURN_IF_ERROR(sch_.Unroll(order[l]));
    return sch_.Vectorize(parts[1]);
  }

  // Sums of which no part is a vector: what is reduced outermost.
  Outcome<Done> WriteScalars(LoopRv place) {
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> inside, LoopsInside(sch_, plan_.product, place));
    std::vector<LoopRv> reduced, spatial;
    const BlockRealizeNode& realize = RealizeOf(sch_, plan_.product);
    for (const LoopRv& loop : inside) {
      bool reduces = false;
      for (size_t i = 0; i < realize.bindings.size(); ++i) {
        reduces |= realize.block->iter_vars[i].kind == IterKind::kReduce &&
                   UsesVar(realize.bindings[i], LoopOf(sch_, loop).var);
      }
      (reduces ? reduced : spatial).push_back(loop);
    }
    std::vector<LoopRv> order = reduced;
    order.insert(order.end(), spatial.begin(), spatial.end());
    if (order.size() > 1) TW_RETURN_IF_ERROR(sch_.Reorder(order));
    if (!reduced.empty()) {
      TW_ASSIGN_OR_RETURN(const BlockRv init, sch_.DecomposeReduction(plan_.product, reduced[0]));
      TW_RETURN_IF_ERROR(WriteOut(sch_, init, place, false));
    }
    for (const LoopRv& loop : spatial) TW_RETURN_IF_ERROR(sch_.Unroll(loop));
    return Done();
  }

  // What combines parts: by vectors along what lies next to each other, sums of parts in their order around them.
  Outcome<Done> WriteCombination(const Combination& combination) {
    for (const BlockRv& block : combination.blocks) {
      TW_ASSIGN_OR_RETURN(std::vector<LoopRv> loops, sch_.GetLoops(block));
      const std::optional<size_t> last = LoopAlongLast(sch_, block, loops);
      if (!last || (Node(block).init && *last < combination.outer)) continue;
      std::rotate(loops.begin() + static_cast<std::ptrdiff_t>(*last),
                  loops.begin() + static_cast<std::ptrdiff_t>(*last) + 1, loops.end());
      if (loops.size() > 1) TW_RETURN_IF_ERROR(sch_.Reorder(loops));
      if (Node(block).init) {
        TW_ASSIGN_OR_RETURN(const BlockRv init, sch_.DecomposeReduction(block, loops[combination.outer - 1]));
        TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> zeroed, sch_.GetLoops(init));
        TW_RETURN_IF_ERROR(sch_.Vectorize(zeroed.back()));
      }
      const int64_t width = key_vectors_ * lanes_;
      if (ExtentOf(sch_, loops.back()).value_or(width + 1) > width) {
        TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> parts, sch_.Split(loops.back(), {Value(), Value(width)}));
        loops.back() = parts[1];
      }
      TW_RETURN_IF_ERROR(sch_.Vectorize(loops.back()));
    }
    return Done();
  }

  // Tiles of all rows, as far as there are registers for their sums, by vectors of columns.
  Outcome<Done> WriteSecondTiles(const SecondProduct& second) {
    const BlockRv sum = second.sum(), result = *second.result;
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, OwnLoops(result));
    const std::optional<size_t> last = LoopAlongLast(sch_, result, loops);
    if (!last) return Refusal{kName, "{block0} does not have columns", {Node(result).id}};
    const int64_t extent = ExtentOf(sch_, loops[*last]).value_or(1), width = std::min(extent, tile_vectors_ * lanes_);
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> columns, sch_.Split(loops[*last], {Value(), Value(width)}));
    std::vector<LoopRv> order = {columns[0]};
    for (size_t l = 0; l < loops.size(); ++l) {
      if (l != *last) order.push_back(loops[l]);
    }
    // The innermost rows are those of a tile.
    const int64_t most = MostBroadcast((width + lanes_ - 1) / lanes_);
    size_t first = order.size();
    for (int64_t rows = 1; first > 1; --first) {
      rows *= ExtentOf(sch_, order[first - 1]).value_or(most + 1);
      if (rows > most) break;
    }
    order.push_back(columns[1]);
    TW_RETURN_IF_ERROR(sch_.Reorder(order));
    const LoopRv place = order[first - 1];
    const Var column = SecondColumn(second);
    TW_RETURN_IF_ERROR(sch_.ComputeAt(sum, place));
    if (second.part) TW_RETURN_IF_ERROR(sch_.SetScope(sum, 0, "register"));
    for (size_t l = first; l + 1 < order.size(); ++l) TW_RETURN_IF_ERROR(sch_.Unroll(order[l]));
    TW_RETURN_IF_ERROR(sch_.Vectorize(columns[1]));
    return WriteSum(sch_, sum, place, column);
  }

  const bool all_keys_;
  bool parts_keys_ = false;
  int64_t rows_ = 1;  // of a tile
  int64_t tile_vectors_ = 1, key_vectors_ = 1;
  std::vector<BlockRv> score_sums_;  // partial sums of the product, the widest first
  std::vector<BlockRv> by_lanes_;    // partial reductions of rows
};

}  // namespace

Outcome<std::monostate> ScheduleFewRows(Schedule& sch, const ChainedPlan& plan, const Target& target,
                                        Choices& choices) {
  return ScheduleByKeys<FewRowsSchedule>(sch, plan, target, choices);
}

}  // namespace tilewright
