// What threads sum up together has to be combined by code generation.
//
//   for tx in T.thread_binding(32, thread="threadIdx.x"):
//       with T.block("B"): ... B[vi] = B[vi] + A[vi, tx]     assumed: block B reduces over vk, which depends on
//                                                            threadIdx.x: code generation must combine what the threads
//                                                            computed
//
// The order of iterations that the program means is one that threads do not keep (ir/thread_reductions.h). Code
// generation that does not combine partial results of threads refuses the program.
#pragma once

#include "ir/function.h"
#include "verify/structure/diagnostic.h"

namespace tilewright {

Diagnostics CheckThreadReductions(const Function& function);

}  // namespace tilewright
