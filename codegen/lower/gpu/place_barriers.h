// Places barriers where a thread needs what another one wrote, or overwrites what another one still reads.
//
//   for tx in T.thread_binding(64, "threadIdx.x"):           for tx in T.thread_binding(64, "threadIdx.x"):
//       for k in range(8):                                       for k in range(8):
//           S[tx] = A[k * 64 + tx]                                   T.tvm_storage_sync("shared")
//           B[k * 64 + tx] = S[63 - tx]                =>            S[tx] = A[k * 64 + tx]
//                                                                    T.tvm_storage_sync("shared")
//                                                                    B[k * 64 + tx] = S[63 - tx]
//
// Before the pass, statements mean what they mean when all threads execute each before any executes the next; after it,
// threads may run apart, and the program computes the same. A barrier is placed unless all accesses before and after
// that meet in a byte are proven to be of one thread (thread_accesses.h), or one that is there already lies between.
// Barriers of warps order memory of warps (scope "warp"). Iterations of serial loops are looked at in pairs.
//
// Refused: threads that depend on each other below a condition, or in a loop, that not all of them pass alike.
#pragma once

#include "absl/status/statusor.h"
#include "ir/function.h"

namespace tilewright {

// InvalidArgument names the buffer. Expects flat buffers.
absl::StatusOr<Function> PlaceBarriers(const Function& function);

}  // namespace tilewright
