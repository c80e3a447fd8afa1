// Elements of matrix instructions as floats. Integers of 8 bits are exact, and so are sums of 32 products of them.
// Internal to the emulator.
#pragma once

#include <cstddef>

#include "codegen/cuda/emulator/device/emulated_matrix.h"

namespace tilewright::emulator {

// Bytes of an element of an operand or a sum.
int BytesOf(tw::emu::Type type);

// `count` elements of a type of operands. tf32 takes the upper 19 bits of a float, as hardware does.
void ToFloats(tw::emu::Type type, const void* from, float* to, size_t count);

}  // namespace tilewright::emulator
