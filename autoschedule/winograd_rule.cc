#include "autoschedule/winograd_rule.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "autoschedule/access_strides.h"
#include "autoschedule/block_loops.h"
#include "autoschedule/contraction.h"
#include "autoschedule/contraction_plan.h"
#include "autoschedule/contraction_rule.h"
#include "autoschedule/fuse_consumers.h"
#include "autoschedule/near_operands.h"
#include "autoschedule/operand_stages.h"
#include "autoschedule/tile_instruction.h"
#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/builtin.h"
#include "ir/substitute.h"
#include "schedule/assign_or_return.h"
#include "schedule/conjuncts.h"
#include "schedule/hoist_prepack.h"
#include "schedule/toom_cook.h"

namespace tilewright {
namespace {

using Done = std::monostate;

// Terms of a sum for each output of a tile: with fewer ones the transforms' rounding errors are seen next to those of
// the sum, the more the larger the tile is.
constexpr double kLeastTerms = 32;
// The part of the peak that products reach, and vector instructions for each vector of a transformed operand.
constexpr double kEfficiency = 0.9, kTransformInstructions = 5;
// Part of the time of the contraction as it is that the preferred way takes at most, and any that is tried.
constexpr double kPreferred = 0.9, kWorthATry = 1.2;

Refusal No(const char* reason, uint32_t block) { return {"winograd_rule", reason, {block}}; }

double ElementsOf(const Buffer& buffer) {
  double elements = 1;
  for (const Expr& extent : buffer->shape) elements *= static_cast<double>(AsInt(extent).value_or(1));
  return elements;
}

struct Way {
  int iterator = 0, reduction = 0;  // positions
  int64_t outputs = 0;              // of a tile
  int64_t dilation = 1;
  double cycles = 0;  // estimated
};

class Estimate {
 public:
  Estimate(const BlockNode& block, const Contraction& contraction, const TileInstruction& instruction,
           const Target& target)
      : block_(block), contraction_(contraction), instruction_(instruction), target_(target) {}

  // The contraction as it is.
  double Direct() const { return Products() / PerCycle(); }

  double Cycles(int iterator, int reduction, int64_t outputs, int64_t dilation) const {
    const int64_t window = Extent(reduction), extent = Extent(iterator), products = outputs + window - 1;
    const auto tiles = static_cast<double>(RoundUp(extent, outputs * dilation) / outputs);
    const double part = tiles * static_cast<double>(products) / static_cast<double>(extent);
    const double transformed = part * (ElementsOf(contraction_.row_operand) + ElementsOf(contraction_.output));
    const double kernel = ElementsOf(contraction_.column_operand) * static_cast<double>(outputs - 1) /
                          static_cast<double>(window);  // what it grows by
    const double instructions =
        transformed / instruction_.lanes * kTransformInstructions / instruction_.per_cycle / target_.cores;
    return Products() / static_cast<double>(window) * part / PerCycle() + instructions +
           2 * Moved(transformed, 4 * transformed) + Moved(kernel, 4 * kernel * static_cast<double>(products));
  }

 private:
  int64_t Extent(int iterator) const { return *ExtentOf(block_.iter_vars[static_cast<size_t>(iterator)]); }

  double Products() const {
    double products = 1;
    for (const IterVar& iter : block_.iter_vars) products *= static_cast<double>(*ExtentOf(iter));
    return products;
  }
  double PerCycle() const { return kEfficiency * instruction_.lanes * instruction_.per_cycle * target_.cores; }

  // Cycles to move so many elements from and to the cache that holds so many bytes.
  double Moved(double elements, double bytes) const {
    size_t level = 1;
    while (level + 1 < target_.caches.size() &&
           static_cast<double>(target_.caches[level].bytes * target_.cores / target_.caches[level].shared_by) < bytes) {
      ++level;
    }
    return 4 * elements / target_.caches[level].bytes_per_cycle / target_.cores;
  }

