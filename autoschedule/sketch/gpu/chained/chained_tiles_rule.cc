#include "autoschedule/sketch/gpu/chained/chained_tiles_rule.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>
#include <vector>

#include "autoschedule/program/block_loops.h"
#include "autoschedule/sketch/gpu/chained/gpu_chained_steps.h"
#include "autoschedule/sketch/gpu/plain_gpu_rule.h"
#include "base/math.h"
#include "base/status_macros.h"

namespace tilewright {
namespace {

class ChainedTiles : private GpuChainedSteps {
 public:
  ChainedTiles(Schedule& sch, const ChainedPlan& plan, const Target& target, Choices& choices, bool all_keys)
      : GpuChainedSteps(sch, plan, target, choices, all_keys) {}

  Outcome<Done> Apply() {
    if (all_keys_ || !plan_.needs_all_keys()) return ScheduleChain();
    return Refusal{kName, "results of {block0} need all keys of a row at once", {Node(plan_.product).id}};
  }

 private:
  Outcome<BlockRv> KeepSums(BlockRv product) override { return SumInLocalMemory(sch_, product); }

  Outcome<Done> ChooseTiles() override {
    const auto fits = [&](int64_t rows, int64_t keys) { return FitsShared(rows, keys, plan_.type.bytes()); };
    std::vector<int64_t> rows = {64, 128, 32, 16, 8, 4, 2, 1}, keys = {64, 32, 128, 16};
    if (all_keys_) rows = {16, 32, 8, 64, 4, 2, 1};
    const auto whole = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(plan_.row_extent)));
    std::erase_if(rows, [&](int64_t size) { return size > whole || !fits(size, keys.back()); });
    if (rows.empty()) return Refusal{kName, "rows of {block0} do not fit into shared memory", {Node(plan_.product).id}};
    TW_ASSIGN_OR_RETURN(const Choices::Pick row_block, choices_.Take(sch_, name_ + ".row_block", rows, 0));
    row_block_ = row_block.value;
    // All keys, where they are few, or blocks of them of which the last one may not be whole.
    const bool few = plan_.key_extent <= std::ranges::max(keys);
    std::erase_if(keys, [&](int64_t size) { return size >= plan_.key_extent || !fits(row_block_, size); });
    if (few && fits(row_block_, plan_.key_extent)) keys.insert(keys.begin(), plan_.key_extent);
    if (keys.empty()) return Refusal{kName, "keys of {block0} do not fit into shared memory", {Node(plan_.product).id}};
    TW_ASSIGN_OR_RETURN(const Choices::Pick key_block, choices_.Take(sch_, name_ + ".key_block", keys, 0));
    key_block_ = key_block.value;
    // Each thread has keys: what a condition leaves without any has no part of what the others reduce.
    const auto most_x = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(plan_.key_extent)));
    threads_x_ = all_keys_ ? std::min<int64_t>(gpu_.warp_size, most_x) : gpu_.warp_size / 2;
    std::vector<int64_t> of_thread = {4, 2, 8, 1};
    if (all_keys_) of_thread = {1, 2, 4};
    std::erase_if(of_thread, [&](int64_t size) { return size > row_block_; });
    TW_ASSIGN_OR_RETURN(const Choices::Pick thread_rows, choices_.Take(sch_, name_ + ".thread_rows", of_thread, 0));
    thread_rows_ = thread_rows.value;
    threads_y_ = row_block_ / thread_rows_;
    tile_rows_ = {{plan_.row(), row_block_}};
    return Done();
  }

  // Weights of second products are shared by threads, as all scores are where a block has all keys; all else of the
  // chain is each thread's own.
  Outcome<Done> PlaceBuffers() override {
    std::vector<Buffer> shared;
    for (const SecondProduct& second : seconds_) {
      const BlockNode& sum = Node(second.sum());
      for (const BufferRegion& read : sum.reads) {
        if (!read.buffer.same_as(sum.writes[0].buffer)) shared.push_back(read.buffer);
      }
    }
    TW_ASSIGN_OR_RETURN(const std::vector<BlockRv> blocks, sch_.GetChildBlocks(outer_.back()));
    for (const BlockRv& block : blocks) {
      TW_ASSIGN_OR_RETURN(const bool matrix, GivesMatrix(block));
      for (size_t w = 0; w < Node(block).writes.size(); ++w) {
        const Buffer buffer = Node(block).writes[w].buffer;
        if (!IsAllocated(buffer)) continue;
        const bool weights = (all_keys_ && matrix && !IsTile(block)) ||
                             std::ranges::any_of(shared, [&](const Buffer& b) { return b.same_as(buffer); });
        TW_RETURN_IF_ERROR(sch_.SetScope(block, static_cast<int>(w), weights ? kChainedShared : "local"));
        if (weights) TW_RETURN_IF_ERROR(Pad(block, buffer->dtype));
      }
    }
    return Done();
  }

  // Binds the block's loops; gives the innermost one over threads. Where a block has all keys, they are divided into
  // blocks: around the threads for the product's scores, in each thread for what is made of them.
  Outcome<LoopRv> BindBlock(BlockRv block) {
    TW_ASSIGN_OR_RETURN(const TileLoops loops, LoopsOfTile(block));
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> rows,
                        sch_.Split(loops.rows, {Value(threads_y_), Value(thread_rows_)}));
    std::vector<LoopRv> order = {rows[0]}, inner = {rows[1]}, key_blocks;
    const bool scores = Node(block).id == Node(*scores_).id;
    if (!loops.others.empty()) {
      const bool by_blocks = all_keys_ && HasKeys(block);
      TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> columns,
                          by_blocks ? SplitKeys(loops.others.back(), scores) : SplitColumns(loops.others.back()));
      if (by_blocks) key_blocks = {columns[2]};
      order.push_back(columns[0]);
      inner.insert(inner.end(), loops.others.begin(), loops.others.end() - 1);
      inner.push_back(columns[1]);
    }
    const LoopRv place = order.back();
    order.insert(scores ? order.begin() : order.end(), key_blocks.begin(), key_blocks.end());
    order.insert(order.end(), inner.begin(), inner.end());
    if (order.size() > 2) TW_RETURN_IF_ERROR(sch_.Reorder(order));
    TW_RETURN_IF_ERROR(sch_.Bind(rows[0], "threadIdx.y"));
    if (!loops.others.empty()) TW_RETURN_IF_ERROR(sch_.Bind(place, "threadIdx.x"));
    for (const LoopRv& loop : inner) TW_RETURN_IF_ERROR(sch_.Unroll(loop));
    if (scores) first_keys_ = key_blocks.empty() ? shared_ : key_blocks[0];
    return place;
  }

  // Loops over threads along x, and over the columns of each, which follow each other.
  Outcome<std::vector<LoopRv>> SplitColumns(LoopRv columns) {
    const int64_t extent = CeilDiv(ExtentOf(sch_, columns).value_or(1), threads_x_);
    return sch_.Split(columns, {Value(threads_x_), Value(extent)});
  }
  // The same where a block has all keys, which are divided into blocks. A thread sums up keys that follow each other;
  // what is made of them lies next to each other for neighbours. Loops over threads, keys of a thread, and blocks.
  Outcome<std::vector<LoopRv>> SplitKeys(LoopRv keys, bool sums) {
    const Value of_thread(CeilDiv(key_block_, threads_x_)), threads(threads_x_);
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops,
                        sch_.Split(keys, sums ? std::vector<Value>{Value(), threads, of_thread}
                                              : std::vector<Value>{Value(), of_thread, threads}));
    return sums ? std::vector<LoopRv>{loops[1], loops[2], loops[0]} : std::vector<LoopRv>{loops[2], loops[1], loops[0]};
  }

  Outcome<Done> BindBlocks() override {
    TW_ASSIGN_OR_RETURN(const std::vector<BlockRv> blocks, Blocks());
    for (const BlockRv& block : blocks) {
      TW_ASSIGN_OR_RETURN(const LoopRv place, BindBlock(block));
      if (Node(block).id == Node(*scores_).id) TW_RETURN_IF_ERROR(WriteFirstSum(place));
    }
    for (const SecondProduct& second : seconds_) TW_RETURN_IF_ERROR(WriteSecondSum(second.sum()));
    return Done();
  }

  Outcome<Done> WriteFirstSum(LoopRv place) {
    TW_ASSIGN_OR_RETURN(const SumLoops loops, ComputeSumAt(plan_.product, place));
    return WriteSum(plan_.product, place, loops);
  }

  Outcome<Done> WriteSecondSum(BlockRv product) {
    TW_ASSIGN_OR_RETURN(const TileLoops loops, LoopsOfTile(product));
    TW_ASSIGN_OR_RETURN(const SumLoops sum, LoopsOfSum(product, loops.others));
    if (sum.spatial.empty()) return Refusal{kName, "{block0} does not have columns", {Node(product).id}};
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> rows,
                        sch_.Split(loops.rows, {Value(threads_y_), Value(thread_rows_)}));
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> columns, SplitColumns(sum.spatial.back()));
    SumLoops parts{sum.reduced, {rows[1]}};
    parts.spatial.insert(parts.spatial.end(), sum.spatial.begin(), sum.spatial.end() - 1);
    parts.spatial.push_back(columns[1]);
    if (all_keys_) return WriteSumOfBlocks(product, rows[0], columns[0], parts);
    std::vector<LoopRv> order = {rows[0], columns[0], parts.reduced[0]};
    order.insert(order.end(), parts.spatial.begin(), parts.spatial.end());
    TW_RETURN_IF_ERROR(sch_.Reorder(order));
    TW_RETURN_IF_ERROR(sch_.Bind(rows[0], "threadIdx.y"));
    TW_RETURN_IF_ERROR(sch_.Bind(columns[0], "threadIdx.x"));
    second_keys_.push_back(shared_);
    return WriteSum(product, columns[0], parts);
  }

  // The same where one block after the other of its keys is copied.
  Outcome<Done> WriteSumOfBlocks(BlockRv product, LoopRv rows, LoopRv columns, const SumLoops& parts) {
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> keys, sch_.Split(parts.reduced[0], {Value(), Value(key_block_)}));
    std::vector<LoopRv> order = {keys[0], rows, columns, keys[1]};
    order.insert(order.end(), parts.spatial.begin(), parts.spatial.end());
    TW_RETURN_IF_ERROR(sch_.Reorder(order));
    TW_ASSIGN_OR_RETURN(const BlockRv init, sch_.DecomposeReduction(product, keys[0]));
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> filled, OwnLoops(init));
    for (const auto& [y, x] : {std::pair(filled[0], filled[1]), {rows, columns}}) {
      TW_RETURN_IF_ERROR(sch_.Bind(y, "threadIdx.y"));
      TW_RETURN_IF_ERROR(sch_.Bind(x, "threadIdx.x"));
    }
    for (size_t l = 2; l < filled.size(); ++l) TW_RETURN_IF_ERROR(sch_.Unroll(filled[l]));
    for (const LoopRv& loop : parts.spatial) TW_RETURN_IF_ERROR(sch_.Unroll(loop));
    second_keys_.push_back(keys[0]);
    return Done();
  }

  // A sum of products in a thread: what is reduced outermost.
  Outcome<Done> WriteSum(BlockRv sum, LoopRv place, const SumLoops& loops) {
    std::vector<LoopRv> order = loops.reduced;
    order.insert(order.end(), loops.spatial.begin(), loops.spatial.end());
    if (order.size() > 1) TW_RETURN_IF_ERROR(sch_.Reorder(order));
    TW_ASSIGN_OR_RETURN(const BlockRv init, sch_.DecomposeReduction(sum, order[0]));
    TW_RETURN_IF_ERROR(WriteOut(sch_, init, place, false));
    for (const LoopRv& loop : loops.spatial) TW_RETURN_IF_ERROR(sch_.Unroll(loop));
    return Done();
  }

  // Keys next to each other, as threads do: what they read at once lies in different banks.
  Outcome<Done> StageOperands() override {
    const ThreadAxes threads = {{"threadIdx.y", threads_y_}, {"threadIdx.x", threads_x_}};
    const auto stage = [&](BlockRv reader, const Buffer& operand, LoopRv loop,
                           std::optional<std::pair<int, int>> last) -> Outcome<Done> {
      TW_ASSIGN_OR_RETURN(const std::optional<BlockRv> copy, Stage(reader, operand, loop, threads, last));
      return copy ? Pad(*copy, operand->dtype) : Outcome<Done>(Done());
    };
    const auto [key, depth] = FirstIterators();
    TW_RETURN_IF_ERROR(stage(plan_.product, plan_.row_operand, outer_.back(), std::nullopt));
    TW_RETURN_IF_ERROR(stage(plan_.product, keys_, first_keys_, std::pair(depth, key)));
    for (size_t i = 0; i < seconds_.size(); ++i) {
      const BlockRv sum = seconds_[i].sum();
      for (const Buffer& buffer : GlobalReads(sum)) {
        TW_RETURN_IF_ERROR(stage(sum, buffer, second_keys_[i], SecondIterators(seconds_[i])));
      }
    }
    return Done();
  }

  int64_t thread_rows_ = 1, threads_y_ = 1, threads_x_ = 1;
  LoopRv first_keys_;                // over blocks of keys, whose operands are copied in each iteration
  std::vector<LoopRv> second_keys_;  // the same of each second product
};

}  // namespace

Outcome<std::monostate> ScheduleChainedTiles(Schedule& sch, const ChainedPlan& plan, const Target& target,
                                             Choices& choices) {
  return ScheduleByKeys<ChainedTiles>(sch, plan, target, choices);
}

}  // namespace tilewright
