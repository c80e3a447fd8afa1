// Fuse reduction epilogue: what is combined with the result of a reduction becomes what the reduction starts with.
//
//   for i, k in T.grid(64, 64):                         C = T.alloc_buffer((64,))
//       with T.block("C"):                              for i, k in T.grid(64, 64):
//           vi, vk = T.axis.remap("SR", [i, k])             with T.block("C"):
//           with T.init():                                      vi, vk = T.axis.remap("SR", [i, k])
//               C[vi] = T.float32(0)                            with T.init():
//           C[vi] = C[vi] + A[vi, vk]            ->                 D[vi] = bias[vi]
//   for i in range(64):                                         D[vi] = D[vi] + A[vi, vk]
//       with T.block("D"):
//           vi = T.axis.spatial(64, i)
//           D[vi] = C[vi] + bias[vi]
//
// Why: one pass over the output less, and an accumulator that starts with the bias.
//
// The operation must be the reduction's own (a sum of a sum, a maximum of a maximum): then only the order of its
// operands changes, as with every reduction that is taken apart. Others, such as a maximum with 0 behind a sum, would
// be applied to partial results and are refused. Behind an epilogue that only copies, the reduction starts as before.
//
// Conditions: the reduction is a reduction block (verify/structure/block_scope.h) with one output, at plain iterators,
// and a known reducer (schedule/program/reducer.h); the scope allocates the output, which only the epilogue reads. The
// epilogue is a complete block that runs all of its instances, over the same elements in the same order of dimensions;
// its value has the reduction's type, and what else it reads is written before the reduction.
//
// Ids: the epilogue's and those of its own loops die; all others survive. The reduction's former output stays
// allocated, and is not used.
#pragma once

#include <cstdint>

#include "ir/function.h"
#include "schedule/core/refusal.h"

namespace tilewright {

Outcome<Function> FuseReductionEpilogue(const Function& function, uint32_t reduction_block, uint32_t epilogue_block);

}  // namespace tilewright
