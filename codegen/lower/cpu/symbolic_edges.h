// Cuts loops of symbolic extents into the iterations that are whole and the edge.
//
//   for i0 in range((n + 5) // 6):                  for i0 in range(n // 6):
//       for i1 in T.unroll(6):                          for i1 in T.unroll(6):
//           if i0 * 6 + i1 < n: ...          =>             ...
//                                                   if 0 < n % 6:
//                                                       if n % 6 <= 3: ...                        # one body for each
//                                                       else: ...                                 # number of rows left
// The pass considers comparisons of a size with an expression that is linear in the loop's variable and has inner loops
// of constant extents as other terms. If they depend only on the rows left of one tile, the edge is written once for
// each number of rows: conditions on unrolled loops are constant there. If that is too much code, and along vectors,
// the edge is one body with its conditions. Tiles of images, whose windows reach beyond both ends, overlap at the end
// (shifted_tiles.h), so that all conditions are constant. Other loops are cut into a beginning, the middle, which has
// no such conditions, and an end. A parallel loop is not cut; its body becomes a branch, of a fused one for each of the
// loops it was made of; the first and the last iterations over an image know their numbers. Loops of constant extents
// are cut by loop_partition.h.
#pragma once

#include "ir/function.h"

namespace tilewright {

Function CutSymbolicEdges(const Function& function);

}  // namespace tilewright
