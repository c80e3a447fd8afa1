// Compose reduction: the inverse of decompose_reduction. The block that sets the start values goes back into the block
// that updates them, as its init.
//
//   for i in range(64):                                for i, k in T.grid(64, 64):
//       with T.block("C_init"):                            with T.block("C"):
//           vi = T.axis.spatial(64, i)                         vi, vk = T.axis.remap("SR", [i, k])
//           C[vi] = T.float32(0)                               with T.init():
//   for i, k in T.grid(64, 64):                    ->              C[vi] = T.float32(0)
//       with T.block("C_update"):                              C[vi] = C[vi] + A[vi, vk]
//           vi, vk = T.axis.remap("SR", [i, k])
//           C[vi] = C[vi] + A[vi, vk]
//
// Why: rfactor, cross-thread reduction and the rules for whole reductions want the init inside; programs that were
// written with two loops get there.
//
// "_update" at the end of the block's name is left out.
//
// Conditions: both blocks are in one scope, the init block first; each stores once to each of the same buffers, at the
// iterators themselves; the init block's iterators are all spatial and it reads none of the outputs, nor anything that
// is written in between; the other one's iterators are spatial or reduce, and it has no init. Both run all of their
// instances, the other one each once and from the least on. The loops around both feed no reduce iterator, and in each
// iteration of them both write the same elements. No other block between the two, or below the loops that they do not
// share, uses an output.
//
// Ids: the init block's and those of its own loops die; all others survive.
#pragma once

#include <cstdint>

#include "ir/function.h"
#include "schedule/core/refusal.h"

namespace tilewright {

Outcome<Function> ComposeReduction(const Function& function, uint32_t init_block, uint32_t update_block);

}  // namespace tilewright
