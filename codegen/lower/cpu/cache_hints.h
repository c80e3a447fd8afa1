// What loops ask of the caches, by annotations.
//
//   for i in T.parallel(2048, annotations={"tilewright.prefetch_next": 1, "tilewright.stream": 1}):
//       for j in range(128): M[0:16] = max(M[0:16], A[i, j * 16:j * 16 + 16])
//       for j in range(128): E[j * 16:j * 16 + 16] = exp(A[i, j * 16:j * 16 + 16] - M)
//       for j in range(128): O[i, j * 16:j * 16 + 16] = E[j * 16:j * 16 + 16] / S
//                                                    =>
//       ...
//       for j in range(128):
//           prefetch(A[i + 1, j * 16])
//           E[j * 16:j * 16 + 16] = exp(A[i, j * 16:j * 16 + 16] - M)
//       for j in range(128):
//           with T.attr(0, "tilewright.stream", 1):
//               O[i, j * 16:j * 16 + 16] = E[j * 16:j * 16 + 16] / S
// tilewright.prefetch_next: while an iteration reads a parameter a second time, from L1, memory is idle. What the next
// iteration reads of it is fetched then.
// tilewright.prefetch_rows: how many iterations ahead a loop over tiles fetches single elements of parameters, once per
// line, before the innermost body that reads only a few of them. Hardware prefetchers recognize short rows with a long
// pitch too late.
// tilewright.stream: vectors stored to parameters bypass the caches, which otherwise read each line before it is
// overwritten. Meant for outputs larger than the caches.
#pragma once

#include "ir/function.h"
#include "target/target.h"

namespace tilewright {

Function InsertCacheHints(const Function& function, const Target& target);

}  // namespace tilewright
