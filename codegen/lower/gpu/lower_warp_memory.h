// Gives each lane its elements of the memory of a warp; what it needs of another lane becomes a shuffle.
//
//   W = T.allocate([32], "float32", "warp")          W = T.allocate([1], "float32", "local")
//   W[tx % 32] = P[0]                           =>   W[0] = P[0]
//   T.tvm_storage_sync("warp")
//   P[0] = P[0] + W[tx % 32 ^ 16]                    P[0] = P[0] + T.cuda.shfl_xor_sync(mask, W[0], 16)
//
// Each lane owns the elements that it stores: index = (group * 32 + lane) * run + position, where `run` is by how much
// the index of a store grows from one lane to the next; the lane keeps group * run + position. Barriers of memory of
// warps go: lanes meet at instructions of the warp.
//
// Refused: stores to elements of another lane, indices that do not have this form, shuffles of elements whose position
// differs between lanes.
#pragma once

#include "absl/status/statusor.h"
#include "ir/function.h"
#include "target/target.h"

namespace tilewright {

// InvalidArgument names the buffer. Expects flat buffers.
absl::StatusOr<Function> LowerWarpMemory(const Function& function, const GpuTarget& gpu);

}  // namespace tilewright
