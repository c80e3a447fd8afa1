// Loops of a kernel each index of which has a buffer of its own.
//
//   S = T.alloc_buffer((32,), scope="shared")      each block of threads has its own: loops over blockIdx
//   L = T.alloc_buffer((4,), scope="local")        each thread has its own: loops over threadIdx too
//
// A value is where its executor wrote it: whoever reads an element has to stand at the same indices of these loops as
// the write. Parts of a program that share such memory are one kernel, in which all loops with one tag have one index.
//
// Global memory that is allocated inside of these loops is its executor's own too: a kernel allocates nothing in memory
// that all threads share.
#pragma once

#include <unordered_map>

#include "ir/function.h"

namespace tilewright {

// Lanes of a warp share its memory as far as loops over threadIdx.x of at most a warp tell. Warps are those of a
// program without a target (GpuTarget).
bool HasOwnMemory(const Buffer& buffer, const ForNode& loop);

// The memory that global memory allocated inside of a kernel becomes, by data pointer, views included.
struct OwnGlobalMemory {
  // "local" inside of a loop over threads; "shared" inside of one over blocks that has such a loop below.
  std::unordered_map<const VarNode*, Scope> scopes;
  // "local" where a block has one thread for it.
  std::unordered_map<const VarNode*, Scope> of_single_threads;
};
OwnGlobalMemory FindOwnGlobalMemory(const Function& function);

}  // namespace tilewright