  const BlockNode& block_;
  const Contraction& contraction_;
  const TileInstruction& instruction_;
  const Target& target_;
};

// A window along the rows: the index in which its iterator and its reduction are, and how far its elements are apart.
struct Window {
  Expr index;
  size_t dim = 0;
  int64_t dilation = 1;
};
std::optional<Window> FindWindow(const BlockNode& block, const Buffer& rows, int iterator, int reduction) {
  for (const Access& access : AccessesOf(block)) {
    if (!access.buffer.same_as(rows) || access.store) continue;
    for (size_t d = 0; d < access.indices.size(); ++d) {
      const int64_t step = access.steps[d][static_cast<size_t>(reduction)];
      if (step > 0 && access.steps[d][static_cast<size_t>(iterator)] == 1) return Window{access.indices[d], d, step};
    }
  }
  return std::nullopt;
}

// Whether half of each window at least is no padding, which `writer` adds: rounding errors are those of a whole tile,
// and would be large next to sums of few elements.
bool IsMostlyInside(const BlockNode& block, const BlockNode& writer, const Window& window, int iterator,
                    int reduction) {
  const auto* store = dyn_cast<StoreNode>(writer.body);
  const auto* padded = store == nullptr ? nullptr : dyn_cast<CallNode>(store->value);
  const auto* along = store == nullptr ? nullptr : dyn_cast<VarNode>(store->indices[window.dim]);
  if (padded == nullptr || along == nullptr || padded->op != kIfThenElse || !IsZero(padded->args[2])) return true;
  const IterVar &output = block.iter_vars[static_cast<size_t>(iterator)],
                &taps = block.iter_vars[static_cast<size_t>(reduction)];
  arith::Analyzer analyzer;
  const auto is_inside = [&](int64_t place, int64_t tap) {
    const Expr at = analyzer.Simplify(Substitute(
        window.index, {{output.var, Const(output.var.dtype(), place)}, {taps.var, Const(taps.var.dtype(), tap)}}));
    return std::ranges::none_of(Conjuncts(padded->args[0]), [&](const Expr& condition) {
      return IsFalse(analyzer.Simplify(Substitute(condition, {{Var(along), at}})));
    });
  };
  for (const int64_t place : {int64_t{0}, *ExtentOf(output) - 1}) {
    int64_t inside = 0;
    for (int64_t tap = 0; tap < *ExtentOf(taps); ++tap) inside += is_inside(place, tap) ? 1 : 0;
    if (2 * inside < *ExtentOf(taps)) return false;
  }
  return true;
}

// The fastest way for each number of outputs, that are not much slower than the contraction as it is.
std::vector<Way> FindWays(Schedule& sch, BlockRv block, const Contraction& contraction, const Estimate& estimate) {
  const Block kept = RealizeOf(sch, block).block;
  const std::optional<BlockRv> writer = WriterOf(sch, block, contraction.row_operand);
  double terms = 1;
  for (const int iterator : contraction.inner) {
    terms *= static_cast<double>(*ExtentOf(kept->iter_vars[static_cast<size_t>(iterator)]));
  }
  std::vector<Way> ways;
  const auto add = [&](const Way& way) {
    if (way.cycles > kWorthATry * estimate.Direct()) return;
    const auto same = std::ranges::find(ways, way.outputs, &Way::outputs);
    if (same == ways.end()) {
      ways.push_back(way);
    } else if (way.cycles < same->cycles) {
      *same = way;
    }
  };
  for (const int iterator : contraction.rows) {
    for (const int reduction : contraction.inner) {
      const std::optional<Window> window = FindWindow(*kept, contraction.row_operand, iterator, reduction);
      Schedule attempt = sch;
      if (!window || !attempt.Winograd(block, iterator, reduction, 2).ok()) continue;
      if (writer && !IsMostlyInside(*kept, *RealizeOf(sch, *writer).block, *window, iterator, reduction)) continue;
      const int64_t taps = *ExtentOf(kept->iter_vars[static_cast<size_t>(reduction)]);
      for (int64_t outputs = 2; outputs + taps - 1 <= kMostToomCookProducts; outputs += 2) {
        if (terms < kLeastTerms * static_cast<double>(outputs)) break;
        add({iterator, reduction, outputs, window->dilation,
             estimate.Cycles(iterator, reduction, outputs, window->dilation)});
      }
    }
  }
  std::ranges::sort(ways, {}, &Way::outputs);
  return ways;
}

// Vectors along a transform's last loop, inside of which `written_out`, whose values share what they read; the loops
// around these are returned.
Outcome<std::vector<LoopRv>> MakeVectors(Schedule& sch, std::vector<LoopRv> loops, LoopRv written_out, int lanes) {
  std::erase_if(loops, [&](const LoopRv& loop) { return loop.index == written_out.index; });
  LoopRv vector = loops.back();
  loops.pop_back();
  if (ExtentOf(sch, vector).value_or(lanes + 1) > lanes) {
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> parts, sch.Split(vector, {Value(), lanes}));
    loops.push_back(parts[0]);
    vector = parts[1];
  }
  std::vector<LoopRv> order = loops;
  order.insert(order.end(), {written_out, vector});
  TW_RETURN_IF_REFUSED(sch.Reorder(order));
  TW_RETURN_IF_REFUSED(sch.Unroll(written_out));
  TW_RETURN_IF_REFUSED(sch.Vectorize(vector));
  return loops;
}

// Whether the function lets sums be computed with other rounding errors.
bool IsAllowed(const Function& function) {
  const auto attr = function->attrs.find(kWinograd);
  if (attr == function->attrs.end()) return true;
  const auto* value = std::get_if<Expr>(&attr->second.value);
  return value == nullptr || AsInt(*value) != 0;
}

class WinogradSchedule {
 public:
  WinogradSchedule(Schedule& sch, BlockRv block, const Way& way, const Target& target, Choices& choices)
      : sch_(sch), block_(block), way_(way), target_(target), choices_(choices) {}

