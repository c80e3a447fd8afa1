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
//
// For conditions that are linear in the loop's variable and the same for all that an iteration computes, where nothing
// but sums is computed, of products with what is zero otherwise. The loops around need not be cut then, and code stays
// small (loop_partition.h). Where lanes are masked too, they are cut: only inside of an image masks can move
// (mask_late.h). About infinite and NaN weights see skip_padding.h.
#pragma once

#include "ir/function.h"

namespace tilewright {

Function TrimWindows(const Function& function);

}  // namespace tilewright
