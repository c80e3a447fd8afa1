// Lets a kernel begin before the one in front of it in its stream has ended (griddepcontrol, sm_90).
//
//   for b in blockIdx.x, t in threadIdx.x:             for b in blockIdx.x, t in threadIdx.x:
//       W_shared[t] = W[t]                                 W_shared[t] = W[t]
//       for k in range(8):                        =>       T.cuda.grid_dependency_wait()
//           S[...] += A[...] * W_shared[...]               for k in range(8):
//       C[...] = S[...]                                        S[...] += A[...] * W_shared[...]
//                                                          T.cuda.grid_dependency_launch()
//                                                          C[...] = S[...]
//
// A thread waits before its first access to memory that a kernel in front may write, or that it writes and one in front
// may read: all memory of the device but parameters that are constant in all calls (kConstantParams). What comes before
// runs beside the kernel in front: indices, barriers of shared memory, the first loads of weights.
//
// Later kernels may begin where a block stores its results. That stands behind a wait, so that no more than two kernels
// of a stream are under way, and each kernel waits in one thread at least, so that its end says that those in front
// have ended too.
//
// Waits stand where all threads of a block come by, or where conditions ask for nothing but threads and blocks: what a
// condition of extents guards might have none.
#pragma once

#include <string_view>

#include "ir/function.h"

namespace tilewright {

inline constexpr std::string_view kGridWait = "cuda.grid_dependency_wait";
inline constexpr std::string_view kGridLaunch = "cuda.grid_dependency_launch";

// Expects programs as they are emitted.
Function OrderDependentGrids(const Function& function);

}  // namespace tilewright
