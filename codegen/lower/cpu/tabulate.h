// Vectors whose lanes take few different values are looked up in a register that holds these values.
//
//   w * T.Broadcast(s, 16)    where w is T.Cast("float32x16", q & T.Broadcast(15, 16)) - 8
//
// =>
//
//   T.lookup("float32x16", table * T.Broadcast(s, 16), T.Cast("int32x16", q))
//                             where table is T.Cast("float32x16", T.Ramp(0, 1, 16)) - 8
// Each vector of low-bit weights takes one instruction, however much is computed of it, and all vectors with the same
// scale share the table. Lanes keep their values: the table is made by the same operations on the same numbers.
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
