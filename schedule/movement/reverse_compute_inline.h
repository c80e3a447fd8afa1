// reverse_compute_inline: lets a producer store what its only consumer makes of its values.
//
//   for i, j in T.grid(64, 32):                      for i, j in T.grid(64, 32):
//       with T.block("B"):                               with T.block("B"):
//           B[vi, vj] = A[vi, vj] * 2                        C[vj, vi] = A[vi, vj] * 2 + 1
//   for i, j in T.grid(64, 32):              ->
//       with T.block("C"):
//           C[vj, vi] = B[vi, vj] + 1
//
// If the consumer uses a part of the buffer only, the producer gets a predicate. A producer that is a reduction
// accepts a consumer that only moves elements (a transpose): anything else would be applied to partial sums.
//
// A consumer with several producers goes to the last of them: what it computes of a gate and a product, say.
//
// Conditions: the block is not the root; it is complete, its body is one store of a value without effects, and its
// predicate only keeps iterators inside of their domains; it has producers in the scope, and all but the last one are
// done before that one's loops begin; of what the last one makes it reads one element, different instances read
// different ones, and the producer writes all of these (no padding); that buffer is allocated by the scope, has one
// producer and no other consumer, and is accessed by loads and stores only; the producer is complete or a reduction,
// and stores into that buffer only. The block, its loops and the buffer are gone; all other ids survive.
#pragma once

#include <cstdint>

#include "ir/function.h"
#include "schedule/core/refusal.h"

namespace tilewright {

struct ReverseComputeInlineResult {
  Function function;
};

Outcome<ReverseComputeInlineResult> ReverseComputeInline(const Function& function, uint32_t block);

}  // namespace tilewright
