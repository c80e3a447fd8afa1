// Makes of each kernel one nest of loops over its threads.
//
//   for bx in T.thread_binding(8, "blockIdx.x"):              for bx in T.thread_binding(8, "blockIdx.x"):
//       for k in range(4):                                        for tx in T.thread_binding(64, "threadIdx.x"):
//           for tx in T.thread_binding(64, "threadIdx.x"):            for k in range(4):
//               S[tx] = A[bx, k, tx]                       =>             S[tx] = A[bx, k, tx]
//           for tx in T.thread_binding(32, "threadIdx.x"):                if tx < 32: B[bx, tx] = S[tx * 2]
//               B[bx, tx] = S[tx * 2]                                     if tx == 0: C[bx] = S[0]
//           C[bx] = S[0]
//
// A kernel is an outermost loop that is bound to a thread, or a part of the program with no such loop, which one thread
// executes; adjacent parts that share memory of a thread or of a block become one kernel. The statements of the result
// mean what they mean when all threads execute each of them before any executes the next: place_barriers.h makes that
// true. What stands in no loop over the threads of a tag is executed by the first of them, or by all when it writes
// memory of a thread. An AutoCopy block between memories of the block and of the device is executed by all of them
// together (spread_copy.h).
//
// Refused: a kernel whose blocks depend on each other through global memory.
#pragma once

#include "absl/status/statusor.h"
#include "ir/function.h"
#include "target/target.h"

namespace tilewright {

// InvalidArgument names the loop, block or buffer.
absl::StatusOr<Function> UnifyThreads(const Function& function, const GpuTarget& gpu);

}  // namespace tilewright
