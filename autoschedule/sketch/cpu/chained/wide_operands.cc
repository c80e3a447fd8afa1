#include "autoschedule/sketch/cpu/chained/wide_operands.h"

#include <algorithm>
#include <vector>

#include "autoschedule/movement/cpu/operand_stages.h"
#include "autoschedule/program/block_loops.h"
#include "autoschedule/sketch/cpu/chained/chained_tiles.h"
#include "base/status_macros.h"
#include "ir/analysis.h"

namespace tilewright {

Outcome<std::optional<BlockRv>> StageWide(Schedule& sch, BlockRv sum, const Var& at) {
  const Block node = RealizeOf(sch, sum).block;
  const auto operand = std::ranges::find_if(node->reads, [&](const BufferRegion& read) {
    const auto uses = [&](const Range& range) { return UsesVar(range.min, at); };
    return !read.buffer.same_as(node->writes[0].buffer) && std::ranges::any_of(read.region, uses);
  });
  if (operand == node->reads.end() || operand->buffer->dtype.bits() >= 32) return std::optional<BlockRv>();
  TW_ASSIGN_OR_RETURN(const BlockRv copy, ReindexRead(sch, sum, Buffer(operand->buffer)));
  TW_RETURN_IF_ERROR(sch.WidenBuffer(copy, 0, "float32"));
  return std::optional<BlockRv>(copy);
}

Outcome<std::monostate> ConvertInLoop(Schedule& sch, BlockRv copy, LoopRv loop, int64_t width) {
  TW_RETURN_IF_ERROR(sch.ComputeAt(copy, loop));
  TW_ASSIGN_OR_RETURN(std::vector<LoopRv> loops, LoopsInside(sch, copy, loop));
  const std::optional<size_t> last = LoopAlongLast(sch, copy, loops);
  if (!last) return std::monostate();
  std::rotate(loops.begin() + static_cast<std::ptrdiff_t>(*last),
              loops.begin() + static_cast<std::ptrdiff_t>(*last) + 1, loops.end());
  if (loops.size() > 1) TW_RETURN_IF_ERROR(sch.Reorder(loops));
  if (ExtentOf(sch, loops.back()).value_or(width + 1) <= width) return sch.Vectorize(loops.back());
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> parts, sch.Split(loops.back(), {Value(), Value(width)}));
  return sch.Vectorize(parts[1]);
}

}  // namespace tilewright
