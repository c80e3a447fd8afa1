#include "autoschedule/sketch/cpu/winograd_ways.h"

#include <algorithm>
#include <optional>

#include "autoschedule/cost/machine_costs.h"
#include "autoschedule/program/access_strides.h"
#include "autoschedule/program/block_loops.h"
#include "autoschedule/program/sizes.h"
#include "autoschedule/tensorize/contraction_form.h"
#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/builtin.h"
#include "ir/substitute.h"
#include "schedule/algebra/toom_cook.h"
#include "schedule/core/assign_or_return.h"
#include "schedule/program/conjuncts.h"

namespace tilewright {
namespace {

// Terms of a sum for each output along a tile's sides: with fewer ones the transforms' rounding errors are seen next to
// those of the sum, the more the larger the tile is.
constexpr double kLeastTerms = 32;
// Outputs along each side of a tile over two windows: their errors multiply.
constexpr int64_t kMostOutputsOfTwo = 4;
// The part of the peak that products reach, and vector instructions for each vector of a transformed operand.
constexpr double kEfficiency = 0.9, kTransformInstructions = 5;
// Part of the time of the contraction as it is that any that is tried takes at most.
constexpr double kWorthATry = 1.2;

class Estimate {
 public:
  // `block`: with likely extents.
  Estimate(const BlockNode& block, const LikelySizes& sizes, const Contraction& contraction,
           const TileInstruction& instruction, const Target& target)
      : block_(block), sizes_(sizes), contraction_(contraction), instruction_(instruction), target_(target) {
    for (const IterVar& iter : block.iter_vars) products_ *= static_cast<double>(*ExtentOf(iter));
  }

  // The contraction as it is.
  double Direct() const { return products_ / PerCycle(); }

  double Cycles(const std::vector<TiledWindow>& windows) const {
    // For each element of the rows and of the output: transformed ones, and those of all steps on the way.
    double part = 1, steps = 0;
    double products = products_, kernel = ElementsOf(contraction_.column_operand);
    const double plain_kernel = kernel;
    for (const TiledWindow& window : windows) {
      part *= window.ProductsPerOutput();
      steps += part;
      products *= window.ProductsPerOutput() / static_cast<double>(window.taps);
      kernel *= static_cast<double>(window.Products()) / static_cast<double>(window.taps);
    }
    const double elements = ElementsOf(contraction_.row_operand) + ElementsOf(contraction_.output);
    const double instructions =
        steps * elements / instruction_.lanes * kTransformInstructions / instruction_.per_cycle / target_.cores;
    // Stages that run apart read what other cores wrote.
    const bool together = 4 * kernel <= static_cast<double>(NearBytes(target_)) && KeepsCoresBusy(windows[0]);
    const size_t nearest = together ? 1 : 2;
    return std::max(products / PerCycle(), CyclesFromMemory(sizeof(float) * kernel, target_)) + instructions +
           (together ? 0 : 2 * StageCycles(target_)) + 2 * Moved(part * elements, part * elements, nearest) +
           Moved(kernel - plain_kernel, kernel, 1);
  }

 private:
  double ElementsOf(const Buffer& buffer) const {
    double elements = 1;
    for (const Expr& extent : buffer->shape) elements *= static_cast<double>(sizes_.Likely(extent));
    return elements;
  }
  double PerCycle() const { return kEfficiency * instruction_.lanes * instruction_.per_cycle * target_.cores; }

  // Whether tile rows are so many, or so divisible, that threads have about equally many.
  bool KeepsCoresBusy(const TiledWindow& window) const {
    int64_t rows = RoundUp(window.extent, window.outputs * window.dilation) / (window.outputs * window.dilation);
    for (const int iterator : contraction_.rows) {
      const IterVar& iter = block_.iter_vars[static_cast<size_t>(iterator)];
      if (iter.var.same_as(window.iterator)) break;
      rows *= *ExtentOf(iter);
    }
    return ParallelLoops({rows, target_.cores}, target_.cores) == 1;
  }

  // Cycles to move so many elements from or to the cache that holds `all` elements, no nearer than `nearest`.
  double Moved(double elements, double all, size_t nearest) const {
    return CyclesToMove(sizeof(float) * elements, sizeof(float) * all, nearest, target_);
  }

