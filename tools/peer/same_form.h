// Forms in which two programs that say the same are equal.
//
//   T.where(v0 == 3 and 2 <= v1)                     T.where(17 <= v0 * 5 + v1), where v1 has 5 values
//   A[(vi // 2 + 2) // 4]                            A[(vi + 4) // 8]
//   T.reads(A[vi // 2:(vi + 1) // 2 + 8])            T.reads(A[vi // 2:vi // 2 + vi % 2 + 8])
#pragma once

#include "ir/function.h"

namespace tilewright {

// Regions, bindings, conditions and shapes simplified; iterators and loops of one value replaced by it.
Module Simplified(Module module);

// The terms of sums of indices in one order.
Module Sorted(Module module);

// Every block with the regions that its body touches, the parts of a loop in place of blocks around them, and all loops
// counted from 0: what the peer's loop_partition and cache_index give, with the regions that they leave out.
Module Declared(Module module);

}  // namespace tilewright
