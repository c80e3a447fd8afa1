// Writes out unrolled loops.
//
//   for i in T.unroll(3): B[i] = A[i]     =>    B[0] = A[0]; B[1] = A[1]; B[2] = A[2]
//
// A loop whose number of iterations is not a constant becomes a serial loop.
#pragma once

#include "ir/function.h"

namespace tilewright {

Function UnrollLoops(const Function& function);

}  // namespace tilewright
