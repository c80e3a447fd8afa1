// Keeps in a register what the next iteration of a loop reads of what this one stores.
//
//   for j in range(1, n):                 =>     C[1] = C[0] + A[1]
//       C[j] = C[j - 1] + A[j]                   for j in range(2, n):
//                                                    carried = carried + A[j]
//                                                    C[j] = carried
//
// In running sums and recurrences every iteration would otherwise wait for the store before it, some five times as long
// as for the addition. The first iteration stands before the loop: it loads what was there.
//
// Loops whose body is straight-line code; an element that is stored once an iteration, at an index that the loop moves.
#pragma once

#include "ir/function.h"

namespace tilewright {

Function CarryElements(const Function& function);

}  // namespace tilewright
