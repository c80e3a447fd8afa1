// Rows that begin anywhere are stored in vectors that fill cache lines.
//
//   for k in range(4):                              for j in T.vectorized(16): B[c + j] = A[a + j]
//       for j in T.vectorized(128):           =>    for k in range(3):
//           B[c + k * 128 + j] = A[a + k * 128 + j]     for j in T.vectorized(128):
//                                                           B[(c // 16 + 1) * 16 + k * 128 + j] = A[...]
//                                                   for j in T.vectorized(112):
//                                                       B[(c // 16 + 1) * 16 + 384 + j] = A[...]
//                                                   for j in T.vectorized(16): B[c + 496 + j] = A[a + 496 + j]
//
// A vector as wide as a line is stored to two lines unless it is aligned, which takes twice the time. The first and the
// last vector overlap their neighbours. Shared elements are computed and stored twice, which needs no masks, but the
// buffer must not be read. Short rows, for which the additional vector does not pay, and aligned rows stay as they are.
#pragma once

#include "ir/function.h"
#include "target/target.h"

namespace tilewright {

// Changes nothing on targets whose vectors do not fill lines. Buffers must be flat.
Function AlignStores(const Function& function, const Target& target);

}  // namespace tilewright
