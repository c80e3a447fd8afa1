// Replaces the iterators of blocks by what they are bound to.
//
//   with T.block("B"):                             with T.block("B"):
//       vi = T.axis.spatial(16, i * 4 + j)    =>       B[i * 4 + j] = A[i * 4 + j]
//       B[vi] = A[vi]
//
// The blocks have no iterators then, and no declared regions: nothing outside of them looks at signatures any more.
#pragma once

#include "ir/function.h"

namespace tilewright {

Function SubstituteIterators(const Function& function);

}  // namespace tilewright
