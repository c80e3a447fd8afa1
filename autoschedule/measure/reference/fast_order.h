// An order of loops that runs a plain program fast enough: parallel outside, the last spatial loop inside.
//
//   for i, j, k: C[i, j] += A[i, k] * B[k, j]   ->   for i in T.parallel: for j: C[i, j] = 0
//                                                                         for k, j: C[i, j] += A[i, k] * B[k, j]
//
// Not a schedule to compete with: no tiles, no packing. It needs no decision and works on what it can.
#pragma once

#include "ir/function.h"

namespace tilewright {

// Blocks that a primitive refuses stay as they are.
Function FastOrder(const Function& function);

}  // namespace tilewright
