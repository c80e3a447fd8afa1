#include "autoschedule/sketch/gpu/chained/chained_fragments_rule.h"

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "autoschedule/movement/auto_copy.h"
#include "autoschedule/program/block_loops.h"
#include "autoschedule/sketch/gpu/chained/gpu_chained_steps.h"
#include "autoschedule/sketch/gpu/mma_tile_rule.h"
#include "autoschedule/sketch/gpu/plain_gpu_rule.h"
#include "autoschedule/sketch/gpu/result_way.h"
#include "base/status_macros.h"
#include "ir/analysis.h"
#include "ir/annotations.h"
#include "ir/functor.h"
#include "ir/named_layouts.h"

namespace tilewright {
namespace {

constexpr const char* kSums = "wmma.accumulator";
constexpr const char* kRowFragments = "wmma.matrix_a";
constexpr const char* kColumnFragments = "wmma.matrix_b";

class ChainedFragments : private GpuChainedSteps {
 public:
  ChainedFragments(Schedule& sch, const ChainedPlan& plan, const MachineInstruction& instruction, const Target& target,
                   Choices& choices)
      : GpuChainedSteps(sch, plan, target, choices, /*all_keys=*/false), instruction_(instruction) {}

  Outcome<Done> Apply() {
    TW_RETURN_IF_ERROR(ScheduleChain());
    TW_RETURN_IF_ERROR(MultiplyFragments());
    return Pipeline();
  }

 private:
  Outcome<BlockRv> KeepSums(BlockRv product) override {
    TW_ASSIGN_OR_RETURN(const BlockRv copy, SumInLocalMemory(sch_, product));
    TW_RETURN_IF_ERROR(sch_.SetScope(product, 0, kSums));
    return copy;
  }

  // ---- Sizes

  Outcome<Done> ChooseTiles() override {
    const int64_t depth = instruction_.k;
    if (depth_ % depth != 0 || columns_ % kFragmentSide != 0) {
      return Refusal{kName, "no fragments divide the depth or the columns of {block0}", {Node(plan_.product).id}};
    }
    std::vector<int64_t> warps = Dividing(plan_.row_extent / kFragmentSide, {4, 8, 2, 1});
    std::vector<int64_t> keys = Dividing(plan_.key_extent, {64, 32, 128, 16});
    std::erase_if(keys, [&](int64_t size) { return size % depth != 0; });
    if (plan_.row_extent % kFragmentSide != 0 || warps.empty() || keys.empty()) {
      return Refusal{kName, "no blocks divide the rows or the keys of {block0}", {Node(plan_.product).id}};
    }
    TW_ASSIGN_OR_RETURN(const Choices::Pick warp, choices_.Take(sch_, name_ + ".warps", warps, 0));
    warps_ = warp.value;
    row_block_ = warps_ * kFragmentSide;
    std::vector<int64_t> fitting = keys;
    std::erase_if(fitting, [&](int64_t size) { return !FitsShared(row_block_, size, 0) || !FitsRegisters(size); });
    if (fitting.empty()) return Refusal{kName, "{block0} does not fit into a block", {Node(plan_.product).id}};
    TW_ASSIGN_OR_RETURN(const Choices::Pick key_block, choices_.Take(sch_, name_ + ".key_block", fitting, 0));
    key_block_ = key_block.value;
    // Twice the operands of keys.
    const bool twice = FitsShared(row_block_, 2 * key_block_, 0) && plan_.key_extent >= 2 * key_block_;
    TW_ASSIGN_OR_RETURN(
        const Choices::Pick stages,
        choices_.Take(sch_, name_ + ".stages", twice ? std::vector<int64_t>{2, 1} : std::vector<int64_t>{1}, 0));
    stages_ = stages.value;
    tile_rows_ = {{plan_.row(), row_block_}};
    return Done();
  }

  // Whether a lane's registers hold sums, scores, weights and fragments of so many keys: of scores the sums, what is
  // computed of them and the exponentials; of results those of a block of keys and all.
  bool FitsRegisters(int64_t keys) const {
    const int64_t of_scores = 3 * 4 + instruction_.a.type.bytes(), of_results = 2 * 4;
    const int64_t fragments = (keys + columns_ + kFragmentSide) * instruction_.k * instruction_.a.type.bytes();
    const int64_t bytes = kFragmentSide * (keys * of_scores + columns_ * of_results) + fragments;
    return bytes / gpu_.warp_size <= int64_t{gpu_.max_registers_per_thread} * 4;
  }

