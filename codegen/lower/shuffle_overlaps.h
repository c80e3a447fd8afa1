// Vectors that overlap others are put together in registers.
//
//   B[i:i + 16] = A[i:i + 16] + A[i + 1:i + 17]
//   B[i + 16:i + 32] = A[i + 16:i + 32] + A[i + 17:i + 33]
//
// =>
//
//   B[i:i + 16] = A[i:i + 16] + T.Shuffle([A[i:i + 16], A[i + 16:i + 32]], [1, 2, ..., 16])
//   B[i + 16:i + 32] = A[i + 16:i + 32] + A[i + 17:i + 33]
//
// A register as wide as a cache line is loaded from two lines unless it is aligned, which takes twice the time; a
// stencil loads the same elements at several such places. Only whole vectors that straight-line code loads in any case
// are used, of buffers that it does not write, in elements of 32 bits or more, which one instruction shifts. Windows of
// more than three elements stay as they are.
#pragma once

#include "ir/function.h"
#include "ir/target.h"

namespace tilewright {

// Whether loads of vectors are as wide as cache lines on this CPU.
bool ShufflesOverlaps(const Target& target);

// Changes nothing on other targets.
Function ShuffleOverlaps(const Function& function, const Target& target);

}  // namespace tilewright
