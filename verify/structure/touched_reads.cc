#include "verify/structure/touched_reads.h"

#include "ir/builtin.h"
#include "ir/functor.h"
#include "ir/regions.h"

namespace tilewright {

bool CallsOutside(const Stmt& s) {
  bool found = false;
  PreOrderExprs(s, [&](const Expr& e) {
    const auto* call = dyn_cast<CallNode>(e);
    found |= call != nullptr && EffectOf(call->op) != CallEffect::kPure;
    return !found;
  });
  return found;
}

std::optional<std::vector<BufferRegion>> TouchedReads(const BlockNode& block) {
  if (CallsOutside(block.init) || CallsOutside(block.body)) return std::nullopt;
  return DetectRegions(block).reads;
}

std::optional<std::vector<BufferRegion>> TouchedWrites(const BlockNode& block) {
  if (CallsOutside(block.init) || CallsOutside(block.body)) return std::nullopt;
  return DetectRegions(block).writes;
}

}  // namespace tilewright
