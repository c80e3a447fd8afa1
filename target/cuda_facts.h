// What CUDA asks of kernels on every GPU, whichever it is.
#pragma once

#include <cstdint>

namespace tilewright::cuda {

// Blocks along the second and the third axis of a grid.
inline constexpr int64_t kMostBlocksOfAxis = 65535;
// Bytes of the widest access of a thread.
inline constexpr int64_t kWidestAccess = 16;
// Bytes that a thread copies asynchronously at least (cp.async).
inline constexpr int64_t kLeastAsyncCopy = 4;
// Bytes at whose multiples rows of an array begin that bulk copies read.
inline constexpr int64_t kBulkAlignment = 16;
// Bytes of a row of the widest swizzle of shared memory.
inline constexpr int64_t kWidestSwizzle = 128;
// Threads that start an instruction of a warpgroup together.
inline constexpr int64_t kWarpgroupThreads = 128;
// Steps of a pipeline from which on a warpgroup of its own that copies pixels pays (measured: docs/h200.md).
inline constexpr int64_t kLeastStepsOfProducer = 4;
// Bytes of global memory that are fetched together.
inline constexpr int64_t kFetchedTogether = 64;
// Side of a fragment of wmma.
inline constexpr int64_t kFragmentSide = 16;

}  // namespace tilewright::cuda
