// pad_einsum_in_place: rounds the iterators of a contraction up to multiples, so that tiles divide them.
//
// Why: a tensor instruction has a fixed size. The producers of the operands fill up with zeros, which add nothing; what
// the output gets beyond its end is never read.
//
//   with the padding [4, 1, 1]
//
//   for i, k in T.grid(14, 8):                        for i, k in T.grid(16, 8):
//       with T.block("A_copy"):                           with T.block("A_copy"):
//           A_copy[vi, vk] = A[vi, vk]                        A_copy[vi, vk] = T.if_then_else(vi < 14, A[vi, vk], 0)
//   for i, j, k in T.grid(14, 8, 8):          ->      for i, j, k in T.grid(16, 8, 8):
//       with T.block("C_copy"):                           with T.block("C_copy"):
//           C_copy[vi, vj] += A_copy[vi, vk] * ...            C_copy[vi, vj] += A_copy[vi, vk] * ...
//   for i, j in T.grid(14, 8):                        for i, j in T.grid(14, 8):
//       ... C[vi, vj] = C_copy[vi, vj]                    ... C[vi, vj] = C_copy[vi, vj]
//
// with A_copy and C_copy enlarged to 16 rows.
//
// Conditions: the block adds a product of two factors to its output and has an init; a padded iterator is bound to a
// loop of its own over its whole domain, which starts at 0; the loop contains no other block;
// buffers are indexed by padded iterators alone, along dimensions of just that extent (an operand, by spatial ones,
// also in sums that are never negative: its dimension gets as long as they reach), and are allocated by the scope; a
// padded reduce iterator indexes a factor; nobody else writes the output; each padded operand has one producer, a
// single store without init, which writes it at spatial iterators that are bound in the same way. A padding is
// positive; one per iterator.
//
// All ids survive.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/function.h"
#include "schedule/core/refusal.h"

namespace tilewright {

struct PadEinsumInPlaceResult {
  Function function;
};

// `padding`: for each iterator of the block, what its extent is to be a multiple of.
Outcome<PadEinsumInPlaceResult> PadEinsumInPlace(const Function& function, uint32_t block,
                                                 const std::vector<int64_t>& padding);

}  // namespace tilewright
