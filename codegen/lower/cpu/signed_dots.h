// Sums of products of signed bytes on targets whose instruction multiplies unsigned by signed bytes (vpdpbusd), and of
// unsigned by signed bytes where it multiplies signed ones (sdot).
//
// a + 128 is the byte a with its sign bit flipped, unsigned. The sum becomes larger by a correction, which is
// subtracted:
//
//   sum over k of a * b  =  sum of (a + 128) * b  -  sum of 128 * b
//
//   C[0:16] = dot_add(C[0:16], a0, B[0:64])             added = 0
//   C[16:32] = dot_add(C[16:32], a1, B[0:64])           added = dot_add(added, 128, B[0:64])
//                                                  =>   C[0:16] = dot_add(C[0:16], a0 ^ 128, B[0:64])
//                                                       C[16:32] = dot_add(C[16:32], a1 ^ 128, B[0:64])
//                                                       C[0:16] = C[0:16] - added
//                                                       C[16:32] = C[16:32] - added
// Sums with the same vectors of B share a correction: a tile of MR rows computes it once instead of MR times. The
// subtractions are once per run of straight-line code, or after the outermost loop that does nothing but repeat it:
//
//   for k: C[0:16] = dot_add(C[0:16], a[k], B[k])     =>     added = 0
//                                                            for k: added = dot_add(...); C[0:16] = dot_add(...)
//                                                            C[0:16] = C[0:16] - added
//
// An unsigned byte a with its sign bit flipped is a - 128, signed: what is taken off is the sum of -128 * b.
//
// Every step is exact modulo 2^32.
// It runs after padding was skipped: a term that is zero before would not be one after.
#pragma once

#include "ir/function.h"
#include "target/target.h"

namespace tilewright {

Function LowerSignedDots(const Function& function, const Target& target);

}  // namespace tilewright
