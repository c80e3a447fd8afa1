// Loops that are bound to threads form launches that the target can make.
//
//   for bx in T.thread_binding(8, thread="blockIdx.x"):
//       for tx in T.thread_binding(64, thread="threadIdx.x"): ...
//       for tx in T.thread_binding(32, thread="threadIdx.x"): ...   refused: a block has one number of threads in x
//   for tx in T.thread_binding(2048, thread="threadIdx.x"): ...     refused on every GPU: 1024 are the most
//
// In each kernel (verify/threads/kernels.h): all loops of a tag have the same extent and start at 0; extents of threads
// are constants; a loop over blocks lies inside of no other loop over blocks of its tag and of no loop over threads. On
// a GPU: threads of each dimension and of a block, blocks of each dimension and of a cluster, within its limits. On
// other targets (null: any) the last is not asked.
#pragma once

#include "target/target.h"
#include "verify/structure/diagnostic.h"

namespace tilewright {

Diagnostics CheckThreadLaunch(const Function& function, const Target* target);

}  // namespace tilewright
