#include "verify/structure/diagnostic.h"

#include <algorithm>

namespace tilewright {

Verdict Worst(const Diagnostics& diagnostics) {
  Verdict worst = Verdict::kProven;
  for (const Diagnostic& diagnostic : diagnostics) worst = std::max(worst, diagnostic.verdict);
  return worst;
}

}  // namespace tilewright
