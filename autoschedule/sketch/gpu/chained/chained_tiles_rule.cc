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
  ChainedTiles(Schedule& sch, const ChainedPlan& plan, const Target& target, Choices& choices)
      : GpuChainedSteps(sch, plan, target, choices) {}

  Outcome<Done> Apply() { return ScheduleChain(); }

 private:
  Outcome<BlockRv> KeepSums(BlockRv product) override { return SumInLocalMemory(sch_, product); }

  Outcome<Done> ChooseTiles() override {
    const auto fits = [&](int64_t rows, int64_t keys) { return FitsShared(rows, keys, plan_.type.bytes()); };
    std::vector<int64_t> rows = {64, 128, 32, 16, 8, 4, 2, 1}, keys = {64, 32, 128, 16};
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
    std::vector<int64_t> of_thread = {4, 2, 8, 1};
    std::erase_if(of_thread, [&](int64_t size) { return size > row_block_; });
    TW_ASSIGN_OR_RETURN(const Choices::Pick thread_rows, choices_.Take(sch_, name_ + ".thread_rows", of_thread, 0));
    thread_rows_ = thread_rows.value;
    threads_y_ = row_block_ / thread_rows_;
    threads_x_ = gpu_.warp_size / 2;
    tile_rows_ = {{plan_.row(), row_block_}};
    return Done();
  }

  // Weights of second products are shared by threads; all else of the chain is each thread's own.
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
      for (size_t w = 0; w < Node(block).writes.size(); ++w) {
        const Buffer buffer = Node(block).writes[w].buffer;
        if (!IsAllocated(buffer)) continue;
        const bool weights = std::ranges::any_of(shared, [&](const Buffer& b) { return b.same_as(buffer); });
        TW_RETURN_IF_ERROR(sch_.SetScope(block, static_cast<int>(w), weights ? kChainedShared : "local"));
        if (weights) TW_RETURN_IF_ERROR(Pad(block, buffer->dtype));
      }
    }
    return Done();
  }

  // Binds the block's loops; gives the innermost one over threads.
  Outcome<LoopRv> BindBlock(BlockRv block) {
    TW_ASSIGN_OR_RETURN(const TileLoops loops, LoopsOfTile(block));
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> rows,
                        sch_.Split(loops.rows, {Value(threads_y_), Value(thread_rows_)}));
    std::vector<LoopRv> order = {rows[0]}, inner = {rows[1]};
    if (!loops.others.empty()) {
      const LoopRv last = loops.others.back();
      const int64_t extent = CeilDiv(ExtentOf(sch_, last).value_or(1), threads_x_);
      TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> columns, sch_.Split(last, {Value(threads_x_), Value(extent)}));
      order.push_back(columns[0]);
      inner.insert(inner.end(), loops.others.begin(), loops.others.end() - 1);
      inner.push_back(columns[1]);
    }
    const LoopRv place = order.back();
    order.insert(order.end(), inner.begin(), inner.end());
    if (order.size() > 2) TW_RETURN_IF_ERROR(sch_.Reorder(order));
    TW_RETURN_IF_ERROR(sch_.Bind(rows[0], "threadIdx.y"));
    if (!loops.others.empty()) TW_RETURN_IF_ERROR(sch_.Bind(place, "threadIdx.x"));
    for (const LoopRv& loop : inner) TW_RETURN_IF_ERROR(sch_.Unroll(loop));
    return place;
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
    const LoopRv last = sum.spatial.back();
    const int64_t extent = CeilDiv(ExtentOf(sch_, last).value_or(1), threads_x_);
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> columns, sch_.Split(last, {Value(threads_x_), Value(extent)}));
    SumLoops parts{sum.reduced, {rows[1]}};
    parts.spatial.insert(parts.spatial.end(), sum.spatial.begin(), sum.spatial.end() - 1);
    parts.spatial.push_back(columns[1]);
    std::vector<LoopRv> order = {rows[0], columns[0], parts.reduced[0]};
    order.insert(order.end(), parts.spatial.begin(), parts.spatial.end());
    TW_RETURN_IF_ERROR(sch_.Reorder(order));
    TW_RETURN_IF_ERROR(sch_.Bind(rows[0], "threadIdx.y"));
    TW_RETURN_IF_ERROR(sch_.Bind(columns[0], "threadIdx.x"));
    return WriteSum(product, columns[0], parts);
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
    TW_RETURN_IF_ERROR(stage(plan_.product, keys_, shared_, std::pair(depth, key)));
    for (const SecondProduct& second : seconds_) {
      for (const Buffer& buffer : GlobalReads(second.sum())) {
        TW_RETURN_IF_ERROR(stage(second.sum(), buffer, shared_, SecondIterators(second)));
      }
    }
    return Done();
  }

  int64_t thread_rows_ = 1, threads_y_ = 1, threads_x_ = 1;
};

}  // namespace

Outcome<std::monostate> ScheduleChainedTiles(Schedule& sch, const ChainedPlan& plan, const Target& target,
                                             Choices& choices) {
  return ChainedTiles(sch, plan, target, choices).Apply();
}

}  // namespace tilewright
