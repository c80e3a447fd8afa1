// What a block makes of start values is not replaced by start values again before somebody has read it.
//
//   for i, j in T.grid(4, 4):
//       with T.block("zero"):
//           vi, vj = T.axis.remap("SS", [j, i])
//           C[vi, vj] = 0
//       with T.block("sum"):
//           vi, vj = T.axis.remap("SS", [i, j])
//           C[vi, vj] = C[vi, vj] + A[vi, vj]      refused: C[0, 1] is summed up in iteration (0, 1), and set to zero
//                                                  in iteration (1, 0)
//
// Each of the blocks is valid, and serial loops leave no doubt about their order; but what the second one has done for
// such an element is lost. The check looks at nests in which two blocks write one element each of the same buffer, the
// first without reading it, and in which the loops around both select the element in different ways. If the loops are
// serial and their extents constants, it runs through the iterations (2048 blocks at most). An element that the first
// block wrote last is refused where the second one wrote it before, and no block read it in between.
#pragma once

#include "verify/structure/diagnostic.h"

namespace tilewright {

Diagnostics CheckOverwrittenValues(const Function& function);

}  // namespace tilewright
