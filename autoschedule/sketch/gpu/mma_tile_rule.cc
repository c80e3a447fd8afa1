#include "autoschedule/sketch/gpu/mma_tile_rule.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "autoschedule/program/block_loops.h"
#include "autoschedule/sketch/gpu/depth_parts.h"
#include "autoschedule/sketch/gpu/mma_tiling.h"
#include "autoschedule/sketch/gpu/result_way.h"
#include "base/status_macros.h"
#include "ir/named_layouts.h"

namespace tilewright {
namespace {

using Done = std::monostate;

// Whether the column operand's tiles are [n, k].
bool ByDepth(const WarpgroupProduct& product) { return product.way.by_depth; }

Outcome<std::vector<LoopRv>> SplitSide(Schedule& sch, LoopRv loop, int64_t side, int64_t warps) {
  return sch.Split(loop, {Value(), warps, side / warps / kFragmentSide, kFragmentSide});
}

// Blocks in their order: rows of a group, columns, groups.
Outcome<Done> BindInGroups(Schedule& sch, const ProductLoops& loops, LoopRv m, LoopRv n, int64_t group) {
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> rows, sch.Split(m, {Value(), group}));
  TW_RETURN_IF_ERROR(sch.Reorder({rows[0], n, rows[1]}));
  TW_ASSIGN_OR_RETURN(const LoopRv tiles, FuseFirst(sch, {rows[0], n, rows[1]}, 3));
  if (loops.batch) TW_RETURN_IF_ERROR(sch.Bind(*loops.batch, "blockIdx.z"));
  return sch.Bind(tiles, "blockIdx.x");
}

// Whether pairs of columns lie side by side in what is stored, none of them half outside.
bool StoresPairs(const WarpgroupProduct& product, const ProductBlocks& blocks, int64_t parts) {
  return parts > 1 || (product.plan.sizes.n % 2 == 0 && blocks.output_vector % 2 == 0);
}

// The copies from global to shared memory.
Outcome<Done> CopyTiles(Schedule& sch, const WarpgroupProduct& product, const MmaTiling& tiling, BlockRv block,
                        LoopRv loop, ProductBlocks& blocks) {
  const GpuTarget& gpu = *product.plan.gpu;
  TW_RETURN_IF_ERROR(
      CopyOperands(sch, blocks, block, "shared.dyn", loop,
                   {{"threadIdx.z", tiling.warps_m}, {"threadIdx.y", tiling.warps_n}, {"threadIdx.x", gpu.warp_size}}));
  const int64_t bytes = product.tile.Bytes(), row = tiling.tile.k * bytes,
                column = ByDepth(product) ? row : tiling.tile.n * bytes;
  TW_RETURN_IF_ERROR(sch.SetLayout(blocks.form.rows, 0, SwizzleNamed(SwizzleOfRows(row, gpu))));
  return sch.SetLayout(blocks.form.columns, 0, SwizzleNamed(SwizzleOfRows(column, gpu)));
}

}  // namespace

MmaNames MmaNamesOf(const MachineInstruction& row, bool by_depth) {
  const std::string types(row.types), sum = row.c.type.is_float() ? absl::StrCat("f", row.c.type.bits()) : "s32";
  const auto type = [](DataType operand) -> std::string {
    for (const MachineInstruction& load : Instructions()) {
      if (load.family == "ldmatrix" && load.a.type == operand) return std::string(load.types);
    }
    return "";
  };
  const std::string shape = absl::StrCat(kFragmentSide, "x", kFragmentSide, "x", int64_t{row.k}, "_");
  return {absl::StrCat("wmma_load_", shape, type(row.a.type), "_a_shared_dyn_swizzled"),
          absl::StrCat("wmma_load_", shape, type(row.b.type), "_b", by_depth ? "_trans" : "", "_shared_dyn_swizzled"),
          absl::StrCat("wmma_fill_16x16x16_", sum), absl::StrCat("wmma_sync_", shape, types, by_depth ? "_trans" : "")};
}

Outcome<Done> LoadFragments(Schedule& sch, const AutoCopy& copy, const std::string& intrin, int64_t rows,
                            int64_t columns) {
  TW_RETURN_IF_ERROR(Expand(sch, copy));
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, sch.GetLoops(copy.block));
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> r, sch.Split(loops[loops.size() - 2], {Value(), rows}));
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> c, sch.Split(loops.back(), {Value(), columns}));
  TW_RETURN_IF_ERROR(sch.Reorder({r[0], c[0], r[1], c[1]}));
  return sch.Tensorize(r[1], intrin);
}

