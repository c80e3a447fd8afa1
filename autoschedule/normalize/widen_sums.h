// Keeps reductions into types that the target has no arithmetic of in float32 (schedule/reduction/widen_sum.h).
//
//   C[vi, vj] += A[vi, vk] * B[vk, vj]       C_global[vi, vj] += float32(A[vi, vk]) * float32(B[vk, vj])
//                                        ->  C[vi, vj] = float16(C_global[vi, vj])
//
// What such a block alone reads, each element once, is computed in it first, so that none of it is rounded:
//
//   B[vj, vk] = (float16(w[vj, vk]) - 7) * s[vj]     C[vj] += A[vk] * B[vj, vk]
//
// A block without an init becomes a sum of its own before that (decompose_accumulation).
#pragma once

#include <string>

#include "schedule/recorder/schedule.h"
#include "target/target.h"

namespace tilewright {

// On the blocks directly in the root block of the function. Whether there was such a reduction.
bool WidenSums(Schedule& sch, const std::string& function, const Target& target);

}  // namespace tilewright
