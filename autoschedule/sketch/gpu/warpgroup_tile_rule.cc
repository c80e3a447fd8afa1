#include "autoschedule/sketch/gpu/warpgroup_tile_rule.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "autoschedule/program/block_loops.h"
#include "autoschedule/sketch/gpu/depth_parts.h"
#include "autoschedule/sketch/gpu/result_way.h"
#include "autoschedule/sketch/gpu/warpgroup_tiling.h"
#include "base/status_macros.h"
#include "ir/annotations.h"
#include "ir/named_layouts.h"

namespace tilewright {
namespace {

using Done = std::monostate;

// The type of sums as names of intrinsics spell it.
const char* SumName(DataType type) {
  if (type == DataType::Float(32)) return "f32";
  return type == DataType::Float(16) ? "f16" : "s32";
}

// Blocks in their order: rows of a group, columns, groups. Those of a cluster are neighbours. In the next turn, blocks
// go on with the tiles that follow those of all of them.
Outcome<Done> BindInGroups(Schedule& sch, const ProductLoops& loops, LoopRv m, LoopRv n,
                           const WarpgroupTiling& tiling) {
  TW_ASSIGN_OR_RETURN(std::vector<LoopRv> rows, sch.Split(m, {Value(), tiling.group}));
  std::optional<LoopRv> cluster;
  if (tiling.cluster.Blocks() > 1) {
    LoopRv& divided = tiling.cluster.m > 1 ? rows[1] : n;
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> parts, sch.Split(divided, {Value(), tiling.cluster.Blocks()}));
    divided = parts[0];
    cluster = parts[1];
  }
  std::vector<LoopRv> order = {rows[0], n, rows[1]};
  if (cluster) order.push_back(*cluster);
  TW_RETURN_IF_ERROR(sch.Reorder(order));
  TW_ASSIGN_OR_RETURN(LoopRv tiles, FuseFirst(sch, {rows[0], n, rows[1]}, 3));
  if (cluster) TW_RETURN_IF_ERROR(sch.Bind(*cluster, "clusterCtaIdx.x"));
  const bool stays = tiling.turns > 1;
  if (loops.batch && stays) {
    TW_ASSIGN_OR_RETURN(tiles, sch.Fuse({*loops.batch, tiles}));
  }
  if (loops.batch && !stays) TW_RETURN_IF_ERROR(sch.Bind(*loops.batch, "blockIdx.z"));
  TW_RETURN_IF_ERROR(sch.Bind(tiles, "blockIdx.x"));
  if (!stays) return Done();
  return sch.Annotate(tiles, kSharingBlocks, tiling.SharingBlocks(*AsInt(LoopOf(sch, tiles).extent)));
}

// Whether pairs of columns lie side by side in what is stored, none of them half outside.
bool StoresPairs(const WarpgroupProduct& product, const ProductBlocks& blocks, int64_t parts) {
  return parts > 1 || (product.plan.sizes.n % 2 == 0 && blocks.output_vector % 2 == 0);
}

// Sums go to memory by lanes, or through shared memory.
Outcome<Done> StoreSums(Schedule& sch, const WarpgroupProduct& product, const WarpgroupTiling& tiling,
                        const ProductBlocks& blocks, const DividedProduct& tiled, LoopRv warpgroup,
                        const Target& target) {
  const bool pairs = StoresPairs(product, blocks, tiling.parts);
  const ResultTile tile = ResultTileOf(product.plan.sizes, tiling.tile, tiling.warpgroups);
  if (tiling.stores == ResultStores::kLanes) return StoreResults(sch, tiled.product, tiled.stored, warpgroup, pairs);
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, sch.GetLoops(tiled.product));
  const auto inner = std::ranges::find_if(
      loops, [&](const LoopRv& loop) { return LoopOf(sch, loop).var.same_as(LoopOf(sch, warpgroup).var); });
  return StageResults(sch, tiled.product, *tiled.stored, *std::prev(inner), warpgroup, tile, tiling.stores, target);
}

