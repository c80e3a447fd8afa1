// Register buffers of bytes hold 16 bits per element if they are computed with in 32 bits.
//
//   A_reg: uint8, 8 elements                               A_reg: int16, 8 elements
//   A_reg[0:8] = A[i : i + 8]                         =>   A_reg[0:8] = T.Cast("int16x8", A[i : i + 8])
//   C_reg[0:4] += T.Cast("int32x4", A_reg[0:4]) * W        C_reg[0:4] += T.Cast("int32x4", A_reg[0:4]) * W
//   C_reg[4:8] += T.Cast("int32x4", A_reg[4:8]) * V        C_reg[4:8] += T.Cast("int32x4", A_reg[4:8]) * V
//
// An instruction multiplies half a register of 16-bit factors and adds to 32-bit sums (smlal). Extending a quarter of a
// register of bytes takes two to four instructions at each use, extending half of one to 16 bits takes one.
//
// For register buffers of which every load is converted to 32-bit integers, on targets with such an instruction.
#pragma once

#include "ir/function.h"
#include "target/target.h"

namespace tilewright {

Function WidenBytes(const Function& function, const Target& target);

}  // namespace tilewright
