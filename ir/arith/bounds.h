// Constant bounds of integers: closed intervals of int64 whose ends may be infinite.
//
//   Bounds i{0, 15};
//   i * Bounds::Point(4) + Bounds{0, 3}   // {0, 63}
//
// All arithmetic saturates towards the infinities, so a bound is never wrong, only wide.
#pragma once

#include <cstdint>
#include <limits>

namespace tilewright::arith {

inline constexpr int64_t kPosInf = std::numeric_limits<int64_t>::max();
inline constexpr int64_t kNegInf = std::numeric_limits<int64_t>::min();

struct Bounds {
  int64_t min = kNegInf;
  int64_t max = kPosInf;

  static constexpr Bounds Point(int64_t value) { return {value, value}; }
  constexpr bool IsPoint() const { return min == max && min != kNegInf && min != kPosInf; }
  constexpr bool IsFinite() const { return min != kNegInf && max != kPosInf; }
  constexpr bool Within(int64_t lo, int64_t hi) const { return lo <= min && max <= hi; }
  friend constexpr bool operator==(Bounds a, Bounds b) { return a.min == b.min && a.max == b.max; }
};

// Integer arithmetic that rounds as FloorDiv and FloorMod do; the divisor is not zero.
constexpr int64_t FloorDivInt(int64_t a, int64_t b) {
  int64_t q = a / b;
  return q - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}
constexpr int64_t FloorModInt(int64_t a, int64_t b) {
  int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

// Saturating: an infinite operand or an overflow gives the infinity of the result's sign.
int64_t SaturatingAdd(int64_t a, int64_t b);
int64_t SaturatingMul(int64_t a, int64_t b);

Bounds operator+(Bounds a, Bounds b);
Bounds operator-(Bounds a, Bounds b);
Bounds operator*(Bounds a, Bounds b);
Bounds FloorDivBounds(Bounds a, Bounds b);
Bounds FloorModBounds(Bounds a, Bounds b);
Bounds TruncDivBounds(Bounds a, Bounds b);
Bounds TruncModBounds(Bounds a, Bounds b);
Bounds Union(Bounds a, Bounds b);
Bounds Intersect(Bounds a, Bounds b);  // empty (min > max) when they are disjoint

}  // namespace tilewright::arith
