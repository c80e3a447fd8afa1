// compute_inline: computes what a block stores where it is used, instead of storing it.
//
//   for i, j in T.grid(64, 64):                      for i, j in T.grid(64, 64):
//       with T.block("B"):                               with T.block("C"):
//           B[vi, vj] = A[vi, vj] * 2                        C[vi, vj] = A[vi, vj] * 2 + 1
//   for i, j in T.grid(64, 64):              ->
//       with T.block("C"):
//           C[vi, vj] = B[vi, vj] + 1
//
// Conditions: the block is not the root and not the only block of its scope; it is complete, its body is one store of
// a value without effects, and its predicate only keeps iterators inside of their domains; it writes no buffer that
// outlives the scope, has a consumer, and nobody overwrites what it reads before all consumers; different instances
// store different elements, and together all elements of the buffer; the buffer is used by loads only. The block, its
// loops and its buffer are gone; all other ids survive.
#pragma once

#include <cstdint>

#include "ir/function.h"
#include "schedule/core/refusal.h"

namespace tilewright {

struct ComputeInlineResult {
  Function function;
};

Outcome<ComputeInlineResult> ComputeInline(const Function& function, uint32_t block);

}  // namespace tilewright
