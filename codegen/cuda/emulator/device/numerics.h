// Numbers as docs/numerics.md defines them: plain C++ that both sides of kernel.h share.
//
// A value of a narrow floating-point type is a float that the type can represent; `to_float` widens what memory holds,
// `narrow` rounds a float to the type, `round_to` does both.
#pragma once

// A function of <math.h>, which neither side includes.
#ifdef __CUDACC__
#define TW_MATH(name) ::name
#else
#define TW_MATH(name) __builtin_##name
#endif

namespace tw {

// Several elements that are loaded or stored at once.
template <class T, int kLanes>
struct alignas(sizeof(T) * kLanes) Vec {
  T lane[kLanes];
  TW_DEVICE const T& operator[](int i) const { return lane[i]; }
};

template <class To, class From>
TW_DEVICE To bit_cast(const From& from) {
  static_assert(sizeof(To) == sizeof(From), "the same bits as another type");
  To to;
  TW_MATH(memcpy)(&to, &from, sizeof(To));
  return to;
}

// Quotients and remainders that round down.
template <class T>
TW_DEVICE T floor_div(T a, T b) {
  const T quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}
template <class T>
TW_DEVICE T floor_mod(T a, T b) {
  const T rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
// The second operand where one of the two is NaN.
template <class T>
TW_DEVICE T min_of(T a, T b) {
  return a < b ? a : b;
}
template <class T>
TW_DEVICE T max_of(T a, T b) {
  return a > b ? a : b;
}

// The same where `b` is a number and `a` such a choice: compilers make max_of(max_of(b, x), b) max_of(b, x), which is
// NaN where x is.
TW_DEVICE float min_of_choice(float a, float b) { return TW_MATH(fminf)(a, b); }
TW_DEVICE float max_of_choice(float a, float b) { return TW_MATH(fmaxf)(a, b); }
TW_DEVICE double min_of_choice(double a, double b) { return TW_MATH(fmin)(a, b); }
TW_DEVICE double max_of_choice(double a, double b) { return TW_MATH(fmax)(a, b); }
// The same where `b` is the zero that fmin or fmax may not give beside the other one.
TW_DEVICE float min_of_choice_or_zero(float a, float b) { return a == b ? b : min_of_choice(a, b); }
TW_DEVICE float max_of_choice_or_zero(float a, float b) { return a == b ? b : max_of_choice(a, b); }
TW_DEVICE double min_of_choice_or_zero(double a, double b) { return a == b ? b : min_of_choice(a, b); }
TW_DEVICE double max_of_choice_or_zero(double a, double b) { return a == b ? b : max_of_choice(a, b); }

// The float next to the value whose last bit is odd, unless the value is a float: rounding it further gives what
// rounding the value once gives.
TW_DEVICE float odd_float(double value) {
  const float nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || value != value) return nearest;
  uint32_t bits = bit_cast<uint32_t>(nearest);
  const double magnitude = value < 0 ? -value : value;
  if (static_cast<double>(nearest < 0 ? -nearest : nearest) > magnitude) --bits;
  return bit_cast<float>(bits | 1u);
}

// The same from integers to double.
TW_DEVICE double odd_double(uint64_t value) {
  uint64_t low = 0;
  int shift = 0;
  while ((value >> shift) >> 53 != 0) low |= (value >> shift++) & 1;
  return TW_MATH(ldexp)(static_cast<double>((value >> shift) | (low != 0 ? 1u : 0u)), shift);
}
TW_DEVICE double odd_double(int64_t value) {
  const uint64_t magnitude = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  return value < 0 ? -odd_double(magnitude) : odd_double(magnitude);
}

// The 8-bit formats: kMantissa bits of fraction, the exponent's bias, the largest finite magnitude's bits.
template <int kMantissa, int kBias>
TW_DEVICE float float_of_byte(uint8_t bits) {
  const int exponent = (bits & 0x7f) >> kMantissa, fraction = bits & ((1 << kMantissa) - 1);
  const float magnitude =
      exponent == 0 ? TW_MATH(ldexpf)(static_cast<float>(fraction), 1 - kBias - kMantissa)
                    : TW_MATH(ldexpf)(static_cast<float>(fraction + (1 << kMantissa)), exponent - kBias - kMantissa);
  return (bits & 0x80) != 0 ? -magnitude : magnitude;
}
// The bits of the nearest number, ties to even, as if the exponent had no end.
template <int kMantissa, int kBias>
TW_DEVICE uint32_t byte_of_float(float magnitude) {
  const int exponent = static_cast<int>(bit_cast<uint32_t>(magnitude) >> 23) - 127;
  const int least = 1 - kBias, used = exponent < least ? least : exponent;
  // In units of the last place; a carry goes into the exponent by itself.
  const float scaled = TW_MATH(rintf)(TW_MATH(ldexpf)(magnitude, kMantissa - used));
  const uint32_t fraction = static_cast<uint32_t>(scaled);
  return (static_cast<uint32_t>(used - least) << kMantissa) + fraction;
}

TW_DEVICE float byte_to_float(e4m3 v) {
  return (v.bits & 0x7f) == 0x7f ? bit_cast<float>(0x7fc00000u) : float_of_byte<3, 7>(v.bits);
}
TW_DEVICE float byte_to_float(e5m2 v) {
  if ((v.bits & 0x7c) != 0x7c) return float_of_byte<2, 15>(v.bits);
  const uint32_t infinite = (v.bits & 3) != 0 ? 0x7fc00000u : 0x7f800000u;
  return bit_cast<float>(infinite | static_cast<uint32_t>(v.bits & 0x80) << 24);
}

// What overflows is infinite; NaN in e4m3, which has no infinities.
template <class T>
TW_DEVICE T narrow(float value);
template <>
TW_DEVICE f16 narrow<f16>(float value) {
  return to_f16(value);
}
template <>
TW_DEVICE bf16 narrow<bf16>(float value) {
  return to_bf16(value);
}
template <>
TW_DEVICE e4m3 narrow<e4m3>(float value) {
  const uint32_t sign = bit_cast<uint32_t>(value) >> 24 & 0x80;
  const float magnitude = TW_MATH(fabsf)(value);
  if (!(magnitude <= 464.0f)) return {static_cast<uint8_t>(sign | 0x7f)};
  return {static_cast<uint8_t>(sign | byte_of_float<3, 7>(magnitude))};
}
template <>
TW_DEVICE e5m2 narrow<e5m2>(float value) {
  const uint32_t sign = bit_cast<uint32_t>(value) >> 24 & 0x80;
  const float magnitude = TW_MATH(fabsf)(value);
  if (magnitude != magnitude) return {static_cast<uint8_t>(sign | 0x7e)};
  if (magnitude >= 61440.0f) return {static_cast<uint8_t>(sign | 0x7c)};
  return {static_cast<uint8_t>(sign | byte_of_float<2, 15>(magnitude))};
}

TW_DEVICE float widen(f16 v) { return to_float(v); }
TW_DEVICE float widen(bf16 v) { return to_float(v); }
TW_DEVICE float widen(e4m3 v) { return byte_to_float(v); }
TW_DEVICE float widen(e5m2 v) { return byte_to_float(v); }

template <class T>
TW_DEVICE float round_to(float value) {
  return widen(narrow<T>(value));
}

// Functions of floating point, by one name for both widths.
#define TW_FUNCTION(name, float_name, double_name)                 \
  TW_DEVICE float name(float v) { return TW_MATH(float_name)(v); } \
  TW_DEVICE double name(double v) { return TW_MATH(double_name)(v); }
#define TW_FUNCTION2(name, float_name, double_name)                            \
  TW_DEVICE float name(float a, float b) { return TW_MATH(float_name)(a, b); } \
  TW_DEVICE double name(double a, double b) { return TW_MATH(double_name)(a, b); }
TW_FUNCTION(exp, expf, exp)
TW_FUNCTION(exp2, exp2f, exp2)
TW_FUNCTION(exp10, exp10f, exp10)
TW_FUNCTION(log, logf, log)
TW_FUNCTION(log2, log2f, log2)
TW_FUNCTION(log10, log10f, log10)
TW_FUNCTION(log1p, log1pf, log1p)
TW_FUNCTION(sqrt, sqrtf, sqrt)
TW_FUNCTION(sin, sinf, sin)
TW_FUNCTION(cos, cosf, cos)
TW_FUNCTION(tan, tanf, tan)
TW_FUNCTION(asin, asinf, asin)
TW_FUNCTION(acos, acosf, acos)
TW_FUNCTION(atan, atanf, atan)
TW_FUNCTION(sinh, sinhf, sinh)
TW_FUNCTION(cosh, coshf, cosh)
TW_FUNCTION(tanh, tanhf, tanh)
TW_FUNCTION(asinh, asinhf, asinh)
TW_FUNCTION(acosh, acoshf, acosh)
TW_FUNCTION(atanh, atanhf, atanh)
TW_FUNCTION(erf, erff, erf)
TW_FUNCTION(floor, floorf, floor)
TW_FUNCTION(ceil, ceilf, ceil)
TW_FUNCTION(trunc, truncf, trunc)
TW_FUNCTION(round_even, rintf, rint)
TW_FUNCTION(round_away, roundf, round)
TW_FUNCTION(magnitude, fabsf, fabs)
TW_FUNCTION2(pow, powf, pow)
TW_FUNCTION2(atan2, atan2f, atan2)
TW_FUNCTION2(hypot, hypotf, hypot)
TW_FUNCTION2(fmod, fmodf, fmod)
TW_FUNCTION2(copysign, copysignf, copysign)
#undef TW_FUNCTION
#undef TW_FUNCTION2
TW_DEVICE float multiply_add(float a, float b, float c) { return TW_MATH(fmaf)(a, b, c); }
TW_DEVICE double multiply_add(double a, double b, double c) { return TW_MATH(fma)(a, b, c); }
template <class T>
TW_DEVICE T rsqrt(T v) {
  return T(1) / sqrt(v);
}
// exp(v) / (1 + exp(v)) for negative v, where 1 + exp(-v) overflows before the result is zero.
template <class T>
TW_DEVICE T sigmoid(T v) {
  const T e = exp(-magnitude(v));
  return (v < 0 ? e : T(1)) / (T(1) + e);
}
template <class T>
TW_DEVICE bool is_nan(T v) {
  return v != v;
}
template <class T>
TW_DEVICE bool is_inf(T v) {
  return v == v && v - v != v - v;
}
template <class T>
TW_DEVICE bool is_finite(T v) {
  return v - v == v - v;
}
template <class T>
TW_DEVICE T absolute(T v) {
  return v < 0 ? static_cast<T>(-v) : v;
}

// value * 2^n. Beyond 5000 doublings or halvings every number is infinite or zero.
TW_DEVICE double load_exponent(double value, int64_t n) {
  return TW_MATH(ldexp)(value, static_cast<int>(n > 5000 ? 5000 : n < -5000 ? -5000 : n));
}
TW_DEVICE float load_exponent(float value, int64_t n) {
  return TW_MATH(ldexpf)(value, static_cast<int>(n > 5000 ? 5000 : n < -5000 ? -5000 : n));
}

// The next number of the type from `from` towards `to`, by the bits of both. Those of magnitudes are ordered as the
// magnitudes are.
template <class Bits>
TW_DEVICE Bits next_bits(Bits from, Bits to, bool less, bool equal, bool zero, bool positive) {
  constexpr Bits kSign = static_cast<Bits>(Bits(1) << (sizeof(Bits) * 8 - 1));
  if (equal) return to;
  if (zero) return static_cast<Bits>((to & kSign) | 1);
  return static_cast<Bits>(less == positive ? from + 1 : from - 1);
}
TW_DEVICE float next_after(float from, float to) {
  if (from != from || to != to) return from + to;
  return bit_cast<float>(
      next_bits(bit_cast<uint32_t>(from), bit_cast<uint32_t>(to), from < to, from == to, from == 0, from > 0));
}
TW_DEVICE double next_after(double from, double to) {
  if (from != from || to != to) return from + to;
  return bit_cast<double>(
      next_bits(bit_cast<uint64_t>(from), bit_cast<uint64_t>(to), from < to, from == to, from == 0, from > 0));
}
template <class T>
TW_DEVICE float next_narrow(float from, float to) {
  if (from != from || to != to) return from + to;
  T next = narrow<T>(from);
  next.bits = next_bits(next.bits, narrow<T>(to).bits, from < to, from == to, from == 0, from > 0);
  return widen(next);
}

// Bits of the 32 or 64-bit pattern.
TW_DEVICE int count_ones(uint64_t v) {
  int count = 0;
  for (; v != 0; v &= v - 1) ++count;
  return count;
}
TW_DEVICE int leading_zeros(uint64_t v, int bits) {
  int count = 0;
  for (int i = bits - 1; i >= 0 && (v >> i & 1) == 0; --i) ++count;
  return count;
}
// The low `kBits` bits with their sign.
template <int kBits, class T>
TW_DEVICE T sign_extend(T v) {
  return static_cast<T>(static_cast<T>(v << (sizeof(T) * 8 - kBits)) >> (sizeof(T) * 8 - kBits));
}

}  // namespace tw
