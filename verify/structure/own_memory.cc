#include "verify/structure/own_memory.h"

#include "ir/expr.h"
#include "ir/thread_tags.h"
#include "target/target.h"

namespace tilewright {

bool HasOwnMemory(const Buffer& buffer, const ForNode& loop) {
  const OwnerLevel owner = buffer->scope.owner();
  if (owner == OwnerLevel::kDevice || owner == OwnerLevel::kCore) return false;
  if (IsBlockTag(loop.thread_tag)) return true;
  if (!loop.thread_tag.starts_with("threadIdx")) return false;
  if (owner == OwnerLevel::kThread) return true;
  if (owner == OwnerLevel::kBlock || owner == OwnerLevel::kCluster) return false;
  constexpr GpuTarget kGpu;
  const auto lanes = AsInt(loop.extent);
  const bool of_one = lanes && *lanes <= (owner == OwnerLevel::kWarp ? kGpu.warp_size : kGpu.warpgroup_size);
  return loop.thread_tag != "threadIdx.x" || !of_one;
}

}  // namespace tilewright
