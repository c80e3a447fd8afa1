// Split: one loop becomes a nest.
//
//   for i in range(30):                          for i_0, i_1 in T.grid(8, 4):
//       with T.block("B"):                           with T.block("B"):
//           vi = T.axis.spatial(30, i)     ->            vi = T.axis.spatial(30, i_0 * 4 + i_1)
//           B[vi] = A[vi]                                T.where(i_0 * 4 + i_1 < 30)
//                                                        B[vi] = A[vi]
//
// with factors [None, 4]. The predicate is added only where it cannot be proven.
//
// Conditions: the loop has no annotations, is not bound to a thread and starts at 0; at most one factor is absent;
// every factor is positive; the product of the factors is at least the extent, and a value of the loop variable's type.
//
// Ids: the loop's dies; the new loops', returned outermost first, are born; all others survive. The new loops are
// serial.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/function.h"
#include "schedule/core/refusal.h"

namespace tilewright {

struct SplitOptions {
  // Keep loops of extent 1 in the bindings of blocks (vi = i_0 + i_1), so that later steps still find each loop's
  // iterator.
  bool preserve_unit_iters = true;
  // Leave the predicate out: the caller guarantees that the extra iterations do no harm.
  bool disable_predication = false;
};

struct SplitResult {
  Function function;
  std::vector<uint32_t> loops;
};

// A null factor (one at most) is inferred: the extent over the other factors' product, rounded up.
Outcome<SplitResult> Split(const Function& function, uint32_t loop, const std::vector<Expr>& factors,
                           const SplitOptions& options = {});

}  // namespace tilewright
