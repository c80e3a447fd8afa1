// Keeps in a register what the next iteration of a loop reads of what this one stores.
//
//   for j in range(1, n):                 =>     C[1] = C[0] + A[1]
//       C[j] = C[j - 1] + A[j]                   for j in range(2, n):
//                                                    carried = carried + A[j]
//                                                    C[j] = carried
// Otherwise every iteration of a running sum or recurrence waits for the store before it, about five times as long as
// for the addition. The first iteration stands before the loop: it loads what was there.
// Applies to loops with a straight-line body, and to elements that are stored once per iteration at an index that
// depends on the loop.
#pragma once

#include "ir/function.h"

namespace tilewright {

Function CarryElements(const Function& function);

}  // namespace tilewright
