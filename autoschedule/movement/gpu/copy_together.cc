#include "autoschedule/movement/gpu/copy_together.h"

#include "autoschedule/program/access_strides.h"
#include "autoschedule/program/block_loops.h"
#include "base/status_macros.h"

namespace tilewright {

int64_t VectorAlong(const BlockNode& block, const Buffer& buffer, const std::vector<int>& group, int64_t tile,
                    int64_t most_bytes, bool stored) {
  if (group.empty()) return 1;
  const auto iterator = static_cast<size_t>(group.back());
  const int64_t extent = *ExtentOf(block.iter_vars[iterator]);
  for (const Access& access : AccessesOf(block)) {
    if (access.store != stored || !access.buffer.same_as(buffer) || access.strides[iterator] != 1) continue;
    int64_t vector = 1;
    while (vector * 2 * buffer->dtype.bytes() <= most_bytes && extent % (vector * 2) == 0 && tile % (vector * 2) == 0) {
      vector *= 2;
    }
    return vector;
  }
  return 1;
}

Outcome<std::monostate> CopyTogether(Schedule& sch, const AutoCopy& copy, const ThreadAxes& threads, int64_t vector) {
  TW_RETURN_IF_ERROR(Expand(sch, copy));
  TW_ASSIGN_OR_RETURN(std::vector<LoopRv> loops, LoopsInside(sch, copy.block, copy.loop));
  if (loops.empty()) {
    TW_ASSIGN_OR_RETURN(const LoopRv unit, sch.AddUnitLoop(copy.block));
    loops.push_back(unit);
  }
  TW_ASSIGN_OR_RETURN(const LoopRv elements, FuseFirst(sch, loops, loops.size()));
  std::vector<Value> factors = {Value()};
  std::vector<std::string> axes;
  for (const auto& [axis, extent] : threads) {
    if (extent == 1) continue;
    factors.emplace_back(extent);
    axes.push_back(axis);
  }
  factors.emplace_back(vector);
  TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> parts, sch.Split(elements, factors));
  for (size_t i = 0; i < axes.size(); ++i) TW_RETURN_IF_ERROR(sch.Bind(parts[i + 1], axes[i]));
  return vector > 1 ? sch.Vectorize(parts.back()) : Outcome<std::monostate>(std::monostate());
}

}  // namespace tilewright
