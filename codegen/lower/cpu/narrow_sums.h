// Products of bytes that are known to be small are added up in 16 bits as long as these hold the sums.
//
//   W: uint8 in registers, below 16                        P: int16 in registers
//   C[0:8] = dot_add(C[0:8], a0, W[0:32] & 15)         =>  P[0:16] = dot_add(0, a0, W[0:32] & 15)
//   C[0:8] = dot_add(C[0:8], a1, W[32:64] & 15)            P[0:16] = dot_add(P[0:16], a1, W[32:64] & 15)
//                                                          C[0:8] = dot_add(C[0:8], P[0:16], 1)
//
// A target that adds pairs of such products in 16 bits (vpmaddubsw) takes as many instructions to widen the pairs as to
// multiply. A pair of bytes below 16 and signed ones is at least -3,840: eight of these are added before they are
// widened, all of a block of 32 weights of four bits.
//
// Sums wait throughout loops of so few iterations; longer loops become two.
//
// The sums are in registers. Masks say how large bytes are (codegen/lower/cpu/mask_bytes.h).
#pragma once

#include "ir/function.h"
#include "target/target.h"

namespace tilewright {

Function NarrowSums(const Function& function, const Target& target);

}  // namespace tilewright
