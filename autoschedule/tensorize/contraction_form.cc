#include "autoschedule/tensorize/contraction_form.h"

#include <algorithm>

#include "autoschedule/program/block_loops.h"
#include "base/math.h"
#include "ir/analysis.h"
#include "target/costs.h"

namespace tilewright {

int64_t IteratorExtent(const BlockRealizeNode& realize, int iterator) {
  return *AsInt(realize.block->iter_vars[static_cast<size_t>(iterator)].domain.extent);
}

int64_t NearBytes(const Target& target) { return target.Near().usable_bytes; }

int64_t SharedColumnBytes(const Target& target) { return target.Near().bytes / 4; }

int64_t BytesOfColumns(const BlockRealizeNode& realize, const Contraction& contraction) {
  int64_t bytes = contraction.column_operand->dtype.bytes();
  for (int iterator : contraction.inner) bytes *= IteratorExtent(realize, iterator);
  for (int iterator : contraction.columns) bytes *= IteratorExtent(realize, iterator);
  return bytes;
}

int64_t BytesOfRow(const BlockRealizeNode& realize, const Contraction& contraction) {
  int64_t bytes = contraction.row_operand->dtype.bytes();
  for (int iterator : contraction.inner) bytes *= IteratorExtent(realize, iterator);
  return bytes;
}

int DepthIterator(const BlockNode& block, const Contraction& contraction) {
  for (const BufferRegion& read : block.reads) {
    if (!read.buffer.same_as(contraction.row_operand)) continue;
    for (int iterator : contraction.inner) {
      if (read.region.back().min.same_as(block.iter_vars[static_cast<size_t>(iterator)].var)) return iterator;
    }
  }
  return contraction.inner.back();
}

TileOperands OperandsOf(const BlockRealizeNode& realize, const Contraction& contraction,
                        const TileInstruction& instruction, const Target& target) {
  int64_t panel_bytes = contraction.column_operand->dtype.bytes() * instruction.lanes;
  for (int iterator : contraction.inner) panel_bytes *= IteratorExtent(realize, iterator);
  return {.panel_bytes = panel_bytes,
          .near_bytes = {target.Nearest().usable_bytes, NearBytes(target)},
          .costs = TileCostsOf(target)};
}

int64_t DepthStep(int64_t extent, const TileInstruction& instruction, bool copied) {
  const int64_t most = instruction.StepDepth(), steps = RoundUp(extent, most) / most;
  const int64_t least = RoundUp(CeilDiv(extent, steps), instruction.group);
  // Rows that begin inside of a line take two to load; a deeper step takes no longer, but more of the caches.
  const bool fills_lines = (copied || extent % least != 0) && 3 * most <= 4 * least;
  return fills_lines ? most : least;
}

int StepDepthOf(const BlockRealizeNode& realize, const Target& target) {
  const absl::StatusOr<Contraction> contraction = MatchContraction(realize);
  if (!contraction.ok()) return 1;
  const std::optional<TileInstruction> instruction = FindTileInstruction(
      target, contraction->row_operand->dtype, contraction->column_operand->dtype, contraction->product_type);
  return instruction ? instruction->StepDepth() : 1;
}

}  // namespace tilewright
