// Rfactor: a reduction in two steps. The first computes one partial result for each iteration of a loop, all of them
// independent; the second combines them.
//
//   for i, k_0, k_1 in T.grid(4, 4, 5):            C_rf = T.alloc_buffer((5, 4))
//       with T.block("C"):                         for i, k_0, k_1 in T.grid(4, 4, 5):
//           vi = T.axis.spatial(4, i)                  with T.block("C_rf"):
//           vk = T.axis.reduce(16, k_0 * 5 + k_1)          vk_1, vi, vk_0 = T.axis.remap("SSR", [k_1, i, k_0])
//           T.where(k_0 * 5 + k_1 < 16)        ->          T.where(k_0 * 5 + k_1 < 16)
//           with T.init():                                 with T.init():
//               C[vi] = T.float32(0)                           C_rf[vk_1, vi] = T.float32(0)
//           C[vi] = C[vi] + A[vi, vk]                      C_rf[vk_1, vi] = C_rf[vk_1, vi] + A[vi, vk_0 * 5 + vk_1]
//                                                  for i, k_1 in T.grid(4, 5):
//                                                      with T.block("C"):
//                                                          vk_1, vi = T.axis.remap("RS", [k_1, i])
//                                                          with T.init():
//                                                              C[vi] = T.float32(0)
//                                                          C[vi] = C[vi] + C_rf[vk_1, vi]
//
// for loop k_1 and factor axis 0, the place of the new dimension in C_rf. Negative axes count from the end, -1 is the
// last place. Without a loop of the reduction left over, C_rf has no init and holds the values themselves.
//
// If a symbolic size decides which partial results have a value (T.where(k_0 * 64 + k_1 < n) and less than 64 of
// them, perhaps), all are computed, those without one as the identity: the first step has no predicate, and adds
// T.if_then_else(vk_0 * 64 + vk_1 < n, A[...], 0).
//
// Why: the reduction's loop becomes parallel (over cores, threads or vector lanes).
//
// Conditions: the loop is serial and above a single block, which is a reduction block (verify/structure/block_scope.h)
// with a known reducer (schedule/program/reducer.h), and where that keeps the order of equal values no loop of the
// reduction is outside of the loop; no loop takes part in spatial and reduce iterators both; the loop takes part in the
// reduction; the other loops of the reduction hold only this block; the ranges of loops of the reduction depend on no
// loop, and no loop's on them; the block is the first below the outermost loop, and nothing else there writes what it
// reads; a partial result
// outside of the reach of other threads' kernels (any scope but global) only where no loop around is bound to threads;
// the axis is in range.
//
// Ids: the block's own survives as the second step's, as do the loops' that the second step keeps; those of the first
// step's block (returned), its loops, are born; the reduction's other loops die.
#pragma once

#include <cstdint>

#include "ir/function.h"
#include "schedule/core/refusal.h"

namespace tilewright {

struct RfactorResult {
  Function function;
  uint32_t block = 0;  // the first step's
};

Outcome<RfactorResult> Rfactor(const Function& function, uint32_t loop, int factor_axis);

}  // namespace tilewright
