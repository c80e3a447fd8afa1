#include "autoschedule/sketch/sketch.h"

#include <algorithm>

namespace tilewright {

bool SketchContext::SharesLoops() const {
  return std::ranges::any_of(scope.children(), [&](const ScopeChild& other) {
    return &other != &child && !other.loops.empty() && !child.loops.empty() && other.loops[0] == child.loops[0];
  });
}

}  // namespace tilewright
