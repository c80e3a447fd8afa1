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
//
// tilewright.prefetch_next: where a parameter is read a second time in an iteration, the first cache level has it, and
// memory has nothing to do: what the next iteration reads there is fetched meanwhile.
// tilewright.prefetch_rows: of a loop over tiles, how many iterations ahead single elements of parameters are fetched:
// once for every line, before the innermost loop's body that reads no more than a few of them. Hardware finds rows that
// are short and far from each other too late.
// tilewright.stream: vectors that are stored to parameters go past the caches, which otherwise read what is there
// before they overwrite it. For outputs that are larger than the caches anyway.
#pragma once

#include "ir/function.h"
#include "target/target.h"

namespace tilewright {

Function InsertCacheHints(const Function& function, const Target& target);

}  // namespace tilewright
