// What a block reads of a reduction's result has been summed up.
//
//   for i, k in T.grid(4, 8):
//       with T.block("S"):
//           vi, vk = T.axis.remap("SR", [i, k])
//           S[vi] = S[vi] + A[vi, vk]
//       with T.block("B"):
//           vi, vk = T.axis.remap("SS", [i, k])
//           B[vi, vk] = A[vi, vk] / S[vi]          refused: in iteration k, S[vi] holds a part of the sum
//
// Instances of a reduction may run in any order, so no statement may look at what some of them have made. A reader
// behind a block that writes the buffer must not share a loop with it that feeds one of the writer's reduce iterators,
// unless it adds to the same elements itself, runs the same instances in each iteration (the last one sees what is
// final), or does the same in each iteration that touches the same sum (`B[f // 8] = S[f // 8]` in a fused loop f, also
// where a block's iterator is f itself), or runs in some of the iterations only (a condition, which is not looked at,
// says in which). What such a reader writes may be read in that loop under the same conditions. Nor may a block that
// sets start values share such a loop with the one that adds to them, unless a condition says in which iterations.
// A loop that runs the same additions again (verify/structure/repeating_loop.h), those of blocks inside of blocks
// included, must hold what sets their start values, or what changes the sums in place: b = b * scale says that the loop
// carries them from iteration to iteration, as the loop of an online softmax does.
#pragma once

#include "verify/structure/diagnostic.h"

namespace tilewright {

Diagnostics CheckFinalValues(const Function& function);

}  // namespace tilewright
