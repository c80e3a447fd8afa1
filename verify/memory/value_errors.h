// Whether values that a program computes from its loops alone are errors: what the interpreter stops at, and what
// compiled code takes for impossible.
//
//   for v in range(20):
//       O[v] = A[v] + (v + 2147483640) // 2         v + 2147483640 does not fit into int32 from v = 8 on
//       O[v] = A[v] >> (v + 20)                     shifts 32 bits by 32 and more from v = 12 on
//       O[v] = T.Cast("int32", T.float32(v) * 1e9)  3e9 is not an int32
//       O[v] = T.Cast("int32", T.log(T.float32(v))) the logarithm of 0 is not finite
//
// Refuted is what an iteration reaches, conditions around it considered. Values that come from memory, from parameters
// and from symbolic sizes are taken for right ones.
#pragma once

#include "ir/function.h"
#include "verify/structure/diagnostic.h"

namespace tilewright {

Diagnostics CheckValueErrors(const Function& function);

}  // namespace tilewright