// All threads copy together; the engine does it for them where a producer has the copies.
Outcome<Done> CopyTiles(Schedule& sch, const WarpgroupProduct& product, const WarpgroupTiling& tiling, BlockRv block,
                        LoopRv loop, ProductBlocks& blocks) {
  const GpuTarget& gpu = *product.plan.gpu;
  const ProductTile& tile = tiling.tile;
  const int64_t threads = tiling.warpgroups * gpu.warpgroup_size, bytes = product.tile.Bytes();
  blocks.row_vector = std::min(blocks.row_vector, tile.m * tile.k / threads);
  blocks.column_vector = std::min(blocks.column_vector, tile.n * tile.k / threads);
  TW_RETURN_IF_ERROR(CopyOperands(sch, blocks, block, "shared.dyn", loop,
                                  {{"threadIdx.y", tiling.warpgroups}, {"threadIdx.x", gpu.warpgroup_size}}));
  const int64_t k_span = tile.k * bytes,
                span = product.way.by_depth ? k_span : std::min<int64_t>(gpu.max_swizzle_bytes, tile.n * bytes);
  TW_RETURN_IF_ERROR(sch.SetLayout(blocks.form.rows, 0, SwizzleNamed(k_span)));
  return sch.SetLayout(blocks.form.columns, 0, SwizzleNamed(span));
}

// Fills the sums with zeros before the loop over K, and multiplies inside of it.
Outcome<Done> TensorizeTiles(Schedule& sch, const WarpgroupProduct& product, int64_t columns, BlockRv block, LoopRv k,
                             LoopRv tile) {
  const MachineInstruction& row = *product.tile.instruction;
  TW_ASSIGN_OR_RETURN(const BlockRv init, sch.DecomposeReduction(block, k));
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> filled, sch.GetLoops(init));
  const std::string sums = absl::StrCat(int64_t{row.m}, "x", columns);
  TW_RETURN_IF_ERROR(
      sch.Tensorize(filled[filled.size() - 2], absl::StrCat("wgmma_fill_", sums, "_", SumName(row.c.type))));
  return sch.Tensorize(tile, absl::StrCat("wgmma_sync_", sums, "x", row.k, "_", std::string(row.types),
                                          product.way.by_depth ? "_trans" : "", "_dyn"));
}

}  // namespace

std::optional<WarpgroupTile> FindWarpgroupTile(const BlockNode& block, const Contraction& contraction,
                                               const Target& target) {
  const MachineInstruction* row = FindInstruction(target, "wgmma", contraction.row_operand->dtype,
                                                  contraction.column_operand->dtype, contraction.product_type);
  if (row == nullptr || !target.has("tma")) return std::nullopt;
  return WarpgroupTile{row, ColumnsRunAlongDepth(block, contraction)};
}

Outcome<Done> ScheduleWarpgroupTiles(Schedule& sch, BlockRv block, const ProductPlan& plan, const WarpgroupTile& tile,
                                     const Target& target, Choices& choices) {
  TW_ASSIGN_OR_RETURN(const WarpgroupProduct product, PrepareOperands(sch, block, plan, tile, target, choices));
  TW_ASSIGN_OR_RETURN(const WarpgroupTiling tiling, ChooseTiling(sch, product, target, choices));
  const int64_t rows = tile.Rows(), depth = tile.instruction->k;
  TW_ASSIGN_OR_RETURN(ProductBlocks blocks,
                      MakeWarpgroupBlocks(sch, block, product, tiling.tile, product.way.by_depth));
  TW_ASSIGN_OR_RETURN(const DividedProduct tiled, DivideDepth(sch, blocks, tiling.parts));
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> i, sch.Split(tiled.loops.m, {Value(), tiling.warpgroups, rows}));
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> j, sch.Split(tiled.loops.n, {Value(), tiling.tile.n}));
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> k, sch.Split(tiled.loops.k, {Value(), tiling.tile.k / depth, depth}));
  TW_RETURN_IF_ERROR(sch.Reorder({i[0], j[0], i[1], k[0], k[1], i[2], j[1], k[2]}));
  TW_RETURN_IF_ERROR(BindInGroups(sch, tiled.loops, i[0], j[0], tiling));
  TW_RETURN_IF_ERROR(sch.Bind(i[1], "threadIdx.y"));
  TW_RETURN_IF_ERROR(StoreSums(sch, product, tiling, blocks, tiled, i[1], target));
  TW_RETURN_IF_ERROR(CopyTiles(sch, product, tiling, tiled.product, k[0], blocks));
  TW_RETURN_IF_ERROR(TensorizeTiles(sch, product, tiling.tile.n, tiled.product, k[0], i[2]));
  TW_RETURN_IF_ERROR(PipelineCopies(sch, k[0], tiling.stages));
  if (product.way.bulk()) TW_RETURN_IF_ERROR(sch.Annotate(k[0], kPipelineRoles, 1));
  return tiling.parts > 1 ? AddParts(sch, blocks, product.plan.name, target, choices) : Outcome<Done>(Done());
}

}  // namespace tilewright
