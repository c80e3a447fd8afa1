// What a block reads of a buffer that its scope allocates has been written before.
//
//   for i in range(16):
//       for j in range(4):
//           with T.block("B"): B[i * 4 + j] = ...
//       for j in range(8):
//           with T.block("C"): ... B[i * 4 + j] ...     refused: B[i * 4 + 4 : i * 4 + 8] is not written yet
//
// For a reader and a writer of the buffer that stands before it, all loops that enclose both are held fixed; the
// writers' regions over their loops below must then cover, without gaps, what the reader may touch over its own.
// Several writers cover together when the hull of what they write has no gap between them, and a writer counts when it
// writes all that it declares (verify/regions/sure_writes.h). What it wrote in the first iteration of a serial loop
// around both is still there in later ones. A thread sees of its own memory what it wrote itself. What a reduction
// block with init reads of its own output is fed by the init. Buffers that come from outside hold data already.
//
// Sizes and scalar parameters may be 0. What is written before only where they are at least 1 is assumed, and the
// diagnostic names them.
#pragma once

#include "verify/structure/diagnostic.h"

namespace tilewright {

Diagnostics CheckRegionCover(const Function& function);

}  // namespace tilewright
