// Loop partition: one loop becomes several, one after the other.
//
//   for k_0, k_1 in T.grid(4, 16):                   for k_00, k_1 in T.grid(3, 16):
//       with T.block("C"):                               with T.block("C_k_00"):
//           vk = T.axis.reduce(60, k_0 * 16 + k_1)           vk = T.axis.reduce(60, k_00 * 16 + k_1)
//           T.where(k_0 * 16 + k_1 < 60)          ->         with T.init(): ...
//           with T.init(): ...                               C[()] = C[()] + A[vk]
//           C[()] = C[()] + A[vk]                    for k_01, k_1 in T.grid(1, 16):
//                                                        with T.block("C_k_01"):
//                                                            vk = T.axis.reduce(60, k_01 * 16 + k_1 + 48)
//                                                            T.where((k_01 + 3) * 16 + k_1 < 60)
//                                                            C[()] = C[()] + A[vk]
//
// of k_0 with factors [3]. Factors are numbers of iterations; what they leave over is the last part, or goes to the
// one that is None.
//
// Why: the main part runs without conditions (vector loops, tensor instructions), the tail with them.
//
// Every part starts at 0, so that it can be scheduled further. The names of all blocks in a part, nested ones too, end
// with the name of its loop. An iterator that is bound to the loop alone has the part's range as its domain. Predicates
// that hold throughout a part are left out. A reduction that goes through several parts is initialized in the first; in
// the others the block only updates.
//
// Conditions: the loop has no annotations, is not bound to a thread and starts at 0; its extent is a constant; factors
// are positive, and together less than the extent; at most one is None; where a reduce iterator depends on the loop, it
// has its least value in the first part only.
//
// Ids: the loop's dies; what is in it survives in the first part and is copied with fresh ids in the others; the new
// loops, returned in their order, are born.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/function.h"
#include "schedule/core/refusal.h"

namespace tilewright {

struct LoopPartitionResult {
  Function function;
  std::vector<uint32_t> loops;
};

// A null factor (one at most) is what the others leave over.
Outcome<LoopPartitionResult> LoopPartition(const Function& function, uint32_t loop, const std::vector<Expr>& factors);

}  // namespace tilewright
