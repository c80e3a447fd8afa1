// Lets a number of blocks run what the iterations of a loop over blocks do, each several of them.
//
//   for bx in T.thread_binding(10, "blockIdx.x",               for b in T.thread_binding(4, "blockIdx.x"):
//           annotations={"tilewright.sharing_blocks": 4}):         S = T.allocate([64], "float32", "shared")
//       S = T.allocate([64], "float32", "shared")          =>      for turn in range((9 - b) // 4 + 1):
//       for tx in T.thread_binding(64, "threadIdx.x"):                 for tx in T.thread_binding(64, "threadIdx.x"):
//           S[tx] = A[bx, tx]                                              S[tx] = A[turn * 4 + b, tx]
//
// A block that stays goes on with the copies of its next iteration while the results of this one are stored. Blocks of
// a turn run at the same time, so the order of the iterations is that of the loop. Memory that the threads of a block
// share is allocated once for all turns.
//
// Before the pass the loop is one over blocks like others: they are independent, and may run in any order.
#pragma once

#include "ir/function.h"

namespace tilewright {

// After loops over threads are one nest (unify_threads.h).
Function ShareBlocks(const Function& function);

}  // namespace tilewright
