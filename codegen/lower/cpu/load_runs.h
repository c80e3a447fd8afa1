// Loads of vectors whose lanes form a few contiguous runs become loads of the runs, which registers combine.
//
//   A[(k * 2 + T.Ramp(0, 1, 32) % 2) * 64 + T.Ramp(0, 1, 32) // 2]
//
// =>
//
//   T.Shuffle([A[T.Ramp(k * 128, 1, 16)], A[T.Ramp(k * 128 + 64, 1, 16)]], [0, 16, 1, 17, ...])
// Rows of narrow types are interleaved this way: an instruction that multiplies groups along K needs the groups of
// adjacent columns side by side. Without this pass each lane is loaded alone. A run has at least four elements, and
// only elements of lanes are loaded.
//
// Lanes that lie in one aligned vector are picked from it, as the inputs of groups of four channels side by side are:
//
//   A[k * 16 + T.Ramp(0, 1, 16) // 4 * 4 + 1]     =>     T.Shuffle([A[k * 16:k * 16 + 16]], [1, 1, 1, 1, 5, 5, ...])
//
// Lanes a few elements apart, as windows with strides have them, are picked from the vectors that lie between the first
// and the last of them:
//
//   A[T.Ramp(k, 2, 16)]     =>     T.Shuffle([A[k:k + 16], A[k + 15:k + 31]], [0, 2, ..., 14, 17, 19, ..., 31])
//
// Lanes of a buffer of vector registers that lie in a few of its vectors are picked from these, one after the other:
// three phases of an output that are stored as neighbours.
//
//   A[(T.Ramp(0, 1, 8)) % 3 * 8 + T.Ramp(0, 1, 8) // 3]     =>     T.Shuffle([T.Shuffle([A[0:8], A[8:16]],
//                                                                      [0, 8, 2, 1, 9, 5, 2, 10]), A[16:24]], ...)
#pragma once

#include "ir/function.h"

namespace tilewright {

Function LoadRuns(const Function& function);

}  // namespace tilewright
