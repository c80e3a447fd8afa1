#include "autoschedule/sketch/cpu/winograd_ways.h"

#include <algorithm>
#include <optional>

#include "autoschedule/cost/cpu/winograd_time.h"
#include "autoschedule/program/access_strides.h"
#include "autoschedule/program/block_loops.h"
#include "autoschedule/program/estimates.h"
#include "autoschedule/program/sizes.h"
#include "base/math.h"
#include "base/status_macros.h"
#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/builtin.h"
#include "ir/substitute.h"
#include "schedule/algebra/toom_cook.h"
#include "schedule/program/conjuncts.h"

namespace tilewright {
namespace {

// Least terms of a sum per output along a tile's sides. With fewer terms the rounding errors of the transforms exceed
// those of the sum; they grow with the tile.
constexpr double kLeastTerms = 32;
// Outputs along each side of a tile over two windows: their errors multiply.
constexpr int64_t kMostOutputsOfTwo = 4;

double ElementsOf(const Buffer& buffer, const LikelySizes& sizes) {
  double elements = 1;
  for (const Expr& extent : buffer->shape) elements *= static_cast<double>(sizes.Likely(extent));
  return elements;
}

// The convolution as the estimate sees it. `block`: with likely extents.
WinogradSizes SizesOf(const BlockNode& block, const LikelySizes& likely, const Contraction& contraction,
                      const TileInstruction& instruction) {
  WinogradSizes sizes = {.rows = ElementsOf(contraction.row_operand, likely),
                         .output = ElementsOf(contraction.output, likely),
                         .kernel = ElementsOf(contraction.column_operand, likely),
                         .lanes = instruction.lanes,
                         .per_cycle = instruction.per_cycle};
  for (const IterVar& iter : block.iter_vars) sizes.products *= static_cast<double>(*ExtentOf(iter));
  return sizes;
}

// Whether threads get about equal numbers of tile rows along the window.
bool KeepsCoresBusy(const BlockNode& block, const Contraction& contraction, const TiledWindow& window, int cores) {
  int64_t rows = RoundUp(window.extent, window.outputs * window.dilation) / (window.outputs * window.dilation);
  for (const int iterator : contraction.rows) {
    const IterVar& iter = block.iter_vars[static_cast<size_t>(iterator)];
    if (iter.var.same_as(window.iterator)) break;
    rows *= *ExtentOf(iter);
  }
  return ParallelLoops({rows, cores}, cores) == 1;
}

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

// Whether at least half of each window is not padding, which `writer` adds. Rounding errors are those of a whole tile,
// and would be large relative to sums of few elements.
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
  const WinogradSizes sizes = SizesOf(likely, LikelySizes::Of(FunctionOf(sch, block)), contraction, instruction);
  WinogradWays found{.direct_cycles = DirectCycles(sizes, target), .ways = {}};
  double terms = 1;
  for (const int iterator : contraction.inner) {
    terms *= static_cast<double>(*ExtentOf(likely.iter_vars[static_cast<size_t>(iterator)]));
  }
  const auto add = [&](std::vector<TiledWindow> windows) {
    int64_t sides = 0;
    std::vector<WinogradWindow> tiled;
    for (const TiledWindow& window : windows) {
      sides += window.outputs;
      tiled.push_back({window.taps, window.Products(), window.ProductsPerOutput()});
    }
    if (terms < kLeastTerms * static_cast<double>(sides)) return;
    WinogradWay way{.windows = std::move(windows)};
    const bool balanced = KeepsCoresBusy(likely, contraction, way.windows[0], target.cores);
    way.cycles = WinogradCycles(sizes, tiled, balanced, target);
    if (kWorthATry * way.cycles > found.direct_cycles) return;
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
