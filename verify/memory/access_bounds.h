// Every load and store lies inside of its buffer.
//
//   A: T.Buffer((16,))
//   with T.block("B"):
//       vi = T.axis.spatial(16, i)
//       B[vi] = A[vi + 1]                                                   refused: A[16] is read where vi = 15
//       B[vi] = T.if_then_else(vi < 15, A[vi + 1], T.float32(0))            fine: the condition guards the load
//
// Iterators range over their domains (verify/structure/bindings.h), loops over their extents; what conditions around
// the access say is used, those about values too, as long as what they read is not written. Assumed to be inside,
// dimension by dimension, and said so: an index that depends on memory or that a scalar parameter decides, and that no
// condition bounds; the first and the last element of a symbolic extent, which is taken not to be 0; one certain
// element, x[1], of as many as the caller gives. Parts of buffers (match_buffer) must be inside of what they are parts
// of. Divisors of integers are not 0; of those that memory or a parameter decides it is assumed ("division").
#pragma once

#include "verify/structure/diagnostic.h"

namespace tilewright {

Diagnostics CheckAccessBounds(const Function& function);

}  // namespace tilewright
