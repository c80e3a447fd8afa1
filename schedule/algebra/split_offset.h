// split_offset: a number that is added to a factor of a sum's terms is multiplied with the sum of the other factors.
//
//                                                          C_offset = T.alloc_buffer((16,), "int32")
//                                                          C_sum = T.alloc_buffer((8, 16), "int32")
//                                                          for ax0, ax1 in T.grid(16, 32):
//                                                              with T.block("C_offset"):
//                                                                  v0, v1 = T.axis.remap("SR", [ax0, ax1])
//   for i, j, k in T.grid(8, 16, 32):                              with T.init():
//       with T.block("C"):                                             C_offset[v0] = 0
//           vi, vj, vk = ...                                       C_offset[v0] = C_offset[v0] + B[v1, v0]
//           with T.init():                             ->  for i, j, k in T.grid(8, 16, 32):
//               C[vi, vj] = 0                                  with T.block("C"):
//           C[vi, vj] = C[vi, vj]                                  ...
//               + (A[vi, vk] - 7) * B[vk, vj]                      C_sum[vi, vj] = C_sum[vi, vj] + A[...] * B[...]
//                                                          for ax0, ax1 in T.grid(8, 16):
//                                                              with T.block("C_add"):
//                                                                  v0, v1 = T.axis.remap("SS", [ax0, ax1])
//                                                                  C[v0, v1] = C_sum[v0, v1] - 7 * C_offset[v1]
//
// Why: operands of quantized products have zero points, which tensor instructions do not know. What is left multiplies
// plain elements; the sums of the other factors are far fewer additions.
//
// Sums wrap around (docs/numerics.md). What else may leave a signed type of 32 or 64 bits
// (schedule/program/integer_range.h), products, other factors or what both sums add up to, is computed in the unsigned
// type, and converted at the end.
//
// Conditions: the type is an integer (the result is the same, also where sums wrap around); the block is a sum with an
// init, stores once, at its spatial iterators, and its other iterators are reduce ones, all counting from 0; the factor
// is a sum or difference of which one side uses no reduce iterator and does not read the array, and is not the only
// factor; no other factor reads the array; the block's loops are its iterators, one each, hold nothing else, are serial
// and carry no annotations, and it has no predicate.
//
// Ids: all survive; those of the two new blocks and their loops are born. The block that adds is returned.
#pragma once

#include <cstdint>

#include "ir/function.h"
#include "schedule/core/refusal.h"

namespace tilewright {

struct SplitOffsetResult {
  Function function;
  uint32_t block = 0;  // that adds
};

// `factor`: its position in what FactorsOf (schedule/program/sum_form.h) gives for the block's term.
Outcome<SplitOffsetResult> SplitOffset(const Function& function, uint32_t block, int64_t factor);

}  // namespace tilewright
