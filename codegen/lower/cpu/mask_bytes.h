// Unsigned bytes in vector registers that are known to be below 128 are masked where they are multiplied.
//
//   W: uint8 in registers                                   W: uint8 in registers
//   W[0:32] = Q[0:32] & 15                             =>   W[0:32] = Q[0:32] & 15
//   C[0:8] = dot_add(C[0:8], a, W[0:32])                    C[0:8] = dot_add(C[0:8], a, W[0:32] & 15)
//
// An instruction that adds pairs of products of bytes in 16 bits saturates for others (vpmaddubsw): code generation
// takes it where the mask stands, which has the bits that the bytes may have. The mask changes nothing, and LLVM drops
// it.
//
// For register buffers all of whose elements are masked, shifted or constant when they are stored, on targets with such
// an instruction and without one that adds four products.
#pragma once

#include "ir/function.h"
#include "target/target.h"

namespace tilewright {

// Whether the target has an instruction that adds pairs of such products, and none that adds four.
bool AddsPairsOfBytes(const Target& target);

Function MaskBytes(const Function& function, const Target& target);

}  // namespace tilewright
