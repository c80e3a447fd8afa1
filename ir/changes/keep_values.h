// Gives names to values from memory that statements change while passes may still write them elsewhere.
//
//   if x[0] < 4:                                condition = x[0] < 4
//       x[0] = x[0] + 3                         if condition:
//       if x[0] < 4:                      =>        x[0] = x[0] + 3
//           Y[0] = 1                                if x[0] < 4:
//                                                       Y[0] = 1
//
//   with T.block("push"):                       vp_value = N[0]
//       vp = T.axis.opaque(16, N[0])      =>    with T.block("push"):
//       N[0] = vp + 1                               vp = T.axis.opaque(16, vp_value)
//       Q[vp] = A[vi]                               N[0] = vp + 1
//                                                   Q[vp] = A[vi]
//
// The ends of a loop, a condition, a block's iterators and predicate, and the first element of a sub-buffer have the
// values that memory holds when their statement begins. Passes put iterators into indices, repeat ends around the parts
// of a loop, make masks of conditions, one for each store, and take conditions and ranges for facts. Here what may
// change in between (may_change.h) is evaluated once, so that all of them are right. Programs without such values stay
// the same nodes.
#pragma once

#include "ir/function.h"

namespace tilewright {

Function KeepValues(const Function& function);

}  // namespace tilewright
