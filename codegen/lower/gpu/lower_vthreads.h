// Makes loops of virtual threads: a thread does what they do one after the other, statement by statement.
//
//   for vx in T.thread_binding(2, "vthread.x"):         C = T.allocate([2, 4], "float32", "local")
//       C = T.allocate([4], "float32", "local")         for k in range(8):
//       for k in range(8):                                  S[tx] = A[k, tx]
//           S[tx] = A[k, tx]                        =>      for vx in range(2):
//           for i in range(4):                                  for i in range(4):
//               C[i] = C[i] + S[vx * 4 + i]                         C[vx, i] = C[vx, i] + S[vx * 4 + i]
//
// What does not depend on the virtual thread is done once (copies to shared memory by all threads together stand inside
// of such loops). Memory of a thread that depends on it is there once for each. Loops and branches that all virtual
// threads take alike stay outside, so that those of one statement follow each other.
#pragma once

#include "ir/function.h"
#include "target/target.h"

namespace tilewright {

// Expects kernels as UnifyThreads makes them, without blocks.
Function LowerVirtualThreads(const Function& function, const GpuTarget& gpu);

}  // namespace tilewright
