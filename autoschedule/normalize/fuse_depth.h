// Contractions whose groups of neighbours would be padded: the first layers of networks, with 1 or 3 input channels.
//
//   C[x, o] += A[x * 2 + k, c] * W[k, c, o]        with k in [0, 7), c in [0, 3), groups of 4: 7 * 4 products
//
//   C[x, o] += A[x * 2 + r // 3, r % 3] * W[r // 3, r % 3, o]      with r in [0, 21): 24 products
//
// The elements that k and c run over follow each other in memory, so groups of them are read as before.
#pragma once

#include "schedule/recorder/schedule.h"

namespace tilewright {

// Makes the innermost reduce iterator of a contraction in groups of `group` and the one before it a single one, where
// they run through the row operand as one and the padding saved is worth it. Whether it did.
bool FuseDepth(Schedule& sch, BlockRv block, int group);

}  // namespace tilewright
