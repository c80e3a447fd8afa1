// Vectors that a thread of a GPU loads and stores are of a width that it has.
//
//   for v in T.vectorized(8): ... float32 ...                  refused: 32 bytes; the widest access has 16
//
// For each access below a vectorized loop whose neighbouring iterations touch neighbouring elements: extent times bits
// of the element is a power of two within the limit. Accesses with other steps, and those that need not be aligned to
// the vector, are made one element at a time, which is slow and not wrong.
#pragma once

#include "target/target.h"
#include "verify/structure/diagnostic.h"

namespace tilewright {

// Nothing when the target is null or no GPU.
Diagnostics CheckVectorAccess(const Function& function, const Target* target);

}  // namespace tilewright
