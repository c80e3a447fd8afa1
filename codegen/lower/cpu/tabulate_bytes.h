// Functions of one byte become tables of their 256 values.
//
//   for i in T.parallel(196):                         for k in range(4):
//       for v in T.vectorized(64):                        for v in T.vectorized(64):
//           C[i * 64 + v] = f(A[i * 64 + v])    =>            t[k * 64 + v] = f(T.Cast("uint8", k * 64 + v))
//                                                     for i in T.parallel(196):
//                                                         for v in T.vectorized(64):
//                                                             C[i * 64 + v] = t[T.Cast("int32", A[i * 64 + v])]
// A vector of bytes becomes four vectors of floats. Dequantizing, applying a function and quantizing takes tens of
// instructions for each; a lookup in registers takes a few to tens for all of them, depending on the target
// (tabulate.h, intrin/lookup.h). The table is filled by the same operations, outside of all loops that do not change
// them. Stores in one loop that have the same function share it.
//
// For values of eight bits, on targets whose registers can be such tables, where the function takes longer than the
// lookup, for more elements than it takes to fill the table. Buffers must be flat, vectorized loops still
// loops: vectors are as long as bytes allow once there is nothing wider.
#pragma once

#include "ir/function.h"
#include "target/target.h"

namespace tilewright {

Function TabulateBytes(const Function& function, const Target& target);

}  // namespace tilewright
