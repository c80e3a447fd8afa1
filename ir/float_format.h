// Rounding to the floating-point formats of the IR, and their bit patterns.
#pragma once

#include <cstdint>

#include "ir/data_type.h"

namespace tilewright {

// `value` rounded to nearest, ties to even, to a scalar float type; kept as a double (every format fits into one).
// Overflow gives infinity, in e4m3 (which has none) NaN. Subnormals are kept.
double RoundTo(DataType type, double value);

// The bits of a value that is representable in `type`, in the low bits of the result, and back.
uint64_t ToBits(DataType type, double value);
double FromBits(DataType type, uint64_t bits);

}  // namespace tilewright
