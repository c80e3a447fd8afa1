// pad_einsum: rounds the iterators of a block up to multiples, on padded copies of the buffers that it uses.
//
// Why: a tensor instruction has a fixed size. Copies of the operands are filled up with zeros, which add nothing; the
// result is computed in a larger buffer, of which the part that counts is copied.
//
//   with the padding [4, 1, 1]
//
//                                                     for i0, i1 in T.grid(16, 8):
//                                                         with T.block("A_pad"):
//                                                             A_pad[v0, v1] = T.if_then_else(v0 < 14, A[v0, v1], 0)
//   for i, j, k in T.grid(14, 8, 8):                  for i, j, k in T.grid(16, 8, 8):
//       with T.block("C"):                    ->          with T.block("C"):
//           C[vi, vj] += A[vi, vk] * B[vk, vj]                C_pad[vi, vj] += A_pad[vi, vk] * B[vk, vj]
//                                                     for i0, i1 in T.grid(14, 8):
//                                                         with T.block("C_pad"):
//                                                             C[v0, v1] = C_pad[v0, v1]
//
// pad_einsum_in_place (pad_einsum_in_place.h) enlarges the buffers that are there instead.
//
// Conditions: each buffer is used once, an element at a time, at indices that are padded iterators or do not use any;
// the bindings are loops, or constants of iterators with one value, without a predicate; a padded iterator has loops of
// its own over its domain, which starts at 0, and indexes dimensions of its extent, or, where it is spatial, of inputs
// that have values everywhere; what is written is all of the output; where a reduce iterator is padded, the block sums
// up terms that a factor with this index makes zero (the other factors are finite where elements are: no exp); nobody
// below the outermost loop writes what the block reads, and nobody else what it writes. A padding is positive; one for
// each iterator.
//
// All ids survive.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/function.h"
#include "schedule/core/refusal.h"

namespace tilewright {

struct PadEinsumResult {
  Function function;
};

// `padding`: for each iterator of the block, what its extent is to be a multiple of.
Outcome<PadEinsumResult> PadEinsum(const Function& function, uint32_t block, const std::vector<int64_t>& padding);

}  // namespace tilewright
