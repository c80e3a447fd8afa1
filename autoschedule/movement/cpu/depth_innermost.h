// Copies in which neighbours along the depth of a contraction are neighbours in memory.
//
//   P[y, x, k] = X[k, y - 1, x - 1] where that is inside, else 0
//   C[y, x, o] += P[y + r, x + s, k] * F[r, s, k, o]                y and x in [0, 28)
//
//   X_global[p, k] = X[k, p // 28, p % 28]                          by tiles that are transposed in registers
//   P[y, x, k] = X_global[(y - 1) * 28 + x - 1, k] where that is inside, else 0
//   C[y, x, o] += P[y + r, x + s, k] * F[r, s, k, o]
//
// Why: instructions that multiply groups of neighbours along the depth (intrin/dot_tile.h) read a group of the row
// operand at once. Where the neighbours lie apart, each tile that reads a group loads its elements one by one.
#pragma once

#include <optional>

#include "schedule/recorder/schedule.h"

namespace tilewright {

// The block that copies the row operand of the contraction `block`, or what the block that writes this operand reads;
// that writer itself where it copies without conditions. It copies whole buffers, of which dimensions that follow each
// other are one. Nothing, and nothing is changed, where neighbours along the depth lie side by side already, or where
// no inner iterator has a dimension of the row operand for itself. `group`: elements that are read at once.
std::optional<BlockRv> CopyDepthInnermost(Schedule& sch, BlockRv block, int group);

}  // namespace tilewright
