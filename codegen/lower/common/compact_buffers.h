// Shrinks each allocated buffer to the region that is touched between its allocation and its end.
//
//   for i0, j0 in T.grid(43, 16):                          for i0, j0 in T.grid(43, 16):
//       C_reg = T.allocate((512, 512), "register")    =>       C_reg = T.allocate((12, 32), "register")
//       for i1, j1 in T.grid(12, 32):                          for i1, j1 in T.grid(12, 32):
//           C_reg[i0 * 12 + i1, j0 * 32 + j1] = ...                C_reg[i1, j1] = ...
//
// Vectors that reach, under a condition, beyond the end of a buffer in registers are whole in it: its innermost
// dimension grows to what is touched whatever the conditions.
//
// A buffer stays as it is when its address is taken, or along dimensions whose touched part has no bound that is known
// where the buffer is allocated.
#pragma once

#include "ir/function.h"

namespace tilewright {

Function CompactBuffers(const Function& function);

}  // namespace tilewright
