// flip_sign_bit: a buffer of bytes that a block writes holds those of the other sign, with the sign bit flipped.
//
//   B = T.alloc_buffer((16,), "int8")                    B = T.alloc_buffer((16,), "uint8")
//   B[vi] = A[vi]                                  ->    B[vi] = T.flip_sign_bit(T.reinterpret("uint8", A[vi]))
//   C[vi] = C[vi] + T.Cast("int32", B[vi]) * W[vi]       C[vi] = C[vi] + (T.Cast("int32", B[vi]) - 128) * W[vi]
//
// Why: instructions that multiply unsigned by signed bytes multiply signed ones this way, and those for signed bytes
// unsigned ones; split_offset makes of the 128, which the flipped bit adds or takes off, a sum of the other factors
// alone.
//
// No value changes. Where an element is converted to a wider signed integer, what the bit adds is taken off there;
// elsewhere the bit is flipped back.
//
// Conditions: a block allocates the buffer; it holds bytes; no block takes the address
// of the buffer or of a part of it, and no access is a vector's. Parts that blocks match change with it.
//
// Ids: all survive.
#pragma once

#include <cstdint>

#include "ir/function.h"
#include "schedule/core/refusal.h"

namespace tilewright {

Outcome<Function> FlipSignBit(const Function& function, uint32_t block, int write_index);

}  // namespace tilewright
