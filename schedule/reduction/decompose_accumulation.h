// decompose_accumulation: what a block adds to an array that has values becomes a sum of its own, which is added at
// last.
//
//                                                      A_sum = T.alloc_buffer((64, 64))
//   for k, i, j in T.grid(16, 64, 64):                 for k, i, j in T.grid(16, 64, 64):
//       with T.block("A"):                                 with T.block("A"):
//           vk, vi, vj = T.axis.remap("RSS", [k, i, j])        vk, vi, vj = T.axis.remap("RSS", [k, i, j])
//           A[vi, vj] = A[vi, vj] + X[vk, vi] * Y[vk, vj]      with T.init():
//                                                      ->          A_sum[vi, vj] = T.float32(0)
//                                                              A_sum[vi, vj] = A_sum[vi, vj] + X[vk, vi] * Y[vk, vj]
//                                                      for ax0, ax1 in T.grid(64, 64):
//                                                          with T.block("A_add"):
//                                                              v0, v1 = T.axis.remap("SS", [ax0, ax1])
//                                                              A[v0, v1] = A[v0, v1] + A_sum[v0, v1]
//
// Why: a block without an init is not a reduction that primitives could take apart; the sum is one. The terms are
// added in another order (docs/numerics.md).
//
// Conditions: the block has no init; it stores once, what was there plus something that does not read the array, at
// different spatial iterators that count from 0; the rest of its iterators are reduce ones, of which there is one; the
// block's loops are its iterators, one each, hold nothing else, are serial and carry no annotations, and it has no
// predicate. Whether an element has terms at all depends on its place alone.
//
// Ids: all survive; those of the second block (returned) and its loops are born.
#pragma once

#include <cstdint>

#include "ir/function.h"
#include "schedule/core/refusal.h"

namespace tilewright {

struct DecomposeAccumulationResult {
  Function function;
  uint32_t block = 0;  // that adds the sum
};

Outcome<DecomposeAccumulationResult> DecomposeAccumulation(const Function& function, uint32_t block);

}  // namespace tilewright
