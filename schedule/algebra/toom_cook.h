// The coefficients with which m outputs of a sum over a window of r, y[i] = sum over k of d[i + k] * g[k], take
// m + r - 1 products:
//
//   y = output * ((kernel * g) . (input * d))        . multiplies element by element
//
// They interpolate a polynomial of degree m + r - 2 at that many points and infinity (Toom and Cook; its transpose for
// windows: Winograd).
#pragma once

#include <cstdint>
#include <vector>

namespace tilewright {

// How many products there are points for.
inline constexpr int64_t kMostToomCookProducts = 8;

struct ToomCook {
  using Matrix = std::vector<std::vector<double>>;  // rows of what is computed; each entry is rounded once
  Matrix input;                                     // m + r - 1 of as many
  Matrix kernel;                                    // m + r - 1 of r
  Matrix output;                                    // m of m + r - 1
};

// `outputs` and `window`: 1 or more, with kMostToomCookProducts products at most.
ToomCook ToomCookCoefficients(int64_t outputs, int64_t window);

}  // namespace tilewright
