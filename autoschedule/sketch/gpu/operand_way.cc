#include "autoschedule/sketch/gpu/operand_way.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "autoschedule/movement/gpu/bulk_operands.h"
#include "autoschedule/movement/gpu/pack_operand.h"
#include "autoschedule/program/access_strides.h"
#include "autoschedule/program/block_loops.h"
#include "autoschedule/sketch/gpu/plain_gpu_rule.h"
#include "base/math.h"
#include "base/status_macros.h"

namespace tilewright {
namespace {

using Done = std::monostate;
constexpr const char* kName = "operand_way";

Refusal SingleElements(const Schedule& sch, BlockRv block) {
  return {kName, "operands of {block0} can be copied by single elements alone", {RealizeOf(sch, block).block->id}};
}

Outcome<Done> Pack(Schedule& sch, BlockRv copy, const Target& target, Choices& choices) {
  InlineCheapProducers(sch, copy);
  return PackOperand(sch, copy, target, choices);
}

// Neighbours along the channels that a thread copies at once, where rounding up to them is not much more.
int64_t ChannelsTogether(int64_t channels, int64_t bytes, const GpuTarget& gpu) {
  int64_t together = gpu.max_access_bytes / bytes;
  while (together * bytes > gpu.min_async_copy_bytes &&
         RoundUp(channels, together) > RoundUp(channels, gpu.min_async_copy_bytes / bytes)) {
    together /= 2;
  }
  return together;
}

// Images of few channels: a copy with as many as a thread copies at once, where that is not much more. Windows of it
// lie where they are, while a matrix of windows would be as many copies of the image.
bool PadChannels(Schedule& sch, BlockRv block, const Target& target, Choices& choices, WarpgroupProduct& product) {
  const Contraction& contraction = product.plan.contraction;
  const Block node = RealizeOf(sch, block).block;
  const bool runs = std::ranges::any_of(AccessesOf(*node), [&](const Access& access) {
    return access.buffer.same_as(contraction.row_operand) && !access.store &&
           access.strides[static_cast<size_t>(contraction.inner.back())] == 1;
  });
  if (contraction.inner.size() < 2 || !runs) return false;
  const auto channels = static_cast<size_t>(contraction.inner.back());
  Value::List padding(node->iter_vars.size(), Value(1));
  padding[channels] =
      Value(ChannelsTogether(*ExtentOf(node->iter_vars[channels]), product.tile.Bytes(), target.gpu_part()));
  Schedule attempt = sch;
  if (!attempt.PadEinsum(block, padding).ok()) return false;
  const std::optional<ProductPlan> padded = PlanProduct(RealizeOf(attempt, block), target);
  const Outcome<std::vector<BlockRv>> producers = attempt.GetProducers(block);
  if (!padded || !producers.ok()) return false;
  for (const BlockRv& copy : *producers) {
    const Block writer = RealizeOf(attempt, copy).block;
    if (!writer->writes[0].buffer.same_as(padded->contraction.row_operand)) continue;
    if (!Pack(attempt, copy, target, choices).ok()) return false;
  }
  sch = std::move(attempt);
  product.plan = *padded;
  return true;
}

// The product of matrices in memory: operands of single elements become such matrices, rows of whole bytes that the
// engine copies at once. What else the matrix form copies is computed where a tile reads and writes it.
Outcome<Done> PackOperands(Schedule& sch, BlockRv block, const Target& target, Choices& choices,
                           WarpgroupProduct& product) {
  const Contraction& contraction = product.plan.contraction;
  const GpuTarget& gpu = target.gpu_part();
  const int64_t bytes = product.tile.Bytes(), together = gpu.bulk_alignment / bytes, widest = gpu.max_access_bytes;
  const Block node = RealizeOf(sch, block).block;
  product.row_vector = VectorAlong(*node, contraction.row_operand, contraction.inner, together, widest);
  product.column_vector = VectorAlong(*node, contraction.column_operand, contraction.inner, together, widest);
  product.output_vector =
      VectorAlong(*node, contraction.output, contraction.columns, together, widest, /*stored=*/true);
  const bool rows = product.row_vector * bytes < gpu.min_async_copy_bytes,
             columns = product.column_vector * bytes < gpu.min_async_copy_bytes;
  TW_ASSIGN_OR_RETURN(const MatrixForm form, BringIntoMatrixForm(sch, block, contraction, {1, 1, together}, true));
  if (rows) TW_RETURN_IF_ERROR(Pack(sch, form.rows, target, choices));
  if (columns) TW_RETURN_IF_ERROR(Pack(sch, form.columns, target, choices));
  if (rows) product.row_vector = together;
  if (columns) product.column_vector = together;
  const std::optional<ProductPlan> packed = PlanProduct(RealizeOf(sch, block), target);
  if (!packed) return SingleElements(sch, block);
  product.plan = *packed;
  product.way.packed = true;
  return Done();
}

// Steps of a core along K, in all of the tiles of middling size that it multiplies.
int64_t StepsOfCore(const WarpgroupProduct& product, const OperandWay& way, const Target& target) {
  const MatrixSizes& sizes = product.plan.sizes;
  const int64_t side = 2 * product.tile.Rows(),
                tiles = sizes.batch * CeilDiv(sizes.m, side) * CeilDiv(sizes.n, std::min(sizes.n, side));
  return CeilDiv(sizes.k, way.depth) * CeilDiv(tiles, target.cores);
}

// Pixels can be copied by the engine, or by all threads in deeper steps. The engine is preferred where its steps are as
// deep and there are some of them: a producer that has little to run ahead of costs more than it saves.
Outcome<OperandWay> ChooseCopies(Schedule& sch, const WarpgroupProduct& product, const Target& target,
                                 Choices& choices) {
  const GpuTarget& gpu = *product.plan.gpu;
  OperandWay way = product.way;
  const int64_t bytes = product.tile.Bytes();
  const bool deep =
      way.depth * bytes == gpu.max_swizzle_bytes && StepsOfCore(product, way, target) >= gpu.min_producer_steps;
  TW_ASSIGN_OR_RETURN(const Choices::Pick pick,
                      choices.Take(sch, product.plan.name + ".copies", {1, 0}, deep ? 0 : 1, {{"bulk"}, {"threads"}}));
  if (pick.value == 1) return way;
  way.copies = OperandCopies::kThreads;
  way.depth = gpu.max_swizzle_bytes / bytes;
  return way;
}

}  // namespace

std::string ToString(const OperandWay& way) {
  const char* copies = way.copies == OperandCopies::kBulk     ? "bulk"
                       : way.copies == OperandCopies::kPixels ? "pixels"
                                                              : "threads";
  return absl::StrCat(copies, way.packed ? ", packed" : "", way.by_depth ? ", [n, k]" : ", [k, n]", ", depth ",
                      way.depth);
}

Outcome<ProductBlocks> MakeWarpgroupBlocks(Schedule& sch, BlockRv block, const WarpgroupProduct& product,
                                           const ProductTile& tile, bool by_depth) {
  TW_ASSIGN_OR_RETURN(ProductBlocks blocks, MakeProductBlocks(sch, block, product.plan, tile, by_depth));
  blocks.row_vector = std::min(blocks.row_vector, product.row_vector);
  blocks.column_vector = std::min(blocks.column_vector, product.column_vector);
  blocks.output_vector = std::min(blocks.output_vector, product.output_vector);
  return blocks;
}

Outcome<OperandWay> FindWay(const Schedule& sch, BlockRv block, const WarpgroupProduct& product) {
  const GpuTarget& gpu = *product.plan.gpu;
  const int64_t bytes = product.tile.Bytes(), rows_of_tile = product.tile.Rows();
  const int64_t deepest = gpu.max_swizzle_bytes / bytes;
  // Bytes are not transposed on their way into the instruction.
  std::vector<bool> layouts = {true};
  if (bytes > 1) layouts.insert(product.tile.by_depth ? layouts.end() : layouts.begin(), false);
  int64_t vector = 0;
  for (const bool by_depth : layouts) {
    for (int64_t depth = deepest; depth >= product.tile.instruction->k; depth /= 2) {
      Schedule tried = sch;
      TW_ASSIGN_OR_RETURN(const ProductBlocks blocks,
                          MakeWarpgroupBlocks(tried, block, product, {rows_of_tile, rows_of_tile, depth}, by_depth));
      vector = std::max(vector, std::min(blocks.row_vector, blocks.column_vector));
      if (!product.tile.engine_copies) break;
      const auto how = [&](BlockRv copy, bool depth_is_last) {
        return BulkCopyOf(
            {RealizeOf(tried, copy).block.get(), depth_is_last, depth, {rows_of_tile, 2 * rows_of_tile}, &gpu});
      };
      const BulkCopy rows = how(blocks.form.rows, /*depth_is_last=*/true), columns = how(blocks.form.columns, by_depth);
      if (rows != BulkCopy::kNone && columns == BulkCopy::kBoxes) {
        const bool pixels = rows == BulkCopy::kPixels;
        return OperandWay{pixels ? OperandCopies::kPixels : OperandCopies::kBulk, product.way.packed, by_depth, depth};
      }
      // A step of fewer elements may be one of a single window element.
      if (rows == BulkCopy::kBoxes) break;
    }
  }
  if (vector * bytes < gpu.min_async_copy_bytes) return SingleElements(sch, block);
  return OperandWay{OperandCopies::kThreads, product.way.packed, layouts.front(), deepest};
}

Outcome<WarpgroupProduct> PrepareOperands(Schedule& sch, BlockRv block, const ProductPlan& plan,
                                          const WarpgroupTile& tile, const Target& target, Choices& choices) {
  const int64_t widest = target.gpu_part().max_access_bytes;
  WarpgroupProduct product{plan, tile, {}, {}, widest, widest, widest};
  Outcome<OperandWay> way = FindWay(sch, block, product);
  if (!way.ok() && PadChannels(sch, block, target, choices, product)) way = FindWay(sch, block, product);
  if (!way.ok()) {
    TW_RETURN_IF_ERROR(PackOperands(sch, block, target, choices, product));
    way = FindWay(sch, block, product);
  }
  TW_ASSIGN_OR_RETURN(product.way, std::move(way));
  if (product.way.copies == OperandCopies::kPixels) {
    TW_ASSIGN_OR_RETURN(product.way, ChooseCopies(sch, product, target, choices));
  }
  Schedule tried = sch;
  TW_ASSIGN_OR_RETURN(
      const ProductBlocks blocks,
      MakeWarpgroupBlocks(tried, block, product, {tile.Rows(), tile.Rows(), product.way.depth}, product.way.by_depth));
  product.result = ResultOf(tried, blocks.form.output, target.gpu_part());
  return product;
}

}  // namespace tilewright
