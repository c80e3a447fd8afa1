// What a processor does with elements of a type by instructions of its own: floating-point types it has no arithmetic
// for are converted to float32 for each operation, and back; elements it has no gather for are loaded one by one; bytes
// it does not shift one by one are shifted in wider lanes.
#pragma once

#include <string_view>

#include "target/target.h"

namespace tilewright {

// Whether a core adds and multiplies numbers of the type ("float16") without conversions.
bool HasArithmeticOf(const Target& target, std::string_view type);

// Whether one instruction shifts the bytes of a vector, each by an amount of its own.
bool ShiftsBytes(const Target& target);

// Whether one instruction loads elements of so many bits from places of their own into the lanes of a vector.
bool HasGatherOf(const Target& target, int bits);

}  // namespace tilewright
