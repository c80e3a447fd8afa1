// Unsigned bytes in vector registers that are known to be below 128 are masked where they are multiplied.
//
//   W: uint8 in registers                                   W: uint8 in registers
//   W[0:32] = Q[0:32] & 15                             =>   W[0:32] = Q[0:32] & 15
//   C[0:8] = dot_add(C[0:8], a, W[0:32])                    C[0:8] = dot_add(C[0:8], a, W[0:32] & 127)
// vpmaddubsw adds pairs of byte products in 16 bits and saturates if bytes are larger: code generation uses it where it
// finds the mask. The mask does not change any value, and LLVM drops it.
//
// For register buffers all of whose elements are masked, shifted or constant when they are stored, on targets with such
// an instruction and without one that adds four products.
#pragma once

#include "ir/function.h"
#include "target/target.h"

namespace tilewright {

Function MaskBytes(const Function& function, const Target& target);

}  // namespace tilewright
