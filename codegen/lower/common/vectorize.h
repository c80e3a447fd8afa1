// Turns vectorized loops into vector expressions no wider than the target's registers.
//
//   for j in T.vectorized(40):                 C[T.Ramp(0, 1, 16)] = A[T.Ramp(0, 1, 16)] + T.Broadcast(b[0], 16)
//       C[j] = A[j] + b[0]                =>   C[T.Ramp(16, 1, 16)] = A[T.Ramp(16, 1, 16)] + T.Broadcast(b[0], 16)
//                                              C[T.Ramp(32, 1, 8)] = ...
//
// Many vectors become a loop over vectors; a rest that is not a power of two is one masked vector where registers have
// masks, and several vectors elsewhere. Branches on the loop's variable become masks of loads and stores, and
// selections between new and old lanes in buffers of vector registers; what in a branch's condition does not depend on
// it stays a branch. A body that has no vector form (calls with effects, while loops, accumulation into one element,
// inner loops whose bounds vary by lane) runs as a serial loop. Buffers must be flat.
#pragma once

#include "ir/function.h"

namespace tilewright {

// `vector_bits`: width of the target's registers.
Function VectorizeLoops(const Function& function, int vector_bits);

}  // namespace tilewright
