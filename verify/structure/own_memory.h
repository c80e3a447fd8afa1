// Loops of a kernel each index of which has a buffer of its own.
//
//   S = T.alloc_buffer((32,), scope="shared")      each block of threads has its own: loops over blockIdx
//   L = T.alloc_buffer((4,), scope="local")        each thread has its own: loops over threadIdx too
//
// A value is where its executor wrote it: whoever reads an element has to stand at the same indices of these loops as
// the write. Parts of a program that share such memory are one kernel, in which all loops with one tag have one index.
#pragma once

#include "ir/stmt.h"

namespace tilewright {

// Lanes of a warp share its memory as far as loops over threadIdx.x of at most a warp tell. Warps are those of a
// program without a target (GpuTarget).
bool HasOwnMemory(const Buffer& buffer, const ForNode& loop);

}  // namespace tilewright
