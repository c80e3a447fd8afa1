// hoist_factor: a factor that all terms of a sum have, since it is made of one element, is multiplied with the sum.
// Late division.
//
//                                                       O_sum = T.alloc_buffer((8, 4))
//   for i, d, j in T.grid(8, 4, 16):                    for i, d, j in T.grid(8, 4, 16):
//       with T.block("O"):                                  with T.block("O"):
//           vi, vd, vj = ...                      ->            vi, vd, vj = ...
//           with T.init():                                      with T.init():
//               O[vi, vd] = T.float32(0)                            O_sum[vi, vd] = T.float32(0)
//           O[vi, vd] = O[vi, vd] +                             O_sum[vi, vd] = O_sum[vi, vd] +
//                       P[vi, vj] / S[vi] * V[vj, vd]                           P[vi, vj] * V[vj, vd]
//                                                       for ax0, ax1 in T.grid(8, 4):
//                                                           with T.block("O_scaled"):
//                                                               v0, v1 = T.axis.remap("SS", [ax0, ax1])
//                                                               O[v0, v1] = O_sum[v0, v1] / S[v0]
//
// Why: the sum no longer waits for the other one, and a division each element becomes one each result.
//
// How the terms split is derived (schedule/algebra/value_factors.h). Numerics: docs/numerics.md.
//
// Conditions: the block is a sum that begins at zero, in float32 or float64, at its spatial iterators, each one index
// and from 0; its loops are its iterators, one each, hold nothing else, are serial and carry no annotations, and it
// has no predicate; where it has results it has terms. All its terms read one element of the buffer for a result, and
// are products of something with what constants and that element decide, no exponential: one that is hoisted would
// overflow.
//
// Ids: all survive, those of the block as of the sum; the new block (returned) and its loops are born.
#pragma once

#include <cstdint>

#include "ir/function.h"
#include "schedule/core/refusal.h"

namespace tilewright {

struct HoistFactorResult {
  Function function;
  uint32_t block = 0;  // that multiplies
};

// `read_index`: of the block's declared reads, the one of the factor.
Outcome<HoistFactorResult> HoistFactor(const Function& function, uint32_t block, int read_index);

}  // namespace tilewright
