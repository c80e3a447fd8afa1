// Moves allocations from the blocks that declare them to the innermost place that encloses all their uses.
//
//   with T.block("root"):                          for i in range(4):
//       B = T.alloc_buffer((64,))             =>       B = T.allocate((64,))
//       for i in range(4):                             for j in range(16): B[i * 16 + j] = ...
//           for j in range(16): B[i * 16 + j] = ...    for j in range(16): ... B[i * 16 + j] ...
//           for j in range(16): ... B[i * 16 + j] ...
//
// so that buffer compaction finds a small region, and that each iteration of a parallel loop has its own copy. A buffer
// stays outside of
//   - the loops of a reduction that accumulates into it (and of scans and opaque iterators): values live from one
//     iteration to the next;
//   - loops whose iterations read what earlier ones wrote, as far as the regions of reads and writes tell, except
//     parallel loops: what is used in one of them alone belongs to its iterations (ir/iteration_buffers.h); and except
//     loops over blocks or threads that have memory of the buffer's scope for themselves;
//   - while loops;
//   - vectorized loops;
//   - loops bound to threads that share it: all thread loops for global memory, those of the threads of one block for
//     shared memory.
#pragma once

#include "ir/function.h"

namespace tilewright {

Function PlanAllocations(const Function& function);

}  // namespace tilewright
