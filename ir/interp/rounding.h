// Fast rounding and memory formats for the hot path; the general case is ir/float_format.h.
#pragma once

#include <bit>
#include <cstdint>

#include "ir/float_format.h"

namespace tilewright::interp::internal {

// RoundTo for formats with at most 10 fraction bits. Numbers in the normal range are rounded on the bits of the double:
// adding just under half of the last kept place, and the tie's parity, carries into the exponent by itself.
inline double RoundNarrow(DataType type, int mantissa_bits, int min_exponent, int max_exponent, double value) {
  uint64_t bits = std::bit_cast<uint64_t>(value);
  const int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023;
  // The topmost binade goes the slow way: it may overflow.
  if (exponent < min_exponent || exponent >= max_exponent) return RoundTo(type, value);
  const int drop = 52 - mantissa_bits;
  bits += (uint64_t{1} << (drop - 1)) - 1 + (bits >> drop & 1);
  bits &= ~((uint64_t{1} << drop) - 1);
  return std::bit_cast<double>(bits);
}

inline double RoundFast(DataType type, double value) {
  switch (type.code()) {
    case TypeCode::kFloat:
      if (type.bits() == 64) return value;
      if (type.bits() == 32) return static_cast<double>(static_cast<float>(value));
      return RoundNarrow(type, 10, -14, 15, value);
    case TypeCode::kBFloat:
      return RoundNarrow(type, 7, -126, 127, value);
    case TypeCode::kE4M3:
      return RoundNarrow(type, 3, -6, 8, value);
    default:
      return RoundNarrow(type, 2, -14, 15, value);
  }
}

// bfloat16 is the upper half of a float.
inline double LoadBFloat16(uint16_t bits) {
  return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits) << 16));
}

// IEEE binary16 whose exponent field is in between is a float of another bias.
inline double LoadFloat16(uint16_t bits) {
  const uint32_t exponent = bits >> 10 & 0x1f;
  if (exponent == 0 || exponent == 0x1f) return FromBits(DataType::Float(16), bits);
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  return static_cast<double>(std::bit_cast<float>(sign | (exponent + 112) << 23 | (bits & 0x3ffu) << 13));
}

}  // namespace tilewright::interp::internal
