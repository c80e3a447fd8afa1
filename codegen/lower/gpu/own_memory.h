// Global memory that threads, or blocks of threads, allocate for themselves becomes memory that they have.
//
//   for b in T.thread_binding(4, "blockIdx.x"):
//       with T.block("k"):
//           W = T.alloc_buffer((64,))                           scope="shared": the threads below share it
//           for t in T.thread_binding(64, "threadIdx.x"):
//               with T.block("row"):
//                   S = T.alloc_buffer((32,))                   scope="local": each thread has one
//
// Why: a kernel allocates nothing in global memory. Code has arrays of threads in its place, which other threads do not
// see, while barriers were placed, or found to have no place, as for memory that all threads share.
//
// What a loop over blocks allocates and no loop over threads below uses is left as it is: one thread runs that.
#pragma once

#include "ir/function.h"

namespace tilewright {

// Expects programs before UnifyThreads, whose loops say who allocates.
Function GiveOwnMemory(const Function& function);

}  // namespace tilewright
