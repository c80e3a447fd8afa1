// Buffers fit into the memory of the GPU.
//
//   A_shared = T.alloc_buffer((256, 256), "float32", scope="shared")     refused: 262144 bytes for each block, of which
//                                                                        every GPU of today has less
//
// Counted for each kernel (verify/threads/kernels.h): what lowering allocates, which is the part of a buffer that the
// loops around all of its uses leave (threads that share the memory run all at once), with padded strides and the
// versions of pipelined and double-buffered buffers (verify/memory/stored_elements.h). Shared buffers of a kernel that
// are alive at the same time add up to at most what a block may have; buffers of a thread ("local") to its local
// memory; those that are kept in registers ("register", and the thread's part of the fragments of a warp) to the
// registers of a thread, with as many threads as the kernel starts. Global memory that a kernel allocates counts as the
// memory that its blocks, or threads, get for it (verify/structure/own_memory.h).
#pragma once

#include <cstdint>
#include <vector>

#include "target/target.h"
#include "verify/structure/diagnostic.h"

namespace tilewright {

// Bytes of memory that a kernel's buffers take; INT64_MAX where one has no constant size.
struct KernelMemoryUse {
  const ForNode* root = nullptr;  // of the kernel
  int64_t threads = 1;            // of a block
  int64_t shared = 0;             // of a block
  int64_t local = 0;              // of a thread
  int64_t registers = 0;          // of a thread
};

// The memory of the kernels of a function in their order. `gpu` says how many threads hold the fragments of a warp, or
// of a warpgroup, together.
std::vector<KernelMemoryUse> MemoryOfKernels(const Function& function, const GpuTarget& gpu);

// Nothing when the target is null or no GPU.
Diagnostics CheckMemoryLimits(const Function& function, const Target* target);

}  // namespace tilewright
