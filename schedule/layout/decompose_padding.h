// Decompose padding: a block that copies with padding becomes one that writes the padding everywhere and one that
// copies without conditions.
//
//   for i in range(20):                                    for i in range(20):
//       with T.block("P"):                                     with T.block("P_pad_const"):
//           vi = T.axis.spatial(20, i)                             vi = T.axis.spatial(20, i)
//           P[vi] = T.if_then_else(                                P[vi] = T.float32(0)
//               2 <= vi and vi < 18, X[vi - 2],     ->         for i in range(16):
//               T.float32(0))                                      with T.block("P"):
//                                                                      vi = T.axis.spatial(16, i)
//                                                                      P[vi + 2] = X[vi]
//
// Why: both become plain fills and copies, that instructions do as a whole.
//
// The fill stands before `loop`, in copies of the loops from there on. The loops of the copy shrink where one is bound
// to an iterator by itself; elsewhere the predicate keeps the iterator inside.
//
// Conditions: the block is a complete block (verify/structure/block_scope.h) with a single store of an if_then_else
// whose last value is a constant; each condition bounds one iterator from one side; the loop is above the block, and
// nothing else below it writes what the block writes, or uses of it what the same iteration has not copied.
//
// Ids: all survive, the block's and its loops' as those of the copy; those of the fill are born.
#pragma once

#include <cstdint>

#include "ir/function.h"
#include "schedule/core/refusal.h"

namespace tilewright {

struct DecomposePaddingResult {
  Function function;
  uint32_t block = 0;  // the fill
};

Outcome<DecomposePaddingResult> DecomposePadding(const Function& function, uint32_t block, uint32_t loop);

}  // namespace tilewright