int64_t SwizzleOfRows(int64_t bytes, const GpuTarget& gpu) {
  int64_t span = gpu.max_swizzle_bytes;
  while (bytes % span != 0) span /= 2;
  return span;
}

std::optional<WarpgroupTile> FindMmaTile(const BlockNode& block, const Contraction& contraction, const Target& target,
                                         IntrinRegistry* intrins) {
  const MachineInstruction* row = FindInstruction(target, "mma", contraction.row_operand->dtype,
                                                  contraction.column_operand->dtype, contraction.product_type);
  if (row == nullptr || intrins == nullptr) return std::nullopt;
  const bool by_depth = row->a.type.bits() == 8 || ColumnsRunAlongDepth(block, contraction);
  const MmaNames names = MmaNamesOf(*row, by_depth);
  for (const std::string& name : {names.load_rows, names.load_columns, names.fill, names.product}) {
    const TensorIntrin* intrin = intrins->Find(name);
    if (intrin == nullptr) return std::nullopt;
    if (!std::ranges::all_of(intrin->features, [&](const std::string& f) { return target.has(f); }))
      return std::nullopt;
  }
  return WarpgroupTile{.instruction = row, .by_depth = by_depth, .engine_copies = false};
}

Outcome<Done> ScheduleMmaTiles(Schedule& sch, BlockRv block, const ProductPlan& plan, const WarpgroupTile& tile,
                               const Target& target, Choices& choices) {
  TW_ASSIGN_OR_RETURN(const WarpgroupProduct product, PrepareOperands(sch, block, plan, tile, target, choices));
  TW_ASSIGN_OR_RETURN(const MmaTiling tiling, ChooseMmaTiling(sch, product, target, choices));
  const int64_t depth = tile.instruction->k;
  const MmaNames names = MmaNamesOf(*tile.instruction, ByDepth(product));
  TW_ASSIGN_OR_RETURN(ProductBlocks blocks, MakeWarpgroupBlocks(sch, block, product, tiling.tile, ByDepth(product)));
  TW_ASSIGN_OR_RETURN(const DividedProduct divided, DivideDepth(sch, blocks, tiling.parts));
  const BlockRv multiplied = divided.product;
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> i, SplitSide(sch, divided.loops.m, tiling.tile.m, tiling.warps_m));
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> j, SplitSide(sch, divided.loops.n, tiling.tile.n, tiling.warps_n));
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> k, sch.Split(divided.loops.k, {Value(), tiling.tile.k / depth, depth}));
  TW_RETURN_IF_ERROR(sch.Reorder({i[0], j[0], i[1], j[1], k[0], k[1], i[2], j[2], i[3], j[3], k[2]}));
  TW_RETURN_IF_ERROR(BindInGroups(sch, divided.loops, i[0], j[0], tiling.group));
  TW_RETURN_IF_ERROR(sch.Bind(i[1], "threadIdx.z"));
  TW_RETURN_IF_ERROR(sch.Bind(j[1], "threadIdx.y"));
  TW_RETURN_IF_ERROR(
      StoreResults(sch, multiplied, divided.stored, j[1], StoresPairs(product, blocks, tiling.parts), kWarp));
  TW_RETURN_IF_ERROR(CopyTiles(sch, product, tiling, multiplied, k[0], blocks));
  const auto written = [&](BlockRv copy) { return RealizeOf(sch, copy).block->writes[0].buffer; };
  TW_ASSIGN_OR_RETURN(const AutoCopy rows,
                      ReadOperandAt(sch, multiplied, written(blocks.form.rows), k[1], "wmma.matrix_a"));
  TW_ASSIGN_OR_RETURN(const AutoCopy columns,
                      ReadOperandAt(sch, multiplied, written(blocks.form.columns), k[1], "wmma.matrix_b"));
  TW_ASSIGN_OR_RETURN(const BlockRv init, sch.DecomposeReduction(multiplied, k[0]));
  TW_RETURN_IF_ERROR(LoadFragments(sch, rows, names.load_rows, kFragmentSide, depth));
  TW_RETURN_IF_ERROR(LoadFragments(sch, columns, names.load_columns, ByDepth(product) ? kFragmentSide : depth,
                                   ByDepth(product) ? depth : kFragmentSide));
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> filled, sch.GetLoops(init));
  TW_RETURN_IF_ERROR(sch.Tensorize(filled[filled.size() - 2], names.fill));
  TW_RETURN_IF_ERROR(sch.Tensorize(i[3], names.product));
  if (tiling.stages > 1) TW_RETURN_IF_ERROR(PipelineCopies(sch, k[0], tiling.stages));
  return tiling.parts > 1 ? AddParts(sch, blocks, product.plan.name, target, choices) : Outcome<Done>(Done());
}

}  // namespace tilewright
