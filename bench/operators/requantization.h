// Back from 32-bit sums, or what was made of them in f32, to 8-bit integers, as layers of quantized networks do it:
//
//   y = clamp(round(f32(x) * scale), least, greatest)        round: to the nearest integer, ties to even
//
// The scale is one number for the whole tensor, zero points are 0 and there is no bias. It is chosen from the shape so
// that the outputs of the seeded inputs (operands.h) fill the range of their type, with a few beyond its ends where x
// goes there.
//
// Implementations round at different moments (f32 or exactly), so where the exact x * scale lies within rounding errors
// of a half, both neighbours are right.
#pragma once

#include "bench/operators/problem.h"

namespace tilewright::bench {

struct Requantization {
  float scale;
  int least, greatest;
};

// The requantization of a workload with IsRequantized(dtype).
Requantization RequantizationOf(const Workload& workload);

// By how much y may differ from x * scale, clamped, where x is exact: half a step and the errors of the conversion to
// f32 and of the product, which are 2^-24 of at most 256 each.
inline constexpr double kRequantizationTolerance = 0.5 + 0x1p-15;

}  // namespace tilewright::bench
