// Whether a block of blocks needs no values of a buffer from outside.
//
//   with T.block("tile"):                             the tile reads A, and only what it wrote before
//       vo = T.axis.spatial(4, i)
//       T.reads(A[vo * 16:vo * 16 + 16])
//       T.writes(A[vo * 16:vo * 16 + 16], B[vo * 16:vo * 16 + 16])
//       for x in range(16): block "A": A[vi] = ...
//       for x in range(16): block "B": B[vi] = A[vi] + ...
#pragma once

#include "ir/function.h"

namespace tilewright {

// Whether each run of the block writes every element of the buffer that it reads, before it reads it. Only what blocks
// inside of it read is followed.
bool ReadsOnlyItsOwnValues(const Function& function, const BlockRealizeNode& realize, const Buffer& buffer);

// Whether a block with an init may read elements of the buffer that it does not write. Such a block does not declare
// what it reads of its output.
//
//   X[1, vi] = X[1, vi] + A[vi, vk] * X[0, vk]         reads row 0 of X
bool ReadsBeyondItsWrites(const BlockNode& block, const Buffer& buffer);

}  // namespace tilewright
