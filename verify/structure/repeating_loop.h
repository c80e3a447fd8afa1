// Loops that run the instances of a block again.
//
//   for i, r, k in T.grid(4, 2, 8):                for f, k in T.grid(8, 8):
//       with T.block("S"):                             with T.block("S"):
//           vi, vk = T.axis.remap("SR", [i, k])            vi, vk = T.axis.remap("SR", [f // 2, k])
//
// r, and f: instances of S depend on a quotient of it only. What computes its elements from the start (a block with an
// init whose loops lie inside) may be run again; what adds to them may not.
#pragma once

#include <vector>

#include "ir/stmt.h"

namespace tilewright {

// The position in `loops` (the innermost ones around the block, outermost first) of the innermost loop that runs
// instances of the block again, or their number when there is none. Loops over threadIdx and vthread are left out, and
// loops on which the block's condition depends, when no binding shows them to repeat instances for which it holds.
// `around`: the loops outside of these, where they are known; instances may differ by parts of a number that they
// begin.
size_t InnermostRepeatingLoop(const BlockRealizeNode& realize, const std::vector<const ForNode*>& loops,
                              const std::vector<const ForNode*>& around = {});

}  // namespace tilewright
