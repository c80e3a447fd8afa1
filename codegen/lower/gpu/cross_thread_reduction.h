// Combines what the threads of a block reduce together.
//
//   for tx in T.thread_binding(64, "threadIdx.x"):
//       for k in range(4):
//           with T.block("B"):
//               vi, vk = T.axis.remap("SR", [i, k * 64 + tx])
//               with T.init(): B[vi] = 0
//               B[vi] = B[vi] + A[vi, vk]
//
// becomes
//
//       P[0] = 0                                        each thread's part, in its own memory
//       for k in range(4):
//           P[0] = P[0] + A[i, k * 64 + tx]
//       W[tx % 32] = P[0]                               sums over a warp: W is memory of the warp, from which
//       P[0] = P[0] + W[tx % 32 ^ 16]                   lower_warp_memory.h makes shuffles
//       ...
//       if tx % 32 == 0: S[tx // 32] = P[0]             sums over the warps through shared memory
//       P[0] = if_then_else(tx % 2 < 2, S[tx % 2], 0)
//       W[tx % 32] = P[0]; P[0] = P[0] + W[tx % 32 ^ 1]
//       if tx == 0: B[i] = P[0]                         where B is memory of a thread, each thread stores the sum
//
// Warps are used where the threads that reduce are neighbours, and are a power of two up to 32, or whole warps; else a
// tree of partial results in shared memory. What is combined: everything that ir/reducer.h knows, tuples (argmax) too.
// Threads that have no part in it hold the neutral value. The statements are to be executed by all threads together
// (unify_threads.h); barriers come later.
//
// Refused: combinations that are not known; threads of one loop of which some bits reduce and others do not, unless
// they are the quotient and the remainder by a constant; conditions that mix both.
#pragma once

#include "absl/status/statusor.h"
#include "ir/function.h"
#include "target/target.h"

namespace tilewright {

// InvalidArgument names the block. Expects what UnifyThreads makes.
absl::StatusOr<Function> CombineAcrossThreads(const Function& function, const GpuTarget& gpu);

}  // namespace tilewright
