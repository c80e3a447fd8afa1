// Puts the shared memory of each kernel into one region, where buffers whose lives do not overlap share bytes.
//
//   for bx in T.thread_binding(8, "blockIdx.x"):             for bx in T.thread_binding(8, "blockIdx.x"):
//       A_shared = T.allocate([1024], "float16", "shared")       for tx in T.thread_binding(32, "threadIdx.x"):
//       C_shared = T.allocate([256], "float32", "shared")            region = T.allocate([2048], "uint8", "shared.dyn")
//       for tx in T.thread_binding(32, "threadIdx.x"):       =>      A_shared: float16 view of region, from byte 0
//           for k in range(4): ... A_shared[...] ...                 C_shared: float32 view of region, from byte 0
//           C_shared[...] = ...                                      for k in range(4): ... A_shared[...] ...
//                                                                    C_shared[...] = ...
//
// A buffer lives from the first to the last statement that uses it, over all iterations of the loops around within its
// allocation. What a producer fills (warp_roles.h) lives from the start of the kernel on. Views keep their names and
// types; where they start stands in their indices. Whether a barrier has to lie between two lives is for
// place_barriers.h, which compares bytes. Other allocations between the loops over threads go inside of them, so that
// the loops form one nest.
#pragma once

#include "absl/status/statusor.h"
#include "ir/function.h"
#include "target/target.h"

namespace tilewright {

// InvalidArgument names a buffer without a constant size. Expects flat buffers.
absl::StatusOr<Function> MergeShared(const Function& function, const GpuTarget& gpu);

}  // namespace tilewright