  Outcome<Done> Apply() {
    const Block kept = RealizeOf(sch_, block_).block;
    TW_ASSIGN_OR_RETURN(const std::vector<BlockRv> transforms,
                        sch_.Winograd(block_, way_.iterator, way_.reduction, static_cast<int>(way_.outputs)));
    tiles_ = transforms[0];
    input_ = transforms[1];
    output_ = transforms[3];
    InlineProducers(sch_, tiles_, false);
    TW_RETURN_IF_REFUSED(sch_.SetScope(tiles_, 0, "register"));
    TW_RETURN_IF_REFUSED(ScheduleOutput(*kept));
    TW_RETURN_IF_REFUSED(ScheduleContraction(sch_, block_, target_, choices_, KernelBytes() <= NearBytes(target_)));
    if (!RunTogether()) TW_RETURN_IF_REFUSED(RunApart());
    FuseConsumers(sch_, output_);
    return Done();
  }

 private:
  int64_t KernelBytes() const {
    const absl::StatusOr<Contraction> contraction = MatchContraction(RealizeOf(sch_, block_));
    return contraction.ok() ? static_cast<int64_t>(4 * ElementsOf(contraction->column_operand)) : 0;
  }

  // `block`: as it was.
  Outcome<Done> ScheduleOutput(const BlockNode& block) {
    TW_ASSIGN_OR_RETURN(std::vector<LoopRv> loops, sch_.GetLoops(output_));
    const auto place = std::count_if(block.iter_vars.begin(), block.iter_vars.begin() + way_.iterator,
                                     [](const IterVar& iter) { return iter.kind == IterKind::kSpatial; });
    std::vector<Value> factors = {Value(), Value(way_.outputs)};
    if (way_.dilation > 1) factors.emplace_back(way_.dilation);
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> parts, sch_.Split(loops[static_cast<size_t>(place)], factors));
    const LoopRv written_out = parts[1];
    loops.erase(loops.begin() + place);
    loops.insert(loops.begin() + place, parts.begin(), parts.end());
    TW_ASSIGN_OR_RETURN(output_loops_, MakeVectors(sch_, loops, written_out, target_.lanes(32)));
    return Done();
  }

