// Vectors whose lanes have few values are looked up in a register that holds these values.
//
//   w * T.Broadcast(s, 16)    where w is T.Cast("float32x16", q & T.Broadcast(15, 16)) - 8
//
// =>
//
//   T.lookup("float32x16", table * T.Broadcast(s, 16), T.Cast("int32x16", q))
//                             where table is T.Cast("float32x16", T.Ramp(0, 1, 16)) - 8
//
// Weights of few bits take one instruction each, whatever is computed of them, and what is computed of the table is
// shared by all vectors that meet the same scale. Each lane is what it was: the same operations on the same number.
// Elements that a number of few bits picks from memory, a codebook, are looked up in the same way.
//
// A table of 256 elements of eight bits is looked up in registers by whole bytes:
//
//   L[T.Cast("int32x64", A[0:64])]      =>      T.lookup("uint8x64", L[0:256], A[0:64])
//
// For vectors of floats and of bytes, on targets with registers that are tables (`lookup` of the instruction table).
#pragma once

#include "ir/function.h"
#include "target/target.h"

namespace tilewright {

Function Tabulate(const Function& function, const Target& target);

}  // namespace tilewright