  const BlockNode& block_;
  const LikelySizes& sizes_;
  const Contraction& contraction_;
  const TileInstruction& instruction_;
  const Target& target_;
  double products_ = 1;
};

// A window along the rows: the index in which its iterator and its reduction are, and how far its elements are apart.
struct Window {
  int iterator = 0, reduction = 0;
  Expr index;
  size_t dim = 0;
  int64_t dilation = 1;
};
std::vector<Window> WindowsOf(const BlockNode& block, const Contraction& contraction) {
  const std::vector<Access> accesses = AccessesOf(block);
  const auto rows = std::ranges::find_if(
      accesses, [&](const Access& access) { return access.buffer.same_as(contraction.row_operand) && !access.store; });
  std::vector<Window> windows;
  for (const int iterator : contraction.rows) {
    for (const int reduction : contraction.inner) {
      for (size_t d = 0; d < rows->indices.size(); ++d) {
        const int64_t step = rows->steps[d][static_cast<size_t>(reduction)];
        if (step <= 0 || rows->steps[d][static_cast<size_t>(iterator)] != 1) continue;
        windows.push_back({iterator, reduction, rows->indices[d], d, step});
      }
    }
  }
  return windows;
}

// Whether half of each window at least is no padding, which `writer` adds: rounding errors are those of a whole tile,
// and would be large next to sums of few elements.
bool IsMostlyInside(const BlockNode& block, const BlockNode& writer, const Window& window) {
  const auto* store = dyn_cast<StoreNode>(writer.body);
  const auto* padded = store == nullptr ? nullptr : dyn_cast<CallNode>(store->value);
  const auto* along = store == nullptr ? nullptr : dyn_cast<VarNode>(store->indices[window.dim]);
  if (padded == nullptr || along == nullptr || padded->op != kIfThenElse || !IsZero(padded->args[2])) return true;
  const IterVar &output = block.iter_vars[static_cast<size_t>(window.iterator)],
                &taps = block.iter_vars[static_cast<size_t>(window.reduction)];
  std::vector<Expr> conditions = Conjuncts(padded->args[0]);
  std::erase_if(conditions, [&](const Expr& condition) { return !UsesVar(condition, Var(along)); });
  arith::Analyzer analyzer;
  const auto is_inside = [&](const Expr& place, int64_t tap) {
    const Expr at =
        analyzer.Simplify(Substitute(window.index, {{output.var, place}, {taps.var, Const(taps.var.dtype(), tap)}}));
    const VarMap here = {{Var(along), at}};
    return std::ranges::none_of(
        conditions, [&](const Expr& condition) { return IsFalse(analyzer.Simplify(Substitute(condition, here))); });
  };
  for (const Expr& place : {Const(output.var.dtype(), 0), output.domain.extent - Const(output.var.dtype(), 1)}) {
    int64_t inside = 0;
    for (int64_t tap = 0; tap < *ExtentOf(taps); ++tap) inside += is_inside(place, tap) ? 1 : 0;
    if (2 * inside < *ExtentOf(taps)) return false;
  }
  return true;
}

// The windows along which the primitive applies, by tiles of two outputs. `likely`: the block with likely sizes.
std::vector<TiledWindow> FindWindows(Schedule& sch, BlockRv block, const BlockNode& likely,
                                     const Contraction& contraction) {
  const Block kept = RealizeOf(sch, block).block;
  const std::optional<BlockRv> writer = WriterOf(sch, block, contraction.row_operand);
  std::vector<TiledWindow> windows;
  for (const Window& window : WindowsOf(*kept, contraction)) {
    if (writer && !IsMostlyInside(*kept, *RealizeOf(sch, *writer).block, window)) continue;
    const IterVar &outputs = kept->iter_vars[static_cast<size_t>(window.iterator)],
                  &taps = kept->iter_vars[static_cast<size_t>(window.reduction)];
    const IterVar& sized = likely.iter_vars[static_cast<size_t>(window.iterator)];
    const TiledWindow tiled = {outputs.var, taps.var, *ExtentOf(sized), *ExtentOf(taps), window.dilation};
    Schedule attempt = sch;
    if (ApplyWinograd(attempt, block, {tiled}).ok()) windows.push_back(tiled);
  }
  return windows;
}

// A window by tiles of each number of outputs.
std::vector<TiledWindow> Tilings(TiledWindow window, int64_t most_outputs) {
  std::vector<TiledWindow> tilings;
  for (window.outputs = 2; window.outputs <= most_outputs && window.Products() <= kMostToomCookProducts;
       window.outputs += 2) {
    tilings.push_back(window);
  }
  return tilings;
}

size_t PositionOf(const BlockNode& block, const Var& iterator) {
  const auto at =
      std::ranges::find_if(block.iter_vars, [&](const IterVar& iter) { return iter.var.same_as(iterator); });
  return static_cast<size_t>(at - block.iter_vars.begin());
}

}  // namespace

double TiledWindow::ProductsPerOutput() const {
  return static_cast<double>(RoundUp(extent, outputs * dilation) / outputs * Products()) / static_cast<double>(extent);
}

int64_t WinogradWay::Outputs() const {
  int64_t digits = 0;
  for (const TiledWindow& window : windows) digits = 10 * digits + window.outputs;
  return digits;
}

WinogradWays FindWinogradWays(Schedule& sch, BlockRv block, const Contraction& contraction,
                              const TileInstruction& instruction, const Target& target) {
  const Ref<BlockRealizeNode> realize = LikelyRealizeOf(sch, block);
  const BlockNode& likely = *realize->block;
  const LikelySizes sizes = LikelySizes::Of(FunctionOf(sch, block));
  const Estimate estimate(likely, sizes, contraction, instruction, target);
  WinogradWays found{.direct_cycles = estimate.Direct(), .ways = {}};
  double terms = 1;
  for (const int iterator : contraction.inner) {
    terms *= static_cast<double>(*ExtentOf(likely.iter_vars[static_cast<size_t>(iterator)]));
  }
  const auto add = [&](std::vector<TiledWindow> windows) {
    int64_t sides = 0;
    for (const TiledWindow& window : windows) sides += window.outputs;
    if (terms < kLeastTerms * static_cast<double>(sides)) return;
    WinogradWay way{.windows = std::move(windows)};
    way.cycles = estimate.Cycles(way.windows);
    if (way.cycles > kWorthATry * found.direct_cycles) return;
    const auto same = std::ranges::find(found.ways, way.Outputs(), &WinogradWay::Outputs);
    if (same == found.ways.end()) {
      found.ways.push_back(std::move(way));
    } else if (way.cycles < same->cycles) {
      *same = std::move(way);
    }
  };
  const std::vector<TiledWindow> windows = FindWindows(sch, block, likely, contraction);
  for (size_t i = 0; i < windows.size(); ++i) {
    for (const TiledWindow& outer : Tilings(windows[i], kMostToomCookProducts)) add({outer});
    for (const TiledWindow& outer : Tilings(windows[i], kMostOutputsOfTwo)) {
      for (size_t k = i + 1; k < windows.size(); ++k) {
        // Tiles of dilated windows would overlap in the registers between the two steps.
        if (windows[k].dilation > 1) continue;
        for (const TiledWindow& inner : Tilings(windows[k], kMostOutputsOfTwo)) add({outer, inner});
      }
    }
  }
  std::ranges::sort(found.ways, {}, &WinogradWay::Outputs);
  return found;
}

Outcome<std::vector<WinogradStages>> ApplyWinograd(Schedule& sch, BlockRv block,
                                                   const std::vector<TiledWindow>& windows) {
  std::vector<WinogradStages> stages;
  for (const TiledWindow& window : windows) {
    const BlockNode& node = *RealizeOf(sch, block).block;
    TW_ASSIGN_OR_RETURN(
        const std::vector<BlockRv> blocks,
        sch.Winograd(block, static_cast<int>(PositionOf(node, window.iterator)),
                     static_cast<int>(PositionOf(node, window.reduction)), static_cast<int>(window.outputs)));
    stages.push_back({.tiles = blocks[0], .input = blocks[1], .output = blocks[3]});
  }
  return stages;
}

}  // namespace tilewright