  // ---- Memory

  // Matrices are fragments, those that the second product reads its left operand; results of rows are shared by lanes.
  Outcome<Done> PlaceBuffers() override {
    const Block part = RealizeOf(sch_, seconds_[0].sum()).block;
    const BlockNode& sum = *part;
    const auto is_weights = [&](const Buffer& buffer) {
      return !buffer.same_as(sum.writes[0].buffer) &&
             std::ranges::any_of(sum.reads, [&](const BufferRegion& read) { return read.buffer.same_as(buffer); });
    };
    std::vector<std::tuple<BlockRv, int, const char*>> scopes;
    TW_ASSIGN_OR_RETURN(const std::vector<BlockRv> blocks, sch_.GetChildBlocks(outer_.back()));
    for (const BlockRv& block : blocks) {
      TW_ASSIGN_OR_RETURN(const bool matrix, GivesMatrix(block));
      for (size_t w = 0; w < Node(block).writes.size(); ++w) {
        const Buffer buffer = Node(block).writes[w].buffer;
        if (!IsAllocated(buffer)) continue;
        const char* scope = !matrix ? kChainedShared : is_weights(buffer) ? kRowFragments : kSums;
        scopes.emplace_back(block, static_cast<int>(w), scope);
      }
    }
    for (const auto& [block, write, scope] : scopes) TW_RETURN_IF_ERROR(sch_.SetScope(block, write, scope));
    if (!seconds_[0].part) return Done();
    // The number of a block of keys comes last where sums have one.
    const size_t rank = sum.writes[0].region.size();
    std::vector<size_t> order = {rank - 1};
    for (size_t d = 0; d + 1 < rank; ++d) order.push_back(d);
    return Permute(*seconds_[0].part, order);
  }

  // ---- Threads

  // Binds the block's loops; gives that over warps.
  Outcome<LoopRv> BindBlock(BlockRv block) {
    TW_ASSIGN_OR_RETURN(const TileLoops loops, LoopsOfTile(block));
    if (loops.others.empty()) return BindRows(block, loops.rows);
    if (loops.others.size() > 1) return Refusal{kName, "{block0} does not give rows and columns", {Node(block).id}};
    TW_ASSIGN_OR_RETURN(const LaneLoops rows, SplitByLanes(sch_, loops.rows, 0, {Value(warps_)}));
    TW_ASSIGN_OR_RETURN(const LaneLoops columns, SplitByLanes(sch_, loops.others[0], 1, {Value()}));
    std::vector<LoopRv> lanes = rows.owners;
    lanes.insert(lanes.end(), columns.owners.begin(), columns.owners.end());
    std::vector<LoopRv> order = {rows.rest};
    order.insert(order.end(), lanes.begin(), lanes.end());
    std::vector<LoopRv> inner = rows.registers;
    inner.push_back(columns.rest);
    inner.insert(inner.end(), columns.registers.begin(), columns.registers.end());
    order.insert(order.end(), inner.begin(), inner.end());
    TW_RETURN_IF_ERROR(sch_.Reorder(order));
    TW_ASSIGN_OR_RETURN(const LoopRv lane, FuseFirst(sch_, lanes, lanes.size()));
    TW_RETURN_IF_ERROR(sch_.Bind(rows.rest, "threadIdx.y"));
    TW_RETURN_IF_ERROR(sch_.Bind(lane, "threadIdx.x"));
    for (const LoopRv& loop : inner) TW_RETURN_IF_ERROR(sch_.Unroll(loop));
    return rows.rest;
  }
  Outcome<LoopRv> BindRows(BlockRv, LoopRv loop) {
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> rows, sch_.Split(loop, {Value(warps_), Value(kFragmentSide)}));
    // All lanes of a warp come here; those that have a row go on.
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> lanes,
                        sch_.Split(rows[1], {Value(), Value(int64_t{gpu_.warp_size})}));
    TW_RETURN_IF_ERROR(sch_.Bind(rows[0], "threadIdx.y"));
    TW_RETURN_IF_ERROR(sch_.Bind(lanes[1], "threadIdx.x"));
    return rows[0];
  }

