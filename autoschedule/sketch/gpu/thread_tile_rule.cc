#include "autoschedule/sketch/gpu/thread_tile_rule.h"

#include <algorithm>

#include "autoschedule/program/block_loops.h"
#include "base/status_macros.h"

namespace tilewright {
namespace {

using Done = std::monostate;

// Sides of a block's tile and depths that are fetched at once.
const std::vector<int64_t> kSides = {16, 32, 64, 128}, kDepths = {8, 16, 32};

// Sides of a thread's tile in block's tiles of kSides: as large as keeps the loads of a step below its products and
// leaves a warp.
const std::vector<int64_t> kPreferredThreadSides = {2, 4, 4, 8};
int64_t PreferredThreadSide(int64_t side) {
  return kPreferredThreadSides[static_cast<size_t>(std::ranges::find(kSides, side) - kSides.begin())];
}

Outcome<int64_t> TakeThreadSide(Schedule& sch, const std::string& name, int64_t side, int64_t least_threads,
                                int64_t most_threads, Choices& choices) {
  std::vector<int64_t> sizes;
  for (int64_t size : kThreadSides) {
    if (side / size >= least_threads && side / size <= most_threads) sizes.push_back(size);
  }
  TW_ASSIGN_OR_RETURN(const Choices::Pick size, TakeUpTo(sch, name, sizes, PreferredThreadSide(side), choices));
  return size.value;
}

}  // namespace

Outcome<Done> ScheduleThreadTiles(Schedule& sch, BlockRv block, const ProductPlan& plan, const Target& target,
                                  Choices& choices) {
  TW_ASSIGN_OR_RETURN(const ProductTile tile, TakeProductTile(sch, plan, kSides, kDepths, target, choices));
  // At least 4 x 8 threads, and no more than a block may have.
  TW_ASSIGN_OR_RETURN(const int64_t m, TakeThreadSide(sch, plan.name + ".thread_m", tile.m, 4, 32, choices));
  TW_ASSIGN_OR_RETURN(const int64_t n, TakeThreadSide(sch, plan.name + ".thread_n", tile.n, 8, 32, choices));
  TW_ASSIGN_OR_RETURN(ProductBlocks blocks, MakeProductBlocks(sch, block, plan, tile, /*by_depth=*/false));
  const BlockRv product = blocks.form.product;
  TW_ASSIGN_OR_RETURN(const ProductLoops loops, LoopsOfProduct(sch, blocks));
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> i, sch.Split(loops.m, {Value(), tile.m / m, m}));
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> j, sch.Split(loops.n, {Value(), tile.n / n, n}));
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> k, sch.Split(loops.k, {Value(), tile.k}));
  TW_RETURN_IF_ERROR(sch.Reorder({i[0], j[0], i[1], j[1], k[0], k[1], i[2], j[2]}));
  TW_RETURN_IF_ERROR(BindTiles(sch, loops, i[0], j[0]));
  TW_RETURN_IF_ERROR(sch.Bind(i[1], "threadIdx.y"));
  TW_RETURN_IF_ERROR(sch.Bind(j[1], "threadIdx.x"));
  TW_ASSIGN_OR_RETURN(const AutoCopy sums, WriteStageAt(sch, product, blocks.form.output, j[1], "local"));
  TW_RETURN_IF_ERROR(Expand(sch, sums));
  TW_RETURN_IF_ERROR(
      CopyOperands(sch, blocks, product, "shared", k[0], {{"threadIdx.y", tile.m / m}, {"threadIdx.x", tile.n / n}}));
  TW_RETURN_IF_ERROR(sch.DecomposeReduction(product, k[0]));
  TW_RETURN_IF_ERROR(sch.Unroll(i[2]));
  return sch.Unroll(j[2]);
}

}  // namespace tilewright
