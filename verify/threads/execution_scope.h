// What a warp executes together is reached by all of its lanes.
//
//   for tx in T.thread_binding(32, thread="threadIdx.x"):
//       with T.block("mma"):
//           T.where(tx < 16)
//           T.evaluate(T.tvm_mma_sync(...))         refused: lanes 16 to 31 do not come here
//
// Instructions of warps (wmma, mma, ldmatrix, shuffles), and blocks with the annotation warp_execution: no condition
// around depends on threadIdx.x, except through threadIdx.x // 32, the number of the warp; the threads in x are a
// multiple of a warp; inside of a block, a loop over threadIdx.x runs over all lanes. Fragments, which are spread over
// a warp, are indexed by nothing that differs between its lanes, unless each lane accesses the element that it holds:
// of sums and of left operands of 16 bits, element (i, j) lies in lane i % 8 * 4 + j % 8 // 2.
#pragma once

#include "target/target.h"
#include "verify/structure/diagnostic.h"

namespace tilewright {

// Without a target a warp has 32 lanes.
Diagnostics CheckExecutionScope(const Function& function, const Target* target);

}  // namespace tilewright
