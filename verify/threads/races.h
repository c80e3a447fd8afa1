// Iterations that run at the same time touch different elements, or meet at a barrier in between.
//
//   S = T.alloc_buffer((8,), scope="shared")
//   for tx in T.thread_binding(8, thread="threadIdx.x"):
//       with T.block("S"): S[vi] = A[vi]
//       with T.block("B"): B[vi] = S[7 - vi]      refused: thread 0 reads S[7], which thread 7 writes; no barrier
//
// Looked at are parallel, vectorized and thread-bound loops, and the buffers that their iterations share: not what is
// allocated inside of an iteration, nor buffers of a thread (local, registers) or, for blockIdx, of a block (shared).
// For each two touches of a buffer of which one writes, and that no barrier orders (verify/threads/touches.h), the
// regions of different iterations must be apart in some dimension, or be the same injective function of the iteration.
// Threads that reduce into the same element by a block with init are left to verify/threads/thread_reductions.h, which
// says what code generation must do about them. Virtual threads of one thread may write the same value to the same
// element (verify/structure/equal_values.h): a copy by all threads together stands inside of their loops.
//
// Places that memory decides are compared by names of values (verify/threads/memory_values.h). Where each iteration
// looks up data of its own, and no block says otherwise by iterators that are not spatial, they are taken to be apart,
// and said so (verify/threads/loop_races.h).
//
// A barrier must be reached by all threads or by none: no condition around it may differ between them, nor what memory
// of theirs holds that it reads.
//
// For a loop that starts no threads the signatures of the blocks in it may decide: what instances of one block write is
// apart when they differ in a spatial iterator (verify/structure/spatial_iterators.h), so that iterations that run
// instances of their own do not meet in it, if the block reads of the buffer no more than it writes. Where no rule
// helps, the accesses of a small program are enumerated (verify/structure/exact_run.h); else what could not be proven
// is refused.
#pragma once

#include "verify/structure/diagnostic.h"
#include "verify/structure/exact_run.h"
#include "verify/threads/blocks_of_loop.h"

namespace tilewright {

Diagnostics CheckRaces(const Function& function, LazyExactRun* exact, const RaceFacts& facts);

}  // namespace tilewright
