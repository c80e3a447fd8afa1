// Brings reductions into the form that contractions have: a sum, with an init, of products of two operands.
//
//   Y[vb, vo] += X[vb, vi] * W[vo, vi, vj] * Z[vb, vj]      Y_factors[vb, vi, vj] = X[vb, vi] * Z[vb, vj]
//                                                       ->  Y[vb, vo] += Y_factors[vb, vi, vj] * W[vo, vi, vj]
//
// Zero points, numbers that are added to integer factors, are split off (split_offset):
//
//   C[vi, vj] += (A[vi, vk] - z) * B[vk, vj]           C_sum[vi, vj] += A[vi, vk] * B[vk, vj]
//                                                  ->  C_offset[vj] += B[vk, vj]
//                                                      C[vi, vj] = C_sum[vi, vj] - z * C_offset[vj]
//
// Sums of constants, the offsets' other factors, are made ahead of time. Signed bytes may be made unsigned first, with
// an offset (autoschedule/normalize/flip_rows.h).
//
// A block without an init first becomes a sum of its own (decompose_accumulation). Then the factors are divided into
// those that use the iterator of the output's last dimension, the columns, and the others, the rows; each side that is
// more than one element of a buffer is computed ahead (cache_factors), which costs nothing where the contraction's rule
// computes it again as it reads its operands.
//
// Copies of floating-point operands are converted where the target has a tile for the type that they are converted to,
// and none for their own; bytes likewise, to 16 bits:
//
//   C[vi, vj] += float32(A[vi, vk]) * float32(B[vk, vj])      A_global[v0, v1] = float32(A[v0, v1]), of B likewise
//                                                         ->  C[vi, vj] += A_global[vi, vk] * B_global[vk, vj]
//
// Bytes that the target's tile takes apart into 16 bits, one vector after the other, are converted ahead where each is
// used often; products of few rows read half of the memory instead.
//
// A block that is not a contraction afterwards, or one that the target has no tile for, keeps its factors.
#pragma once

#include <string>

#include "schedule/recorder/schedule.h"
#include "target/target.h"

namespace tilewright {

// On the blocks directly in the root block of the function. Whether operands are converted: what makes these may be
// computed there.
bool FormProducts(Schedule& sch, const std::string& function, const Target& target);

}  // namespace tilewright
