// Rounding to the floating-point formats of the IR, and their bit patterns.
#pragma once

#include <cstdint>

#include "ir/data_type.h"

namespace tilewright {

// `value` rounded to nearest, ties to even, to a scalar float type; kept as a double (every format fits into one).
// Overflow gives infinity, in e4m3 (which has none) NaN. Subnormals are kept.
double RoundTo(DataType type, double value);

// A 64-bit pattern of an integer of type `from`, rounded once to a scalar float type.
double RoundIntegerTo(DataType type, DataType from, int64_t bits);

// The next value of `type` after `from` in the direction of `to`, both values of the type, as C's nextafter.
double NextAfter(DataType type, double from, double to);

// The bits of a value that is representable in `type`, in the low bits of the result, and back.
uint64_t ToBits(DataType type, double value);
double FromBits(DataType type, uint64_t bits);

}  // namespace tilewright
