// What all threads of a block copy, each its part of a tile, as a nest that the first of them runs:
//
//   for f in range(4):                                      if ty == 0 and tx == 0:
//       for v in T.vectorized(8):                   =>          for i, j in T.grid(128, 64):
//           S[(f * 2048 + ty * 1024 + tx * 8 + v) // 64,            S[i, j] = A[i, j]
//             (...) % 64] = A[...]
//
// Element `e` of the tile is copied in iteration e // 2048 by thread e // 1024 % 2, e // 8 % 128, as element e % 8 of
// its vector. The tile may also be what is copied from, and conditions may stand around a copy. Null where the threads'
// loops have another number of elements than the tile.
#pragma once

#include <vector>

#include "ir/stmt.h"

namespace tilewright {

// `threads`: the loops over the threads of a block.
Stmt FirstThreadsNest(const Stmt& s, const std::vector<const ForNode*>& threads);

}  // namespace tilewright
