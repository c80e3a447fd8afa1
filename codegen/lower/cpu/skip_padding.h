// Leaves out terms of sums whose factor is a zero of the padding.
//
//   A_reg[0] = 0                                    A_reg[0] = 0
//   A_reg[1] = A[5]                                 A_reg[1] = A[5]
//   C_reg[0] = C_reg[0] + A_reg[0] * W[3]     =>
//   C_reg[1] = C_reg[1] + A_reg[1] * W[3]           C_reg[1] = C_reg[1] + A_reg[1] * W[3]
//
// Terms in groups, dot_add(C_reg[0], A_reg[0:4], W[...]), are left out when the whole group is zero.
//
// The zeros that a convolution reads outside of its image are written as such once loops are cut and unrolled; what is
// multiplied by them would be wasted work (about a tenth of a 3 x 3 convolution over 14 x 14 pixels). Only constants in
// register buffers count, in straight-line code. A weight that is infinite or NaN then has no effect on pixels where it
// meets padding only, as in other libraries (docs/numerics.md).
#pragma once

#include "ir/function.h"

namespace tilewright {

Function SkipPadding(const Function& function);

}  // namespace tilewright
