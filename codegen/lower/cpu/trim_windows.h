// Ends loops over windows where the windows leave the image, instead of adding zeros there.
//
//   for h, k in T.grid(56, 3):
//       P_reg[0] = T.if_then_else(1 <= h + k and h + k < 57, A[h + k - 1], 0)
//       C_reg[0] = C_reg[0] + P_reg[0] * W[k]
//   =>
//   for h in range(56):
//       for k in range(max(1 - h, 0), min(57 - h, 3)):
//           P_reg[0] = A[h + k - 1]
//           C_reg[0] = C_reg[0] + P_reg[0] * W[k]
// Applies to conditions that are linear in the loop's variable and common to everything that an iteration computes, if
// all of that is sums of products with a factor that is zero where the condition does not hold. The outer loops are not
// cut then, and code stays small (loop_partition.h). If lanes are masked too, the loops are cut, since masks can move
// only inside of an image (mask_late.h). About infinite and NaN weights see skip_padding.h.
#pragma once

#include "ir/function.h"

namespace tilewright {

Function TrimWindows(const Function& function);

}  // namespace tilewright
