// Simplifies index expressions and conditions with what is known at their place, and removes what cannot run.
//
//   for i in range(1):                                  B[j] = A[j]
//       if i * 16 + j < 16:  B[i * 16 + j] = A[j]  =>          (where j < 16 is known)
#pragma once

#include "ir/function.h"

namespace tilewright {

Function SimplifyFunction(const Function& function);

}  // namespace tilewright
