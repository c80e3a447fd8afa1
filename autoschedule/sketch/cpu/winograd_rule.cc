#include "autoschedule/sketch/cpu/winograd_rule.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "autoschedule/movement/cpu/operand_stages.h"
#include "autoschedule/normalize/split_iterators.h"
#include "autoschedule/program/access_strides.h"
#include "autoschedule/program/attempt.h"
#include "autoschedule/program/block_loops.h"
#include "autoschedule/program/contraction.h"
#include "autoschedule/program/fuse_consumers.h"
#include "autoschedule/sketch/cpu/contraction_rule.h"
#include "autoschedule/sketch/cpu/winograd_ways.h"
#include "autoschedule/tensorize/contraction_form.h"
#include "autoschedule/tensorize/tile_instruction.h"
#include "base/status_macros.h"
#include "ir/annotations.h"
#include "schedule/layout/hoist_prepack.h"

namespace tilewright {
namespace {

using Done = std::monostate;

// Largest share of the direct contraction's time that the preferred way may take.
constexpr double kPreferred = 0.9;

// Whether the function lets sums be computed with other rounding errors.
bool IsAllowed(const Function& function) {
  const auto attr = function->attrs.find(kWinograd);
  if (attr == function->attrs.end()) return true;
  const auto* value = std::get_if<Expr>(&attr->second.value);
  return value == nullptr || AsInt(*value) != 0;
}

// Vectorizes a transform's last loop; the loops `written_out`, whose values share their operands, are unrolled inside
// of it. Returns the loops around.
Outcome<std::vector<LoopRv>> MakeVectors(Schedule& sch, std::vector<LoopRv> loops,
                                         const std::vector<LoopRv>& written_out, int lanes) {
  std::erase_if(loops, [&](const LoopRv& loop) {
    return std::ranges::any_of(written_out, [&](const LoopRv& other) { return other.index == loop.index; });
  });
  LoopRv vector = loops.back();
  loops.pop_back();
  if (ExtentOf(sch, vector).value_or(lanes + 1) > lanes) {
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> parts, sch.Split(vector, {Value(), lanes}));
    loops.push_back(parts[0]);
    vector = parts[1];
  }
  if (loops.empty()) return Refusal{"winograd_rule", "a transform has vectors alone", {}};
  std::vector<LoopRv> order = loops;
  order.insert(order.end(), written_out.begin(), written_out.end());
  order.push_back(vector);
  TW_RETURN_IF_ERROR(sch.Reorder(order));
  for (const LoopRv& loop : written_out) TW_RETURN_IF_ERROR(sch.Unroll(loop));
  TW_RETURN_IF_ERROR(sch.Vectorize(vector));
  return loops;
}

// Fuses adjacent iterators over rows that are contiguous in memory until the last one has `enough` values, while the
// others keep at least `outside` iterations together.
void FuseRows(Schedule& sch, BlockRv block, int64_t enough, int64_t outside) {
  for (;;) {
    const BlockNode& node = *RealizeOf(sch, block).block;
    const absl::StatusOr<Contraction> contraction = MatchContraction(RealizeOf(sch, block));
    if (!contraction.ok() || contraction->rows.size() < 2) return;
    const auto last = static_cast<size_t>(contraction->rows.back());
    const int64_t extent = ExtentOf(node.iter_vars[last]).value_or(enough);
    int64_t others = 1;
    for (size_t i = 0; i + 2 < contraction->rows.size(); ++i) {
      others *= ExtentOf(node.iter_vars[static_cast<size_t>(contraction->rows[i])]).value_or(1);
    }
    if (extent >= enough || others < outside) return;
    const bool follow = std::ranges::all_of(AccessesOf(node), [&](const Access& access) {
      const auto &outer = access.strides[last - 1], &inner = access.strides[last];
      return outer && inner && *outer == *inner * extent;
    });
    const bool neighbours = contraction->rows[contraction->rows.size() - 2] + 1 == contraction->rows.back();
    if (!follow || !neighbours || !FuseIterators(sch, block, last, extent)) return;
  }
}

class WinogradSchedule {
 public:
  WinogradSchedule(Schedule& sch, BlockRv block, const WinogradWay& way, const Target& target, Choices& choices)
      : sch_(sch), block_(block), windows_(way.windows), target_(target), choices_(choices) {}

