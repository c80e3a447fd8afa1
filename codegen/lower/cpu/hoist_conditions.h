// Decides once what many statements of straight-line code decide alike.
//
//   A_reg[0] = if_then_else(c, A[5], 0)                 if c:
//   A_reg[1] = if_then_else(c, A[6], 0)                     A_reg[0] = A[5]
//   C_reg[0] = C_reg[0] + A_reg[0] * W[3]                   A_reg[1] = A[6]
//   C_reg[1] = C_reg[1] + A_reg[1] * W[3]          =>       C_reg[0] = C_reg[0] + A_reg[0] * W[3]
//                                                           C_reg[1] = C_reg[1] + A_reg[1] * W[3]
//                                                       else:
//                                                           A_reg[0] = 0
//                                                           ...
//
// Loop partition leaves such conditions where they are not linear in a loop's variable, and where code would become too
// large. The other branch is mostly padding, which skip_padding takes out. Conditions that read memory stay where they
// are; a sequence is cut twice at most, and once for each further condition that all its values share.
#pragma once

#include "ir/function.h"

namespace tilewright {

Function HoistConditions(const Function& function);

}  // namespace tilewright
