// Indices of narrow and unsigned types become indices of 32 or 64 bits, so that nothing that is added to them or
// multiplied by them later wraps:
//
//   A[J[i], j * 699]    ->    A[int32(J[i]), j * 699]        J of int16, uint8, ...
//   B[K[i]]             ->    B[int64(K[i])]                 K of uint32, uint64
#pragma once

#include "ir/function.h"

namespace tilewright {

Function WidenIndices(const Function& function);

}  // namespace tilewright