  Outcome<Done> BindBlocks() override {
    TW_ASSIGN_OR_RETURN(const std::vector<BlockRv> blocks, Blocks());
    for (const BlockRv& block : blocks) {
      TW_ASSIGN_OR_RETURN(const LoopRv warp, BindBlock(block));
      if (Node(block).id == Node(*scores_).id) {
        TW_ASSIGN_OR_RETURN(first_, ComputeSumAt(plan_.product, warp));
      }
    }
    TW_ASSIGN_OR_RETURN(const TileLoops loops, LoopsOfTile(seconds_[0].sum()));
    TW_ASSIGN_OR_RETURN(second_loops_, LoopsOfSum(seconds_[0].sum(), loops.others));
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> rows, sch_.Split(loops.rows, {Value(warps_), Value(kFragmentSide)}));
    TW_RETURN_IF_ERROR(sch_.Bind(rows[0], "threadIdx.y"));
    second_loops_.spatial.insert(second_loops_.spatial.begin(), rows[1]);
    return Done();
  }

  // ---- Operands

  Outcome<BlockRv> StageSwizzled(BlockRv reader, const Buffer& operand, LoopRv loop,
                                 std::optional<std::pair<int, int>> last, int64_t row) {
    const ThreadAxes threads = {{"threadIdx.y", warps_}, {"threadIdx.x", gpu_.warp_size}};
    TW_ASSIGN_OR_RETURN(const std::optional<BlockRv> copy, Stage(reader, operand, loop, threads, last));
    if (!copy) return Refusal{kName, "{block0} does not read {text0}", {Node(reader).id}, {}, {operand->name}};
    TW_RETURN_IF_ERROR(sch_.SetLayout(*copy, 0, SwizzleNamed(SwizzleOfRows(row * operand->dtype.bytes(), gpu_))));
    return *copy;
  }

  Outcome<Done> StageOperands() override {
    const auto [key, depth] = FirstIterators();
    TW_ASSIGN_OR_RETURN(queries_, StageSwizzled(plan_.product, plan_.row_operand, outer_.back(),
                                                std::pair(plan_.row(), depth), depth_));
    TW_ASSIGN_OR_RETURN(key_copy_, StageSwizzled(plan_.product, keys_, shared_, std::pair(key, depth), depth_));
    const std::vector<Buffer> values = GlobalReads(seconds_[0].sum());
    if (values.size() != 1)
      return Refusal{kName, "{block0} does not read one array of values", {Node(seconds_[0].sum()).id}};
    TW_ASSIGN_OR_RETURN(value_copy_,
                        StageSwizzled(seconds_[0].sum(), values[0], shared_, SecondIterators(seconds_[0]), columns_));
    return Done();
  }

  const Buffer& WrittenBy(BlockRv copy) const { return Node(copy).writes[0].buffer; }

  // ---- Products

  struct Tiles {
    LoopRv k, rows;  // over instructions along the depth, and the rows of one
    std::optional<BlockRv> init;
  };
  // Loops over fragments: k, rows, columns, and those of an instruction inside of them.
  Outcome<std::vector<LoopRv>> SplitIntoFragments(const SumLoops& loops) {
    if (loops.spatial.size() != 2)
      return Refusal{kName, "the sums of {block0} do not have rows and columns", {Node(plan_.product).id}};
    const auto split = [&](LoopRv loop, int64_t size) { return sch_.Split(loop, {Value(), Value(size)}); };
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> k, split(loops.reduced[0], instruction_.k));
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> m, split(loops.spatial[0], kFragmentSide));
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> n, split(loops.spatial[1], kFragmentSide));
    const std::vector<LoopRv> order = {k[0], m[0], n[0], m[1], n[1], k[1]};
    TW_RETURN_IF_ERROR(sch_.Reorder(order));
    return order;
  }

  Outcome<Done> Multiply(BlockRv product, const SumLoops& loops, std::optional<BlockRv> rows, BlockRv columns,
                         bool by_depth) {
    const MmaNames names = MmaNamesOf(instruction_, by_depth);
    const int64_t depth = instruction_.k;
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> parts, SplitIntoFragments(loops));
    std::optional<AutoCopy> row_fragments;
    if (rows) {
      TW_ASSIGN_OR_RETURN(row_fragments, ReadOperandAt(sch_, product, WrittenBy(*rows), parts[0], kRowFragments));
    }
    TW_ASSIGN_OR_RETURN(const AutoCopy column_fragments,
                        ReadOperandAt(sch_, product, WrittenBy(columns), parts[0], kColumnFragments));
    TW_ASSIGN_OR_RETURN(const BlockRv init, sch_.DecomposeReduction(product, parts[0]));
    if (row_fragments) {
      TW_RETURN_IF_ERROR(LoadFragments(sch_, *row_fragments, names.load_rows, kFragmentSide, depth));
    }
    TW_RETURN_IF_ERROR(LoadFragments(sch_, column_fragments, names.load_columns, by_depth ? kFragmentSide : depth,
                                     by_depth ? depth : kFragmentSide));
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> filled, sch_.GetLoops(init));
    TW_RETURN_IF_ERROR(sch_.Tensorize(filled[filled.size() - 2], names.fill));
    return sch_.Tensorize(parts[3], names.product);
  }

  Outcome<Done> MultiplyFragments() {
    TW_RETURN_IF_ERROR(Multiply(plan_.product, first_, queries_, key_copy_, true));
    return Multiply(seconds_[0].sum(), second_loops_, std::nullopt, value_copy_, false);
  }

  // Copies of the next block of keys run while this one is used.
  Outcome<Done> Pipeline() {
    if (stages_ == 1) return Done();
    const auto* body = dyn_cast<SeqNode>(LoopOf(sch_, shared_).body);
    if (body == nullptr) return Refusal{kName, "{loop0} does not hold copies", {LoopOf(sch_, shared_).id}};
    Value::List stage_of, order;
    for (size_t i = 0; i < body->stmts.size(); ++i) {
      stage_of.emplace_back(static_cast<int64_t>(IsCopy(body->stmts[i]) ? 0 : stages_ - 1));
      order.emplace_back(static_cast<int64_t>(i));
    }
    TW_RETURN_IF_ERROR(sch_.Annotate(shared_, kPipelineStage, stage_of));
    TW_RETURN_IF_ERROR(sch_.Annotate(shared_, kPipelineOrder, order));
    return sch_.Annotate(shared_, kPipelineAsyncStages, Value::List{0});
  }
  bool IsCopy(const Stmt& s) const {
    bool copy = false;
    PreOrder(s, [&](const Stmt& part) {
      const auto* realize = dyn_cast<BlockRealizeNode>(part);
      if (realize == nullptr) return true;
      copy |= realize->block->id == Node(key_copy_).id || realize->block->id == Node(value_copy_).id;
      return false;
    });
    return copy;
  }

  const MachineInstruction& instruction_;
  int64_t warps_ = 1, stages_ = 1;
  SumLoops first_, second_loops_;
  BlockRv queries_, key_copy_, value_copy_;
};