  Outcome<Done> Apply() {
    const Block kept = RealizeOf(sch_, block_).block;
    TW_ASSIGN_OR_RETURN(stages_, ApplyWinograd(sch_, block_, windows_));
    InlineProducers(sch_, stages_[0].tiles, false);
    for (size_t i = 0; i < stages_.size(); ++i) {
      TW_RETURN_IF_ERROR(sch_.SetScope(stages_[i].tiles, 0, "register"));
      if (i > 0) TW_RETURN_IF_ERROR(sch_.SetScope(stages_[i - 1].input, 0, "register"));
      if (i > 0) TW_RETURN_IF_ERROR(sch_.SetScope(stages_[i].output, 0, "register"));
    }
    TW_RETURN_IF_ERROR(ScheduleOutput(*kept));
    const bool kernel_is_near = KernelBytes() <= NearBytes(target_);
    // A kernel beyond L2 is loaded once, for all rows. One within L2 is loaded for as many rows as keep the multiplying
    // units busy: each row is a chain of sums.
    if (kernel_is_near) {
      FuseRows(sch_, block_, target_.FmaLatency(), target_.cores);
    } else {
      FuseRows(sch_, block_, std::numeric_limits<int64_t>::max(), 1);
    }
    TW_RETURN_IF_ERROR(ScheduleInput());
    for (std::vector<LoopRv>* stage : {&input_loops_, &output_loops_})
      TW_RETURN_IF_ERROR(RunInParallel(sch_, *stage, target_.cores));
    TW_RETURN_IF_ERROR(ScheduleContraction(sch_, block_, target_, choices_, kernel_is_near));
    RunTogether();
    FuseConsumers(sch_, stages_[0].output);
    return Done();
  }

 private:
  int64_t KernelBytes() const {
    const Ref<BlockRealizeNode> realize = LikelyRealizeOf(sch_, block_);
    const absl::StatusOr<Contraction> contraction = MatchContraction(*realize);
    if (!contraction.ok()) return 0;
    int64_t bytes = BytesOfColumns(*realize, *contraction);
    for (const int iterator : contraction->batch) bytes *= IteratorExtent(*realize, iterator);
    return bytes;
  }

  // Computes into vector registers, for each vector of the surrounding transform.
  static Outcome<Done> ComputeInRegisters(Schedule& sch, BlockRv block, LoopRv loop) {
    TW_RETURN_IF_ERROR(sch.ComputeAt(block, loop));
    return WriteOut(sch, block, loop, true);
  }

