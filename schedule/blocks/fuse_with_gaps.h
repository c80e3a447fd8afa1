// fuse_with_gaps: one iterator for two, which steps through a row in more steps than the inner one has values.
//
// Why: a window that moves along rows of an image needs more of a row than it has places there. Where rows lie one
// behind the other, places in all of them are a single run of neighbours, of which tiles take any number; what comes
// out between two rows is computed for nothing.
//
//   fuse_with_gaps("Y", 0, 1, 7, run_in_gaps=True)
//
//   Y = T.alloc_buffer((4, 5))                            Y = T.alloc_buffer((26,))
//   for h, w, r, s in T.grid(4, 5, 3, 3):                 for ax0, ax1, ax2 in T.grid(26, 3, 3):
//       with T.block("Y"):                                    with T.block("Y"):
//           Y[vh, vw] +=                            ->            Y[vh_vw] +=
//               P[(vh + vr) * 7 + vw + vs] * ...                      P[vh_vw + vr * 7 + vs] * ...
//   ... Y[vi, vj] ...                                     ... Y[vi * 7 + vj] ...
//
// Without `run_in_gaps` the block gets a predicate:
//
//   for h, w in T.grid(4, 5):                             for ax0 in range(26):
//       with T.block("Z"):                          ->        with T.block("Z"):
//           Z[vh, vw] = Y[vh, vw] + 1                             T.where(ax0 % 7 < 5)
//                                                                 Z[vh_vw // 7, vh_vw % 7] =
//                                                                     Y[vh_vw // 7, vh_vw % 7] + 1
//
// The new iterator is in the place of the outer one. All loops of the block are made anew, serial and without
// annotations.
//
// Conditions: the block is alone in its loops, which are not bound to threads and are its iterators, one each, of
// constant ranges from 0; it has no predicate; the two are spatial, and the pitch is no less than the inner extent.
// To run in gaps: the block is a single store of loads, conversions that keep what they convert, sums, products and
// extremes, into a buffer of its scope, at the two iterators themselves, which nobody else writes, whose address is not
// taken, and which has no strides, no layout of its own and no more elements in a row than the pitch; all that it reads
// is inside of its buffers in gaps, too, and has values everywhere; a block that matches a part of the buffer keeps
// that part's shape.
//
// The block keeps its id; its loops die, one new loop per iterator is born.
#pragma once

#include <cstdint>

#include "ir/function.h"
#include "schedule/core/refusal.h"

namespace tilewright {

struct FuseWithGapsResult {
  Function function;
};

// `outer` and `inner`: positions in the block's iterators. The new one is outer * pitch + inner.
Outcome<FuseWithGapsResult> FuseWithGaps(const Function& function, uint32_t block, int64_t outer, int64_t inner,
                                         int64_t pitch, bool run_in_gaps);

}  // namespace tilewright
