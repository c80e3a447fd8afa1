// Decompose reduction: the init of a block becomes a block of its own, before a loop.
//
//   for i, k in T.grid(64, 64):                  for i in range(64):
//       with T.block("C"):                           with T.block("C_init"):
//           vi, vk = T.axis.remap("SR", [i, k])          vi = T.axis.spatial(64, i)
//           with T.init():                 ->            C[vi] = T.float32(0)
//               C[vi] = T.float32(0)                 for k in range(64):
//           C[vi] = C[vi] + A[vi, vk]                    with T.block("C_update"):
//                                                            vi, vk = T.axis.remap("SR", [i, k])
//                                                            C[vi] = C[vi] + A[vi, vk]
//
// Why: the update can then be mapped to an instruction that only accumulates, and the init runs once.
//
// Conditions: the block is a reduction block (verify/structure/block_scope.h); the loop is above it, in the same scope;
// no loop outside of `loop` takes part in a reduce iterator's binding (the init would run too often and erase partial
// results); nothing else below the loop writes what the init writes, or uses of it what the same iteration has not
// computed; a condition of the block's predicate that is on spatial and reduce iterators together holds for all of the
// former at the start of the latter; neither `loop` nor one inside of it runs the reduction again
// (verify/structure/repeating_loop.h), and none that takes part in it runs over threads.
//
// Ids: all survive, the block's too (it is the update); those of the init block and of its loops are born. The init's
// loops are named after the originals with "_init".
#pragma once

#include <cstdint>

#include "ir/function.h"
#include "schedule/core/refusal.h"

namespace tilewright {

struct DecomposeReductionResult {
  Function function;
  uint32_t init_block = 0;
};

Outcome<DecomposeReductionResult> DecomposeReduction(const Function& function, uint32_t block, uint32_t loop);

}  // namespace tilewright
