// Reductions whose domain may be empty get their inits before the loops that reduce, so that a result over no elements
// is the identity.
//
//   for i, k in T.grid(64, n):                   for i in range(64):
//       with T.block("C"):                           with T.block("C_init"): ...
//           ... T.init() ...               ->        for k in range(n):
//                                                        with T.block("C_update"): ...
//
// Why: a block without instances stores nothing, and a model may be run with a dimension that has no elements.
//
// Domains of constant extents above zero are left as they are, and so are blocks that decompose_reduction refuses.
#pragma once

#include "ir/function.h"

namespace tilewright {

Function DefineEmptyReductions(Function function);
Module DefineEmptyReductions(Module module);

}  // namespace tilewright
