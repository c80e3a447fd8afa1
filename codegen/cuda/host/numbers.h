// Integers of the host's part of a program, as the text of a launcher computes them.
//
//   Int rows = FloorDiv(m + 127, 128);      rows.value, rows.bad
//
// Sums wrap and a division by zero gives 0, as in codegen/cuda/scalar_code.h, and a number remembers that either
// happened to it: sizes of a whole model are then refused, programs compute what nobody uses.
#pragma once

#include <cstdint>
#include <cstring>

namespace tilewright::cuda::host {

// `value` is the first member: a kernel's parameter is read from the address of the number.
struct Int {
  int64_t value = 0;
  bool bad = false;

  constexpr Int() = default;
  constexpr Int(int64_t number) : value(number) {}  // NOLINT: literals stand in expressions
  constexpr Int(int64_t number, bool is_bad) : value(number), bad(is_bad) {}
  constexpr explicit operator bool() const { return value != 0; }
  // As the driver takes sizes.
  constexpr uint64_t bits() const { return static_cast<uint64_t>(value); }
};

#define TW_CHECKED(op, overflow)                            \
  inline Int operator op(Int a, Int b) {                    \
    int64_t result = 0;                                     \
    const bool wraps = overflow(a.value, b.value, &result); \
    return {result, a.bad || b.bad || wraps};               \
  }
TW_CHECKED(+, __builtin_add_overflow)
TW_CHECKED(-, __builtin_sub_overflow)
TW_CHECKED(*, __builtin_mul_overflow)
#undef TW_CHECKED

#define TW_COMPARED(op) \
  constexpr Int operator op(Int a, Int b) { return {static_cast<int64_t>(a.value op b.value), a.bad || b.bad}; }
TW_COMPARED(==)
TW_COMPARED(!=)
TW_COMPARED(<)
TW_COMPARED(<=)
TW_COMPARED(>)
TW_COMPARED(>=)
TW_COMPARED(&&)
TW_COMPARED(||)
#undef TW_COMPARED
constexpr Int operator!(Int a) { return {static_cast<int64_t>(a.value == 0), a.bad}; }

constexpr bool Divides(Int a, Int b) { return b.value != 0 && !(b.value == -1 && a.value == INT64_MIN); }
constexpr Int operator/(Int a, Int b) { return Divides(a, b) ? Int(a.value / b.value, a.bad || b.bad) : Int(0, true); }
constexpr Int operator%(Int a, Int b) { return Divides(a, b) ? Int(a.value % b.value, a.bad || b.bad) : Int(0, true); }
constexpr Int FloorDiv(Int a, Int b) {
  if (!Divides(a, b)) return {0, true};
  const int64_t down = a.value % b.value != 0 && (a.value < 0) != (b.value < 0) ? 1 : 0;
  return {a.value / b.value - down, a.bad || b.bad};
}
inline Int FloorMod(Int a, Int b) { return Divides(a, b) ? a - FloorDiv(a, b) * b : Int(0, true); }
constexpr Int Min(Int a, Int b) { return {b.value < a.value ? b.value : a.value, a.bad || b.bad}; }
constexpr Int Max(Int a, Int b) { return {b.value > a.value ? b.value : a.value, a.bad || b.bad}; }
// A number of 64 bits without a sign.
struct Unsigned {
  Int number;
  constexpr explicit Unsigned(Int bits_of_it) : number(bits_of_it) {}
};
#define TW_UNSIGNED_COMPARED(op)                                                                     \
  constexpr Int operator op(Unsigned a, Unsigned b) {                                                \
    return {static_cast<int64_t>(a.number.bits() op b.number.bits()), a.number.bad || b.number.bad}; \
  }
TW_UNSIGNED_COMPARED(<)
TW_UNSIGNED_COMPARED(<=)
TW_UNSIGNED_COMPARED(>)
TW_UNSIGNED_COMPARED(>=)
#undef TW_UNSIGNED_COMPARED
#define TW_UNSIGNED_DIVIDED(op)                                                                      \
  constexpr Int operator op(Unsigned a, Unsigned b) {                                                \
    if (b.number.value == 0) return {0, true};                                                       \
    return {static_cast<int64_t>(a.number.bits() op b.number.bits()), a.number.bad || b.number.bad}; \
  }
TW_UNSIGNED_DIVIDED(/)
TW_UNSIGNED_DIVIDED(%)
#undef TW_UNSIGNED_DIVIDED
constexpr Int Min(Unsigned a, Unsigned b) {
  return {(b < a).value != 0 ? b.number.value : a.number.value, a.number.bad || b.number.bad};
}
constexpr Int Max(Unsigned a, Unsigned b) {
  return {(b > a).value != 0 ? b.number.value : a.number.value, a.number.bad || b.number.bad};
}
// Both are computed, one counts.
constexpr Int Select(Int condition, Int yes, Int no) {
  const Int chosen = condition.value != 0 ? yes : no;
  return {chosen.value, condition.bad || chosen.bad};
}
// Whether a condition holds, or cannot be computed.
constexpr bool Holds(Int condition) { return condition.value != 0 || condition.bad; }
// A number as one of fewer bits.
template <int bits, bool is_signed>
constexpr Int WrapTo(Int a) {
  if constexpr (bits >= 64) return a;
  const uint64_t pattern = a.bits() << (64 - bits);
  return {is_signed ? static_cast<int64_t>(pattern) >> (64 - bits) : static_cast<int64_t>(pattern >> (64 - bits)),
          a.bad};
}

inline int64_t RoundUpTo(int64_t multiple, int64_t value) { return (value + multiple - 1) / multiple * multiple; }

// The bits of a float of so many bits of exponent and mantissa (in all `1 + exponent_bits + mantissa_bits`), as those
// of a float of 32 bits. `has_infinity`: the largest exponent stands for infinity and NaN; else only all ones are NaN.
inline uint32_t WidenFloat(uint64_t bits, int exponent_bits, int mantissa_bits, bool has_infinity) {
  const auto mask = [](int count) { return (uint64_t{1} << count) - 1; };
  const auto sign = static_cast<uint32_t>(bits >> (exponent_bits + mantissa_bits) & 1) << 31;
  const uint64_t exponent = bits >> mantissa_bits & mask(exponent_bits);
  uint64_t mantissa = bits & mask(mantissa_bits);
  if (exponent == mask(exponent_bits) && (has_infinity || mantissa == mask(mantissa_bits))) {
    return sign | 0x7f800000u | static_cast<uint32_t>(mantissa << (23 - mantissa_bits));
  }
  int power = static_cast<int>(exponent) - (1 << (exponent_bits - 1)) + 1;
  if (exponent == 0) {
    // A subnormal number of the narrow type; bfloat16's are those of the wide one.
    if (mantissa == 0 || exponent_bits == 8) return sign | static_cast<uint32_t>(mantissa << (23 - mantissa_bits));
    ++power;
    while ((mantissa >> mantissa_bits) == 0) {
      mantissa <<= 1;
      --power;
    }
    mantissa &= mask(mantissa_bits);
  }
  return sign | static_cast<uint32_t>(power + 127) << 23 | static_cast<uint32_t>(mantissa << (23 - mantissa_bits));
}

}  // namespace tilewright::cuda::host
