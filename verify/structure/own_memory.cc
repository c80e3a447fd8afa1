#include "verify/structure/own_memory.h"

#include "ir/expr.h"
#include "ir/thread_tags.h"

namespace tilewright {

bool HasOwnMemory(const Buffer& buffer, const ForNode& loop) {
  const OwnerLevel owner = buffer->scope.owner();
  if (owner == OwnerLevel::kDevice || owner == OwnerLevel::kCore) return false;
  if (IsBlockTag(loop.thread_tag)) return true;
  if (!loop.thread_tag.starts_with("threadIdx")) return false;
  if (owner == OwnerLevel::kThread) return true;
  if (owner == OwnerLevel::kBlock || owner == OwnerLevel::kCluster) return false;
  constexpr int64_t kWarp = 32, kWarpgroup = 128;
  const auto lanes = AsInt(loop.extent);
  const bool of_one = lanes && *lanes <= (owner == OwnerLevel::kWarp ? kWarp : kWarpgroup);
  return loop.thread_tag != "threadIdx.x" || !of_one;
}

}  // namespace tilewright
