// Makes every buffer one-dimensional: layouts, strides and offsets become index arithmetic.
//
//   A: T.Buffer((64, 32))                       A_flat = T.decl_buffer((2048,), data=A.data)
//   B = T.allocate((4, 8))                 =>   B = T.allocate((32,))
//   B[i, j] = A[i * 16, j]                      B[i * 8 + j] = A_flat[i * 512 + j]
//
// Index arithmetic is done in 64 bits for buffers whose size is not known to fit into 32.
#pragma once

#include "absl/status/statusor.h"
#include "ir/function.h"

namespace tilewright {

absl::StatusOr<Function> FlattenBuffers(const Function& function);

}  // namespace tilewright
