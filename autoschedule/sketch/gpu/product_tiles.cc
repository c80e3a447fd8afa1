#include "autoschedule/sketch/gpu/product_tiles.h"

#include <algorithm>

#include "autoschedule/movement/gpu/bind_threads.h"
#include "autoschedule/program/access_strides.h"
#include "autoschedule/program/block_loops.h"
#include "autoschedule/program/fuse_consumers.h"
#include "autoschedule/sketch/gpu/plain_gpu_rule.h"
#include "base/math.h"
#include "base/status_macros.h"
#include "ir/annotations.h"

namespace tilewright {
namespace {

using Done = std::monostate;

// Products with padding for one without that a large tile may cost.
constexpr double kMostPadding = 1.25;

}  // namespace

std::optional<ProductPlan> PlanProduct(const BlockRealizeNode& realize, const Target& target) {
  const auto contraction = MatchContraction(realize);
  if (!contraction.ok() || contraction->row_operand.same_as(contraction->column_operand)) return std::nullopt;
  const std::optional<MatrixSizes> sizes = MatrixSizesOf(*realize.block, *contraction);
  const GpuTarget& gpu = target.gpu_part();
  if (!sizes || sizes->n > gpu.max_grid_dims[1] || sizes->batch > gpu.max_grid_dims[2]) return std::nullopt;
  return ProductPlan{*contraction, *sizes, realize.block->name, &gpu};
}

double UsefulPart(const MatrixSizes& sizes, int64_t side) {
  const auto part = [&](int64_t extent) { return static_cast<double>(extent) / RoundUp(extent, side); };
  return part(sizes.m) * part(sizes.n) * part(sizes.k);
}

Outcome<Choices::Pick> TakeUpTo(Schedule& sch, const std::string& name, const std::vector<int64_t>& candidates,
                                int64_t preferred, Choices& choices) {
  size_t best = 0;
  for (size_t i = 1; i < candidates.size(); ++i) {
    if (candidates[i] <= preferred) best = i;
  }
  return choices.Take(sch, name, candidates, best);
}

Outcome<int64_t> Picker::Take(const char* what, std::vector<int64_t> candidates, int64_t preferred) {
  std::ranges::sort(candidates);
  candidates.erase(std::ranges::unique(candidates).begin(), candidates.end());
  TW_ASSIGN_OR_RETURN(const Choices::Pick pick, TakeUpTo(sch, name + what, candidates, preferred, choices));
  return pick.value;
}

Outcome<int64_t> TakeGroup(Picker& picker, const ProductPlan& plan, const ProductTile& tile, const Target& target,
                           int64_t multiple) {
  const int64_t rows = CeilDiv(plan.sizes.m, tile.m);
  std::vector<int64_t> groups;
  for (int64_t group = 1; group <= rows; group *= 2) {
    if (rows % group == 0 && group % multiple == 0) groups.push_back(group);
  }
  int64_t square = 1;
  while (4 * square * square * tile.m <= 2 * target.cores * tile.n) square *= 2;
  return picker.Take(".group", groups, square);
}

Outcome<ProductTile> TakeProductTile(Schedule& sch, const ProductPlan& plan, const std::vector<int64_t>& sides,
                                     const std::vector<int64_t>& depths, const Target& target, Choices& choices) {
  const MatrixSizes& sizes = plan.sizes;
  int64_t best_m = sides.front(), best_n = sides.front();
  for (int64_t m : sides) {
    for (int64_t n : sides) {
      const int64_t blocks = sizes.batch * CeilDiv(sizes.m, m) * CeilDiv(sizes.n, n);
      const double padding = static_cast<double>(RoundUp(sizes.m, m)) * static_cast<double>(RoundUp(sizes.n, n)) /
                             static_cast<double>(RoundUp(sizes.m, sides.front()) * RoundUp(sizes.n, sides.front()));
      // A tile nearer to a square moves less than others of the same area.
      const bool larger = m * n > best_m * best_n || (m * n == best_m * best_n && m + n < best_m + best_n);
      if (blocks < target.cores || padding > kMostPadding || !larger) continue;
      best_m = m;
      best_n = n;
    }
  }
  TW_ASSIGN_OR_RETURN(const Choices::Pick m, TakeUpTo(sch, plan.name + ".tile_m", sides, best_m, choices));
  TW_ASSIGN_OR_RETURN(const Choices::Pick n, TakeUpTo(sch, plan.name + ".tile_n", sides, best_n, choices));
  const int64_t deep = std::min(depths[depths.size() / 2], RoundUp(sizes.k, depths.front()));
  TW_ASSIGN_OR_RETURN(const Choices::Pick k, TakeUpTo(sch, plan.name + ".tile_k", depths, deep, choices));
  return ProductTile{m.value, n.value, k.value};
}

bool ColumnsRunAlongDepth(const BlockNode& block, const Contraction& contraction) {
  return std::ranges::any_of(AccessesOf(block), [&](const Access& access) {
    return !access.store && access.buffer.same_as(contraction.column_operand) && !contraction.inner.empty() &&
           access.strides[static_cast<size_t>(contraction.inner.back())] == 1;
  });
}

Outcome<ProductBlocks> MakeProductBlocks(Schedule& sch, BlockRv block, const ProductPlan& plan, const ProductTile& tile,
                                         bool by_depth) {
  const Contraction& contraction = plan.contraction;
  const Block node = RealizeOf(sch, block).block;
  const int64_t widest = plan.gpu->max_access_bytes;
  ProductBlocks blocks;
  blocks.row_vector = VectorAlong(*node, contraction.row_operand, contraction.inner, tile.k, widest);
  blocks.column_vector =
      VectorAlong(*node, contraction.column_operand, by_depth ? contraction.inner : contraction.columns,
                  by_depth ? tile.k : tile.n, widest);
  blocks.output_vector = VectorAlong(*node, contraction.output, contraction.columns, tile.n, widest, /*stored=*/true);
  TW_ASSIGN_OR_RETURN(blocks.form, BringIntoMatrixForm(sch, block, contraction, {tile.m, tile.n, tile.k}, by_depth));
  InlineCheapProducers(sch, blocks.form.rows);
  InlineCheapProducers(sch, blocks.form.columns);
  FuseConsumers(sch, blocks.form.output);
  return blocks;
}

Outcome<ProductLoops> LoopsOfProduct(Schedule& sch, const ProductBlocks& blocks) {
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, LoopsByIterator(sch, blocks.form.product, "product_tiles"));
  const size_t first = loops.size() - 3;
  ProductLoops result{.batch = {}, .m = loops[first], .n = loops[first + 1], .k = loops[first + 2]};
  if (first > 0) result.batch = loops[0];
  return result;
}

