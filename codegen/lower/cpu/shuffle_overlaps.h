// Vectors that overlap two others are combined from them in registers.
//
//   B[i:i + 16] = A[i:i + 16] + A[i + 1:i + 17]
//   B[i + 16:i + 32] = A[i + 16:i + 32] + A[i + 17:i + 33]
//
// =>
//
//   value = A[i:i + 16] + T.Shuffle([A[i:i + 16], A[i + 16:i + 32]], [1, 2, ..., 16])
//   value_1 = A[i + 16:i + 32] + A[i + 17:i + 33]
//   B[i:i + 16] = value
//   B[i + 16:i + 32] = value_1
//
// A register as wide as a cache line is loaded from two lines unless it is aligned, which takes twice the time; a
// stencil loads the same elements at several such places. Only whole vectors that straight-line code loads in any case
// are used, of buffers that it does not write, in elements of 32 bits or more, which one instruction shifts. Windows of
// more than three elements stay as they are.
#pragma once

#include "ir/function.h"
#include "target/target.h"

namespace tilewright {

// Changes nothing on targets whose vectors do not fill lines.
Function ShuffleOverlaps(const Function& function, const Target& target);

}  // namespace tilewright
