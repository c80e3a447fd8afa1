#include "ir/arith/bounds.h"

#include <algorithm>

namespace tilewright::arith {
namespace {

bool IsInf(int64_t v) { return v == kPosInf || v == kNegInf; }

// The quotient of two ends; an infinite dividend stays infinite, an infinite divisor gives 0 or -1 (floor).
int64_t FloorDivEnd(int64_t a, int64_t b) {
  if (IsInf(a)) return (a == kPosInf) == (b > 0) ? kPosInf : kNegInf;
  if (IsInf(b)) return a == 0 || (a > 0) == (b > 0) ? 0 : -1;
  return b == -1 ? SaturatingMul(a, -1) : FloorDivInt(a, b);
}
int64_t TruncDivEnd(int64_t a, int64_t b) {
  if (IsInf(a)) return (a == kPosInf) == (b > 0) ? kPosInf : kNegInf;
  if (IsInf(b)) return 0;
  return b == -1 ? SaturatingMul(a, -1) : a / b;
}

template <class DivEnd>
Bounds DivBounds(Bounds a, Bounds b, DivEnd div) {
  // Division by zero does not happen in a valid program: the divisor's interval is taken without zero.
  if (b.min == 0) b.min = 1;
  if (b.max == 0) b.max = -1;
  if (b.min > b.max) return {};
  if (b.min < 0 && b.max > 0) {
    // Both -1 and 1 are possible: the magnitude does not grow.
    Bounds negated = a * Bounds::Point(-1);
    return Union(Union(a, negated), Bounds::Point(0));
  }
  int64_t corners[] = {div(a.min, b.min), div(a.min, b.max), div(a.max, b.min), div(a.max, b.max)};
  return {*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4)};
}

}  // namespace

int64_t SaturatingAdd(int64_t a, int64_t b) {
  if (IsInf(a)) return a;
  if (IsInf(b)) return b;
  int64_t sum;
  if (__builtin_add_overflow(a, b, &sum)) return a > 0 ? kPosInf : kNegInf;
  return sum;
}

int64_t SaturatingMul(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  int64_t product;
  if (IsInf(a) || IsInf(b) || __builtin_mul_overflow(a, b, &product)) {
    return (a > 0) == (b > 0) ? kPosInf : kNegInf;
  }
  return product;
}

Bounds operator+(Bounds a, Bounds b) { return {SaturatingAdd(a.min, b.min), SaturatingAdd(a.max, b.max)}; }
Bounds operator-(Bounds a, Bounds b) { return a + b * Bounds::Point(-1); }
Bounds operator*(Bounds a, Bounds b) {
  int64_t corners[] = {SaturatingMul(a.min, b.min), SaturatingMul(a.min, b.max), SaturatingMul(a.max, b.min),
                       SaturatingMul(a.max, b.max)};
  return {*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4)};
}

Bounds FloorDivBounds(Bounds a, Bounds b) { return DivBounds(a, b, FloorDivEnd); }
Bounds TruncDivBounds(Bounds a, Bounds b) { return DivBounds(a, b, TruncDivEnd); }

Bounds FloorModBounds(Bounds a, Bounds b) {
  if (b.min > 0) {
    if (b.IsPoint() && a.IsFinite() && FloorDivInt(a.min, b.min) == FloorDivInt(a.max, b.min)) {
      return {FloorModInt(a.min, b.min), FloorModInt(a.max, b.min)};
    }
    Bounds result{0, b.max == kPosInf ? kPosInf : b.max - 1};
    if (a.min >= 0) result.max = std::min(result.max, a.max);
    return result;
  }
  return {b.min >= 0 ? 0 : SaturatingAdd(b.min, 1), b.max <= 0 ? 0 : SaturatingAdd(b.max, -1)};
}

Bounds TruncModBounds(Bounds a, Bounds b) {
  int64_t largest = std::max(SaturatingMul(b.min, -1), b.max);
  Bounds result{SaturatingAdd(SaturatingMul(largest, -1), 1), SaturatingAdd(largest, -1)};
  if (a.min >= 0) result = {0, std::min(result.max, a.max)};
  if (a.max <= 0) result = {std::max(result.min, a.min), 0};
  return result;
}

Bounds Union(Bounds a, Bounds b) { return {std::min(a.min, b.min), std::max(a.max, b.max)}; }
Bounds Intersect(Bounds a, Bounds b) { return {std::max(a.min, b.min), std::min(a.max, b.max)}; }

}  // namespace tilewright::arith
