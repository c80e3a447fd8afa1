#include "autoschedule/program/unpacked_constants.h"

#include <algorithm>
#include <vector>

#include "autoschedule/program/access_strides.h"
#include "autoschedule/program/block_loops.h"
#include "schedule/layout/hoist_prepack.h"

namespace tilewright {

bool UnpacksConstants(const Function& function, const BlockNode& block) {
  if (block.init || !isa<StoreNode>(block.body) || block.writes.size() != 1 || block.reads.empty()) return false;
  const DataType type = block.writes[0].buffer->dtype;
  if (!type.is_float() && !(type.is_integer() && type.bits() == 8)) return false;
  const bool symbolic =
      std::ranges::any_of(block.iter_vars, [](const IterVar& iter) { return !ExtentOf(iter).has_value(); });
  if (symbolic) return false;
  std::vector<Buffer> read;
  int64_t bytes = 0;
  for (const BufferRegion& region : block.reads) {
    if (!IsConstantParam(function, region.buffer)) return false;
    if (std::ranges::any_of(read, [&](const Buffer& b) { return b.same_as(region.buffer); })) continue;
    read.push_back(region.buffer);
    bytes += BytesOf(region.buffer);
  }
  return 2 * bytes <= BytesOf(block.writes[0].buffer);
}

bool IsMatrixProduct(const Contraction& contraction) {
  return contraction.batch.empty() && contraction.columns.size() == 1 && contraction.inner.size() == 1;
}

std::optional<BlockRv> UnpackerOf(Schedule& sch, BlockRv product, const Contraction& contraction) {
  if (!IsMatrixProduct(contraction) || !contraction.column_operand->dtype.is_float()) return std::nullopt;
  const std::optional<BlockRv> writer = WriterOf(sch, product, contraction.column_operand);
  if (!writer || IsScheduled(sch, *writer)) return std::nullopt;
  const Outcome<std::vector<BlockRv>> readers = sch.GetConsumers(*writer);
  if (!readers.ok() || readers->size() != 1) return std::nullopt;
  if (!UnpacksConstants(FunctionOf(sch, *writer), *RealizeOf(sch, *writer).block)) return std::nullopt;
  return writer;
}

}  // namespace tilewright
