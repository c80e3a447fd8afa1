// Buffers that belong to the single iterations of a parallel loop.
//
//   B = T.alloc_buffer((16,))              # in the root block
//   for i in T.parallel(4):
//       for j in range(16): B[j] = ...     B is used in the parallel loop only: each iteration has a B of its own
//       for j in range(16): ... B[j] ...
//
// A schedule puts caches there (compute_at moves the blocks, not the allocation). The interpreter takes the iterations'
// buffers apart when it looks for races, and lowering allocates in the iteration.
#pragma once

#include <unordered_set>

#include "ir/stmt.h"

namespace tilewright {

// The data pointers of buffers that a block allocates and that are used inside of one parallel loop below that block
// only. Loops in a `while` do not count: what is used there may live from one round to the next.
std::unordered_set<const VarNode*> BuffersOfParallelIterations(const Stmt& body);

}  // namespace tilewright
