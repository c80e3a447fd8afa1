// Index vectors as ramps.
//
//   T.Broadcast(i * 64, 16) + T.Ramp(j, 1, 16)     =>     T.Ramp(i * 64 + j, 1, 16)
//
// Programs write the vector in one index of several; only as one ramp do adjacent elements show after flattening.
#pragma once

#include "ir/expr.h"

namespace tilewright {

// `e`, a vector of integers, as a Ramp or a Broadcast where it is a sum of such, scaled by scalars; else `e` itself.
Expr FoldRamp(const Expr& e);

}  // namespace tilewright
