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
// A vector as wide as a line is stored to two lines unless it is aligned, which takes twice the time. What the first
// and the last vector share with those between is computed and stored twice: so nothing has a mask, and it is why the
// buffer must not be read. Rows of few vectors, which would not earn the additional one, and those known to begin at a
// multiple of a vector stay as they are.
#pragma once

#include "ir/function.h"
#include "target/target.h"

namespace tilewright {

// Changes nothing on targets whose vectors do not fill lines. Buffers must be flat.
Function AlignStores(const Function& function, const Target& target);

}  // namespace tilewright
