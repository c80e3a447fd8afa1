// widen_sum: a reduction into a narrow floating-point type keeps its sum in a wider one and rounds it once, at last.
//
//                                               C_global = T.alloc_buffer((16, 64))
//   for i, j, k in T.grid(16, 64, 128):         for i, j, k in T.grid(16, 64, 128):
//       with T.block("C"):                          with T.block("C"):
//           with T.init():                              with T.init():
//               C[vi, vj] = T.float16(0)                    C_global[vi, vj] = T.float32(0)
//           C[vi, vj] = C[vi, vj] + A[vi, vk] * ->      C_global[vi, vj] = C_global[vi, vj] +
//               T.Cast("float16", W[vk, vj])                T.Cast("float32", A[vi, vk]) * T.Cast("float32", W[vk, vj])
//                                               for ax0, ax1 in T.grid(16, 64):
//                                                   with T.block("C_global"):
//                                                       C[v0, v1] = T.Cast("float16", C_global[v0, v1])
//
// Why: a processor without arithmetic of the narrow type converts to a wider one and back for every operation; what is
// not rounded is not converted.
//
// What is combined is computed in the wider type as well (wide_value.h): products of two factors of float16 or bfloat16
// are exact in float32. Conversions to the narrow type that the program itself makes keep their rounding. The result is
// what the program says with some of its roundings left out (docs/numerics.md).
//
// The block that rounds goes where cache_write puts its copy, and what is asked of the block and of those that use its
// output is what cache_write asks. Further conditions: the type is float32 or float64, and the block combines a value
// into a buffer of floating-point numbers with fewer bits, by a sum, product, minimum or maximum that no other output
// depends on.
//
// Ids: all survive; those of the block that rounds (returned) and its loops are born.
#pragma once

#include <cstdint>
#include <string_view>

#include "ir/function.h"
#include "schedule/core/refusal.h"

namespace tilewright {

struct WidenSumResult {
  Function function;
  uint32_t block = 0;  // that rounds the result
};

// `write_index` counts the block's written regions, `dtype` is the type of the sum: "float32".
Outcome<WidenSumResult> WidenSum(const Function& function, uint32_t block, int write_index, std::string_view dtype);

}  // namespace tilewright
