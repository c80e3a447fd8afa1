// Rolling buffer: a buffer keeps what the next tile needs again, and holds no more than one tile.
//
//   B = T.alloc_buffer((10,))                            B = T.alloc_buffer((4,))
//   for i_0 in range(4):                                 for i_0 in range(4):
//       for ax0 in range(4):                                 for ax0 in range(4):
//           with T.block("B"):                                   with T.block("B"):
//               vi = T.axis.spatial(10, i_0 * 2 + ax0)               vi = T.axis.opaque(10, i_0 * 2 + ax0)
//               B[vi] = A[vi]                    ->                  T.where(i_0 < 1 or 2 <= ax0)
//       for i_1 in range(2):                                         B[vi % 4] = A[vi]
//           with T.block("C"):                               for i_1 in range(2):
//               vi = T.axis.spatial(8, i_0 * 2 + i_1)            with T.block("C"):
//               C[vi] = B[vi] + B[vi + 2]                            vi = T.axis.opaque(8, i_0 * 2 + i_1)
//                                                                    C[vi] = B[vi % 4] + B[(vi + 2) % 4]
//
// The dimension that rolls is the one that moves with the outermost loop and overlaps its next position. Other
// dimensions that overlap keep their size; there, too, only what is new is computed.
//
// Why: chains of stencils recompute the borders of their tiles otherwise, or keep whole intermediate arrays.
//
// The order of the tiles now matters: spatial iterators of that dimension become opaque, so that no loop of them is
// reordered or made parallel.
//
// What the block reads may roll already (a cascade of windows), in whatever order its buffers come to roll: the result
// is that of consumers first, whose producers are complete blocks still.
//
// Conditions: the scope allocates the buffer; the block is its only writer, complete or a reduction that is finished
// for each tile, and writes one element at plain iterators; its predicate only keeps them inside of their domains, and
// a tile has no gaps; nobody matches a part of it or takes its address; the blocks that use it contain no blocks, and
// read nothing outside of the tile in the dimension that rolls. A loop is around all of them. In that dimension the
// tile begins at a sum of loops, their multiples and quotients by numbers; the innermost of the loops is serial and
// starts at 0, and the tile is of constant size, and longer than any step from tile to tile. In each iteration of the
// others (strips of rows, say) the tile begins anew: they are serial, or parallel with a buffer of its own for each
// iteration. What the block reads is written by complete blocks, or by reductions that are finished before.
//
// Ids: all survive.
#pragma once

#include <cstdint>

#include "ir/function.h"
#include "schedule/core/refusal.h"

namespace tilewright {

Outcome<Function> RollingBuffer(const Function& function, uint32_t block, int write_index);

}  // namespace tilewright
