// Decides at run time whether a parallel loop has enough to do for threads, by annotations.
//
//   for i in T.parallel(n, annotations={"tilewright.threads_from": 4096}):
//       for j in range(64): B[i, j] = A[i, j]
//                                                    =>
//   T.attr(0, "tilewright.threads_from", T.int64(4096) <= n * T.int64(64))
//   for i in T.parallel(n):
//       for j in range(64): B[i, j] = A[i, j]
// Starting threads takes some microseconds, which is longer than the whole loop takes at small sizes of a symbolic
// extent. Code generation runs the loop in the caller where the condition is false.
#pragma once

#include "ir/function.h"

namespace tilewright {

Function PlaceThreadConditions(const Function& function);

}  // namespace tilewright
