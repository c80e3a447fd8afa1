// expand_auto_copy: an AutoCopy block becomes loops around a block that copies one element.
//
//   with T.block("A_shared"):                                   for ax0 in range(16):
//       v0 = T.axis.spatial(4, i_0)                                 with T.block("A_shared"):
//       T.reads(A[v0 * 16:v0 * 16 + 16])                                v0 = T.axis.spatial(62, i_0 * 16 + ax0)
//       T.writes(A_shared[v0 * 16:v0 * 16 + 16])           ->           T.where(i_0 * 16 + ax0 < 62)
//       T.block_attr({"auto_copy": True})                               T.reads(A[v0])
//       for ax0 in range(16):                                           T.writes(A_shared[v0])
//           if v0 * 16 + ax0 < 62:                                      A_shared[v0] = A[v0]
//               A_shared[v0 * 16 + ax0] = A[v0 * 16 + ax0]
//
// Why: read_at and write_at say what moves where (schedule/movement/auto_copy.h). How it moves is the business of the
// primitives of loops and blocks: split, fuse, bind, vectorize, compute_inline of what computes the copied elements.
//
// Conditions: the block has the annotation of an AutoCopy block, and its body is what read_at and write_at make: loops
// over a box around one store of a loaded element at the same indices, under a condition perhaps.
//
// Ids: the block's and those of the loops survive; loops of one iteration die.
#pragma once

#include <cstdint>

#include "ir/function.h"
#include "schedule/core/refusal.h"

namespace tilewright {

Outcome<Function> ExpandAutoCopy(const Function& function, uint32_t block);

}  // namespace tilewright