Outcome<Done> BindTiles(Schedule& sch, const ProductLoops& loops, LoopRv m, LoopRv n) {
  if (loops.batch) TW_RETURN_IF_ERROR(sch.Bind(*loops.batch, "blockIdx.z"));
  TW_RETURN_IF_ERROR(sch.Bind(m, "blockIdx.x"));
  return sch.Bind(n, "blockIdx.y");
}

Outcome<Done> CopyOperands(Schedule& sch, ProductBlocks& blocks, BlockRv product, const std::string& scope, LoopRv loop,
                           const ThreadAxes& threads) {
  const std::pair<BlockRv*, int64_t> operands[] = {{&blocks.form.rows, blocks.row_vector},
                                                   {&blocks.form.columns, blocks.column_vector}};
  for (const auto& [stage, vector] : operands) {
    TW_ASSIGN_OR_RETURN(const AutoCopy copy, ReadStageAt(sch, product, *stage, loop, scope));
    TW_RETURN_IF_ERROR(CopyTogether(sch, copy, threads, vector));
    *stage = copy.block;
  }
  return Done();
}

Outcome<Done> PipelineCopies(Schedule& sch, LoopRv loop, int64_t stages) {
  const Value::List stage_of = {0, 0, stages - 1}, order = {0, 1, 2}, asynchronous = {0};
  TW_RETURN_IF_ERROR(sch.Annotate(loop, kPipelineStage, stage_of));
  TW_RETURN_IF_ERROR(sch.Annotate(loop, kPipelineOrder, order));
  return sch.Annotate(loop, kPipelineAsyncStages, asynchronous);
}

}  // namespace tilewright