  // `block`: as it was.
  Outcome<Done> ScheduleOutput(const BlockNode& block) {
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> of_iterators, sch_.GetLoops(stages_[0].output));
    std::vector<LoopRv> loops, written_out;
    size_t next = 0;
    for (const IterVar& iter : block.iter_vars) {
      if (iter.kind != IterKind::kSpatial) continue;
      const LoopRv loop = of_iterators[next++];
      const auto window =
          std::ranges::find_if(windows_, [&](const TiledWindow& tiled) { return tiled.iterator.same_as(iter.var); });
      if (window == windows_.end()) {
        loops.push_back(loop);
        continue;
      }
      std::vector<Value> factors = {Value(), Value(window->outputs)};
      if (window->dilation > 1) factors.emplace_back(window->dilation);
      TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> parts, sch_.Split(loop, factors));
      loops.insert(loops.end(), parts.begin(), parts.end());
      written_out.push_back(parts[1]);
    }
    TW_ASSIGN_OR_RETURN(output_loops_, MakeVectors(sch_, loops, written_out, target_.lanes(32)));
    for (size_t i = 1; i < stages_.size(); ++i) {
      TW_RETURN_IF_ERROR(ComputeInRegisters(sch_, stages_[i].output, output_loops_.back()));
    }
    return Done();
  }

  // Each element of a tile is loaded once, into a vector register, or is padding.
  Outcome<Done> ScheduleInput() {
    // The loops around the last input's transform: those over products first.
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, sch_.GetLoops(stages_.back().input));
    const std::vector<LoopRv> products(loops.begin(), loops.begin() + std::ssize(windows_));
    TW_ASSIGN_OR_RETURN(input_loops_, MakeVectors(sch_, loops, products, target_.lanes(32)));
    for (size_t i = stages_.size(); i-- > 0;) {
      TW_RETURN_IF_ERROR(ComputeInRegisters(sch_, stages_[i].tiles, input_loops_.back()));
      if (i > 0) TW_RETURN_IF_ERROR(ComputeInRegisters(sch_, stages_[i - 1].input, input_loops_.back()));
    }
    return Done();
  }

  // A stage's outer loops that make so many iterations together, as one.
  static Outcome<LoopRv> LoopOf(Schedule& sch, const std::vector<LoopRv>& loops, int64_t iterations) {
    int64_t product = ExtentOf(sch, loops[0]).value_or(0);
    const Refusal others = {"winograd_rule", "the stages have other tile rows", {}};
    // Loops of symbolic extents are merged as they are, where these are equal.
    if (product == 0 || iterations == 0) return product == iterations ? Outcome<LoopRv>(loops[0]) : others;
    if (product > iterations && product % iterations == 0) {
      TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> parts, sch.Split(loops[0], {iterations, Value()}));
      return parts[0];
    }
    for (size_t i = 1; i <= loops.size() && product <= iterations; ++i) {
      if (product == iterations) return FuseFirst(sch, loops, i);
      if (i < loops.size()) product *= ExtentOf(sch, loops[i]).value_or(0);
    }
    return others;
  }

  Outcome<Done> MergeStages(Schedule& sch) const {
    TW_ASSIGN_OR_RETURN(const std::vector<BlockRv> products, sch.GetProducers(stages_.back().output));
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, sch.GetLoops(products.front()));
    const int64_t iterations = ExtentOf(sch, loops.front()).value_or(0);
    TW_ASSIGN_OR_RETURN(const LoopRv input, LoopOf(sch, input_loops_, iterations));
    TW_ASSIGN_OR_RETURN(const LoopRv output, LoopOf(sch, output_loops_, iterations));
    TW_ASSIGN_OR_RETURN(const LoopRv merged, sch.Merge({input, loops.front(), output}));
    return sch.Parallel(merged);
  }

  // All stages in one loop, where the contraction's outermost has the iterations of tile rows; nothing is changed
  // otherwise.
  void RunTogether() {
    Attempt(sch_, [&](Schedule& sch) { return MergeStages(sch); });
  }

  Schedule& sch_;
  const BlockRv block_;
  const std::vector<TiledWindow>& windows_;
  const Target& target_;
  Choices& choices_;
  std::vector<WinogradStages> stages_;              // of each window
  std::vector<LoopRv> input_loops_, output_loops_;  // around the vectors of the transforms
};

}  // namespace

WinogradWays WaysByWinograd(Schedule& sch, BlockRv block, const Target& target) {
  const BlockRealizeNode& realize = RealizeOf(sch, block);
  const Function function = FunctionOf(sch, block);
  const absl::StatusOr<Contraction> contraction = MatchContraction(realize);
  if (!contraction.ok() || !IsAllowed(function)) return {};
  const std::optional<TileInstruction> instruction = FindTileInstruction(
      target, contraction->row_operand->dtype, contraction->column_operand->dtype, contraction->product_type);
  // Transforms of narrower types would lose what they have of accuracy.
  if (contraction->product_type != DataType::Float(32)) return {};
  if (!instruction || instruction->group != 1 || !IsConstantParam(function, contraction->column_operand)) return {};
  return FindWinogradWays(sch, block, *contraction, *instruction, target);
}

bool PaysByWinograd(const WinogradWays& found) {
  return std::ranges::any_of(found.ways,
                             [&](const WinogradWay& way) { return way.cycles < kPreferred * found.direct_cycles; });
}

Outcome<Done> ScheduleWinograd(Schedule& sch, BlockRv block, const std::vector<WinogradWay>& ways, const Target& target,
                               Choices& choices) {
  std::vector<int64_t> outputs;
  for (const WinogradWay& way : ways) outputs.push_back(way.Outputs());
  const auto fastest = std::ranges::min_element(ways, {}, &WinogradWay::cycles);
  const std::string name = RealizeOf(sch, block).block->name;
  TW_ASSIGN_OR_RETURN(const Choices::Pick pick,
                      choices.Take(sch, name + ".winograd", outputs, static_cast<size_t>(fastest - ways.begin())));
  const auto way = std::ranges::find(ways, pick.value, &WinogradWay::Outputs);
  return WinogradSchedule(sch, block, *way, target, choices).Apply();
}

}  // namespace tilewright
