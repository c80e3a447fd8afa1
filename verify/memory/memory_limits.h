// Buffers fit into the memory of the GPU.
//
//   A_shared = T.alloc_buffer((256, 256), "float32", scope="shared")     refused: 262144 bytes for each block, of which
//                                                                        every GPU of today has less
//
// Counted for each kernel (verify/threads/kernels.h): what lowering allocates, which is the part of a buffer that the
// loops around all of its uses leave (threads that share the memory run all at once), with padded strides and the
// versions of pipelined and double-buffered buffers (verify/memory/stored_elements.h). Shared buffers of a kernel add
// up to at most what a block may have; buffers of a thread ("local") to its local memory; those that are kept in
// registers
// ("register", and the thread's part of the fragments of a warp) to the registers of a thread, with as many threads as
// the kernel starts.
#pragma once

#include "target/target.h"
#include "verify/structure/diagnostic.h"

namespace tilewright {

// Nothing when the target is null or no GPU.
Diagnostics CheckMemoryLimits(const Function& function, const Target* target);

}  // namespace tilewright
