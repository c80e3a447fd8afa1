#include "autoschedule/cost/registers.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace tilewright {

void FindRegisters(ProgramFacts* facts) {
  constexpr int64_t kMostBytes = 1024;
  struct Use {
    std::optional<int> loop;  // around the straight code
    bool fits = true;
  };
  std::vector<Use> uses(facts->buffers.size());
  for (const AccessFacts& access : facts->accesses) {
    Use& use = uses[static_cast<size_t>(access.buffer)];
    int64_t bytes = facts->buffers[static_cast<size_t>(access.buffer)].buffer->dtype.bytes() * access.lanes;
    int loop = access.loop;
    for (; loop >= 0; loop = facts->loops[static_cast<size_t>(loop)].parent) {
      const LoopFacts& at = facts->loops[static_cast<size_t>(loop)];
      if (at.kind != ForKind::kUnrolled && at.kind != ForKind::kVectorized) break;
      if ((access.varies >> std::min(at.depth, 63) & 1) != 0) bytes *= at.extent;
    }
    use.fits &= access.lanes > 0 && bytes <= kMostBytes && loop >= 0 && use.loop.value_or(loop) == loop;
    use.loop = loop;
  }
  for (size_t b = 0; b < uses.size(); ++b) {
    BufferFacts& buffer = facts->buffers[b];
    buffer.in_registers =
        buffer.buffer->scope.kind() == MemoryKind::kRegister || (!buffer.param && uses[b].loop && uses[b].fits);
  }
}

}  // namespace tilewright