  // Each element of a tile is loaded once, into a vector register, or is padding. `loops`: around the input's
  // transform, that over products first.
  Outcome<std::vector<LoopRv>> ScheduleInput(Schedule& sch, const std::vector<LoopRv>& loops) const {
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> outer, MakeVectors(sch, loops, loops[0], target_.lanes(32)));
    if (outer.empty())
      return Refusal{"winograd_rule", "{block0} has vectors alone", {RealizeOf(sch, input_).block->id}};
    TW_RETURN_IF_REFUSED(sch.ComputeAt(tiles_, outer.back()));
    TW_RETURN_IF_REFUSED(WriteOut(sch, tiles_, outer.back(), true));
    return outer;
  }

  // The first of the output's loops that make so many iterations, as one.
  Outcome<LoopRv> OutputLoop(Schedule& sch, int64_t iterations) const {
    int64_t product = 1;
    for (size_t i = 0; i < output_loops_.size(); ++i) {
      product *= ExtentOf(sch, output_loops_[i]).value_or(0);
      if (product != iterations) continue;
      if (i == 0) return output_loops_[0];
      return sch.Fuse({output_loops_.begin(), output_loops_.begin() + static_cast<int64_t>(i) + 1});
    }
    return Refusal{
        "winograd_rule", "no loops of {block0} are those of its products", {RealizeOf(sch, output_).block->id}};
  }

  Outcome<Done> MergeStages(Schedule& sch) const {
    TW_ASSIGN_OR_RETURN(const std::vector<BlockRv> products, sch.GetProducers(output_));
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, sch.GetLoops(products.front()));
    TW_ASSIGN_OR_RETURN(const LoopRv output, OutputLoop(sch, ExtentOf(sch, loops.front()).value_or(0)));
    TW_ASSIGN_OR_RETURN(const LoopRv merged, sch.Merge({loops.front(), output}));
    TW_RETURN_IF_REFUSED(sch.ComputeAt(input_, merged));
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> inside, LoopsInside(sch, input_, merged));
    TW_RETURN_IF_REFUSED(ScheduleInput(sch, inside));
    return sch.Parallel(merged);
  }

  // In the contraction's parallel loop, where its iterations are those of tile rows; nothing is changed otherwise.
  bool RunTogether() {
    Schedule attempt = sch_;
    if (!MergeStages(attempt).ok()) return false;
    sch_ = std::move(attempt);
    return true;
  }

  Outcome<Done> RunApart() {
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, sch_.GetLoops(input_));
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> input_loops, ScheduleInput(sch_, loops));
    for (const std::vector<LoopRv>& stage : {input_loops, output_loops_}) {
      std::vector<int64_t> extents;
      for (const LoopRv& loop : stage) extents.push_back(ExtentOf(sch_, loop).value_or(1));
      const size_t parallel = ParallelLoops(extents, target_.cores);
      LoopRv threads = stage[0];
      if (parallel > 1) {
        TW_ASSIGN_OR_RETURN(threads, sch_.Fuse({stage.begin(), stage.begin() + static_cast<int64_t>(parallel)}));
      }
      TW_RETURN_IF_REFUSED(sch_.Parallel(threads));
    }
    return Done();
  }

  Schedule& sch_;
  const BlockRv block_;
  const Way& way_;
  const Target& target_;
  Choices& choices_;
  BlockRv tiles_, input_, output_;
  std::vector<LoopRv> output_loops_;  // around the vectors of the output's transform
};

}  // namespace

Outcome<Done> ScheduleWinograd(Schedule& sch, BlockRv block, const Target& target, Choices& choices) {
  const BlockRealizeNode& realize = RealizeOf(sch, block);
  const uint32_t id = realize.block->id;
  if (!IsAllowed(FunctionOf(sch, block))) return No("the function of {block0} does not want it", id);
  const absl::StatusOr<Contraction> contraction = MatchContraction(realize);
  if (!contraction.ok()) return No("{block0} is no contraction", id);
  const std::optional<TileInstruction> instruction = FindTileInstruction(
      target, contraction->row_operand->dtype, contraction->column_operand->dtype, contraction->product_type);
  if (!instruction || instruction->group != 1 ||
      !IsConstantParam(FunctionOf(sch, block), contraction->column_operand)) {
    return No("{block0} is no product by constants of a type that has tiles", id);
  }
  if (!std::ranges::all_of(realize.block->iter_vars, [](const IterVar& iter) { return ExtentOf(iter).has_value(); })) {
    return No("{block0} has symbolic extents", id);
  }
  const Estimate estimate(*realize.block, *contraction, *instruction, target);
  const std::vector<Way> ways = FindWays(sch, block, *contraction, estimate);
  if (ways.empty()) return No("{block0} would not become faster", id);
  std::vector<int64_t> outputs = {0};
  size_t preferred = 0;
  double least = kPreferred * estimate.Direct();
  for (const Way& way : ways) {
    outputs.push_back(way.outputs);
    if (way.cycles >= least) continue;
    least = way.cycles;
    preferred = outputs.size() - 1;
  }
  TW_ASSIGN_OR_RETURN(const Choices::Pick pick,
                      choices.Take(sch, realize.block->name + ".winograd", outputs, preferred));
  const auto way = std::ranges::find(ways, pick.value, &Way::outputs);
  if (way == ways.end()) return ScheduleContraction(sch, block, target, choices);
  return WinogradSchedule(sch, block, *way, target, choices).Apply();
}

}  // namespace tilewright
