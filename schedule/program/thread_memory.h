// Memory of which each thread has its own holds no sums that threads make together.
//
//   for tx in T.thread_binding(32, thread="threadIdx.x"):
//       with T.block("S"):
//           vi, vk = T.axis.remap("SR", [i, tx])
//           S[vi] = S[vi] + A[vi, vk]                 S must be in memory that the threads share, not in "local"
#pragma once

#include <optional>

#include "ir/function.h"
#include "schedule/core/refusal.h"

namespace tilewright {

// Why the blocks that write `buffer` cannot write memory of `scope` instead: threads combine their values in it.
std::optional<Refusal> WhyNotOfEachThread(const char* primitive, const Function& function, const Buffer& buffer,
                                          const Scope& scope);

}  // namespace tilewright
