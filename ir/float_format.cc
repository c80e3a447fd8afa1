#include "ir/float_format.h"

#include <bit>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace tilewright {
namespace {

struct Format {
  int exponent_bits;
  int mantissa_bits;
  bool has_infinity;
};

Format FormatOf(DataType type) {
  switch (type.code()) {
    case TypeCode::kFloat:
      if (type.bits() == 16) return {5, 10, true};
      if (type.bits() == 32) return {8, 23, true};
      return {11, 52, true};
    case TypeCode::kBFloat:
      return {8, 7, true};
    case TypeCode::kE4M3:
      return {4, 3, false};
    case TypeCode::kE5M2:
      return {5, 2, true};
    default:
      TW_CHECK(false) << type.ToString() << " is not a floating-point type";
      return {};
  }
}

}  // namespace

double RoundTo(DataType type, double value) {
  if (type == DataType::Float(64) || std::isnan(value) || value == 0) return value;
  if (type == DataType::Float(32)) return static_cast<float>(value);
  Format format = FormatOf(type);
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  // e4m3 uses its topmost exponent for numbers; only the all-ones mantissa there is NaN.
  const int max_exponent = format.has_infinity ? bias : bias + 1;
  const double overflow =
      format.has_infinity ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  if (std::isinf(value)) return std::copysign(overflow, value);
  int exponent = std::ilogb(value);
  if (exponent < 1 - bias) exponent = 1 - bias;  // subnormal: fixed spacing
  const double spacing = std::ldexp(1.0, exponent - format.mantissa_bits);
  const double rounded = std::nearbyint(value / spacing) * spacing;
  const double largest = format.has_infinity ? std::ldexp(2.0 - std::ldexp(1.0, -format.mantissa_bits), max_exponent)
                                             : std::ldexp(2.0 - std::ldexp(2.0, -format.mantissa_bits), max_exponent);
  return std::fabs(rounded) > largest ? std::copysign(overflow, value) : rounded;
}

uint64_t ToBits(DataType type, double value) {
  if (type == DataType::Float(64)) return std::bit_cast<uint64_t>(value);
  if (type == DataType::Float(32)) return std::bit_cast<uint32_t>(static_cast<float>(value));
  Format format = FormatOf(type);
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const uint64_t sign = static_cast<uint64_t>(std::signbit(value)) << (format.exponent_bits + format.mantissa_bits);
  const uint64_t exponent_ones = (uint64_t{1} << format.exponent_bits) - 1;
  const uint64_t mantissa_ones = (uint64_t{1} << format.mantissa_bits) - 1;
  if (std::isnan(value)) {
    const uint64_t quiet = format.has_infinity ? uint64_t{1} << (format.mantissa_bits - 1) : mantissa_ones;
    return sign | exponent_ones << format.mantissa_bits | quiet;
  }
  if (std::isinf(value)) return sign | exponent_ones << format.mantissa_bits;
  if (value == 0) return sign;
  const double magnitude = std::fabs(value);
  const int exponent = std::ilogb(magnitude);
  if (exponent < 1 - bias) {
    return sign | static_cast<uint64_t>(std::ldexp(magnitude, bias - 1 + format.mantissa_bits));
  }
  const auto mantissa = static_cast<uint64_t>(std::ldexp(magnitude, format.mantissa_bits - exponent)) & mantissa_ones;
  return sign | static_cast<uint64_t>(exponent + bias) << format.mantissa_bits | mantissa;
}

double FromBits(DataType type, uint64_t bits) {
  if (type == DataType::Float(64)) return std::bit_cast<double>(bits);
  if (type == DataType::Float(32)) return std::bit_cast<float>(static_cast<uint32_t>(bits));
  Format format = FormatOf(type);
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const int exponent_ones = (1 << format.exponent_bits) - 1;
  const uint64_t mantissa_ones = (uint64_t{1} << format.mantissa_bits) - 1;
  const bool negative = (bits >> (format.exponent_bits + format.mantissa_bits)) & 1;
  const int exponent = static_cast<int>(bits >> format.mantissa_bits) & exponent_ones;
  const uint64_t mantissa = bits & mantissa_ones;
  double magnitude;
  if (exponent == exponent_ones && (format.has_infinity || mantissa == mantissa_ones)) {
    magnitude = format.has_infinity && mantissa == 0 ? std::numeric_limits<double>::infinity()
                                                     : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    magnitude = std::ldexp(static_cast<double>(mantissa), 1 - bias - format.mantissa_bits);
  } else {
    magnitude = std::ldexp(static_cast<double>(mantissa | (mantissa_ones + 1)), exponent - bias - format.mantissa_bits);
  }
  return negative ? -magnitude : magnitude;
}

double RoundIntegerTo(DataType type, DataType from, int64_t bits) {
  const bool negative = from.is_int() && bits < 0;
  uint64_t magnitude = negative ? -static_cast<uint64_t>(bits) : static_cast<uint64_t>(bits);
  // The low bits become the one above them: double holds the result, and narrower types round it as they round all
  // bits.
  constexpr uint64_t kLow = 0x7ff;
  if (magnitude >= uint64_t{1} << 53 && type != DataType::Float(64)) {
    magnitude = (magnitude & ~kLow) | ((magnitude & kLow) != 0 ? kLow + 1 : 0);
  }
  const double value = RoundTo(type, static_cast<double>(magnitude));
  return negative ? -value : value;
}

double NextAfter(DataType type, double from, double to) {
  if (std::isnan(from) || std::isnan(to)) return std::numeric_limits<double>::quiet_NaN();
  if (from == to) return to;
  // Magnitudes are ordered as their bits are; the sign is the topmost.
  const uint64_t sign = uint64_t{1} << (type.bits() - 1);
  if (from == 0) return FromBits(type, to < 0 ? sign | 1 : 1);
  const uint64_t bits = ToBits(type, from);
  return FromBits(type, (from < to) == (from > 0) ? bits + 1 : bits - 1);
}

}  // namespace tilewright
