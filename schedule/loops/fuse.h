// Fuse: a nest of loops becomes one.
//
//   for i, j in T.grid(4, 8):                    for i_j_fused in range(32):
//       with T.block("B"):                           with T.block("B"):
//           vi, vj = T.axis.remap("SS", [i, j])  ->      vi = T.axis.spatial(4, i_j_fused // 8)
//           ...                                          vj = T.axis.spatial(8, i_j_fused % 8)
//
// Conditions: each loop but the last holds nothing but the next one; none has annotations, is bound to a thread or
// starts elsewhere than at 0; no extent depends on a fused loop; the fused extent is a value of the loop variable's
// type.
//
// Ids: the loops' die; the new loop's is born; all others survive. The new loop is serial.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/function.h"
#include "schedule/core/refusal.h"

namespace tilewright {

struct FuseResult {
  Function function;
  uint32_t loop = 0;
};

// `loops` outermost first, at least one. `preserve_unit_iters`: as in Split.
Outcome<FuseResult> Fuse(const Function& function, const std::vector<uint32_t>& loops, bool preserve_unit_iters = true);

}  // namespace tilewright
