#include "autoschedule/movement/auto_copy.h"

#include <algorithm>
#include <utility>

#include "autoschedule/program/block_loops.h"
#include "base/status_macros.h"

namespace tilewright {

Outcome<AutoCopy> ReadOperandAt(Schedule& sch, BlockRv block, const Buffer& operand, LoopRv loop, std::string scope) {
  const auto& reads = RealizeOf(sch, block).block->reads;
  const auto read = std::ranges::find_if(reads, [&](const BufferRegion& r) { return r.buffer.same_as(operand); });
  const int index = static_cast<int>(read - reads.begin());
  TW_ASSIGN_OR_RETURN(const BlockRv copy, sch.ReadAt(loop, block, index, std::move(scope)));
  return AutoCopy{.block = copy, .loop = loop};
}

Outcome<AutoCopy> ReadStageAt(Schedule& sch, BlockRv block, BlockRv stage, LoopRv loop, std::string scope) {
  const Buffer operand = RealizeOf(sch, stage).block->writes[0].buffer;
  TW_ASSIGN_OR_RETURN(AutoCopy copy, ReadOperandAt(sch, block, operand, loop, std::move(scope)));
  copy.stage = stage;
  return copy;
}

Outcome<AutoCopy> WriteResultAt(Schedule& sch, BlockRv block, LoopRv loop, std::string scope) {
  TW_ASSIGN_OR_RETURN(const BlockRv copy, sch.WriteAt(loop, block, 0, std::move(scope)));
  return AutoCopy{.block = copy, .loop = loop, .reads = false};
}

Outcome<AutoCopy> WriteStageAt(Schedule& sch, BlockRv block, BlockRv stage, LoopRv loop, std::string scope) {
  TW_ASSIGN_OR_RETURN(AutoCopy copy, WriteResultAt(sch, block, loop, std::move(scope)));
  copy.stage = stage;
  return copy;
}

Outcome<std::monostate> Expand(Schedule& sch, const AutoCopy& copy) {
  TW_RETURN_IF_ERROR(sch.ExpandAutoCopy(copy.block));
  if (!copy.stage) return std::monostate();
  return copy.reads ? sch.ComputeInline(*copy.stage) : sch.ReverseComputeInline(*copy.stage);
}

}  // namespace tilewright
