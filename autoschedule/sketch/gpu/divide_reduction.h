// Long reductions of few results, over many blocks of threads.
//
//   for i, k: S[i] += A[i, k]        ->        for p, i, k: S_rf[p, i] += A[i, p * 8192 + k]       a kernel
//                                              for p, i: S[i] += S_rf[p, i]                        and another one
//
// Blocks of threads do not wait for each other, so that what they combine together takes a second kernel.
#pragma once

#include <optional>

#include "schedule/recorder/schedule.h"
#include "target/target.h"

namespace tilewright {

// The block that reduces the parts: `block` afterwards combines them. Nothing when the blocks of `block` keep the GPU
// busy, or its parts would be short, or no equal parts were found; nothing is applied then.
std::optional<BlockRv> DivideReduction(Schedule& sch, BlockRv block, const Target& target);

}  // namespace tilewright