// The factors of a sum of products, converted perhaps: their type.
std::optional<DataType> TypeOfFactors(const BlockNode& product) {
  std::optional<DataType> type;
  bool same = true;
  for (const BufferRegion& read : product.reads) {
    if (read.buffer.same_as(product.writes[0].buffer)) continue;
    same &= !type || *type == read.buffer->dtype;
    type = read.buffer->dtype;
  }
  return same ? type : std::nullopt;
}

}  // namespace

const MachineInstruction* FindChainedMma(Schedule& sch, const ChainedPlan& plan, const Target& target,
                                         IntrinRegistry* intrins) {
  if (plan.seconds.size() != 1 || plan.needs_all_keys() || intrins == nullptr) return nullptr;
  const std::optional<DataType> type = TypeOfFactors(*RealizeOf(sch, plan.product).block);
  if (!type || type->bits() != 16) return nullptr;
  const MachineInstruction* row = FindInstruction(target, "mma", *type, *type, DataType::Float(32));
  if (row == nullptr) return nullptr;
  for (const bool by_depth : {true, false}) {
    const MmaNames names = MmaNamesOf(*row, by_depth);
    for (const std::string& name : {names.load_rows, names.load_columns, names.fill, names.product}) {
      const TensorIntrin* intrin = intrins->Find(name);
      if (intrin == nullptr) return nullptr;
      if (!std::ranges::all_of(intrin->features, [&](const std::string& f) { return target.has(f); })) return nullptr;
    }
  }
  return row;
}

Outcome<std::monostate> ScheduleChainedFragments(Schedule& sch, const ChainedPlan& plan,
                                                 const MachineInstruction& instruction, const Target& target,
                                                 Choices& choices) {
  return ChainedFragments(sch, plan, instruction, target, choices).Apply();
}

}  // namespace tilewright
