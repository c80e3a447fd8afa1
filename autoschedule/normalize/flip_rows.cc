#include "autoschedule/normalize/flip_rows.h"

#include <algorithm>

#include "autoschedule/program/block_loops.h"
#include "autoschedule/program/contraction.h"
#include "autoschedule/tensorize/tile_instruction.h"
#include "schedule/layout/hoist_prepack.h"

namespace tilewright {
namespace {

// Elements of a padded operand for each one of what it pads, at most; where the tile's own correction would be one more
// instruction for a few rows, which elements of registers make of it.
constexpr double kMostPadding = 1.25, kMostPaddingByElements = 2.5;

int64_t Elements(const Buffer& buffer) {
  int64_t elements = 1;
  for (const Expr& extent : buffer->shape) elements *= AsInt(extent).value_or(1);
  return elements;
}

bool IsMostlyPadding(const BlockNode& writer, const TileInstruction& instruction) {
  const double most = instruction.LoadsAll() ? kMostPaddingByElements : kMostPadding;
  return std::ranges::any_of(writer.reads, [&](const BufferRegion& read) {
    return static_cast<double>(Elements(writer.writes[0].buffer)) > most * static_cast<double>(Elements(read.buffer));
  });
}

}  // namespace

bool FlipRows(Schedule& sch, BlockRv block, const Target& target) {
  const BlockRealizeNode& realize = RealizeOf(sch, block);
  const auto contraction = MatchContraction(realize);
  if (!contraction.ok() || contraction->rows.empty()) return false;
  const std::optional<TileInstruction> instruction = FindTileInstruction(
      target, contraction->row_operand->dtype, contraction->column_operand->dtype, contraction->product_type);
  if (!instruction || !instruction->flips()) return false;
  if (!IsConstantParam(FunctionOf(sch, block), contraction->column_operand)) return false;

  const Buffer rows = contraction->row_operand;
  std::optional<BlockRv> writer = WriterOf(sch, block, rows);
  if (writer) {
    if (IsMostlyPadding(*RealizeOf(sch, *writer).block, *instruction)) return false;
  } else {
    const auto& reads = realize.block->reads;
    const auto read = std::ranges::find_if(reads, [&](const BufferRegion& r) { return r.buffer.same_as(rows); });
    const Outcome<BlockRv> copy = sch.CacheRead(block, static_cast<int>(read - reads.begin()), "global");
    if (!copy.ok()) return false;
    writer = *copy;
  }
  return sch.FlipSignBit(*writer, 0).ok();
}

}  // namespace tilewright
