// Vectors that a thread of a GPU loads and stores are of a width that it has, and aligned.
//
//   A_shared: T.Buffer((64, 33), "float32", scope="shared")
//   for v in T.vectorized(4): A_shared[i, j * 4 + v] = ...     refused: rows of 33 elements put A_shared[1, 0] at byte
//                                                              132, which 16 bytes do not divide
//   for v in T.vectorized(8): ... float32 ...                  refused: 32 bytes; the widest access has 16
//
// For each access below a vectorized loop whose neighbouring iterations touch neighbouring elements: extent times bits
// of the element is a power of two within the limit, and the offset of the first one is a multiple of the extent.
// Accesses with other steps are made one element at a time.
#pragma once

#include "target/target.h"
#include "verify/structure/diagnostic.h"

namespace tilewright {

// Nothing when the target is null or no GPU.
Diagnostics CheckVectorAccess(const Function& function, const Target* target);

}  // namespace tilewright
