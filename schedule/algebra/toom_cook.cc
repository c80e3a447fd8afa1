#include "schedule/algebra/toom_cook.h"

#include <array>
#include <cmath>

namespace tilewright {
namespace {

// Small ones with few bits, so that most coefficients are exact and none is large.
constexpr std::array<double, kMostToomCookProducts - 1> kPoints = {0, 1, -1, 2, -2, 0.5, -0.5};

// The coefficients of the product of (x - point) over the first `points`, but for that numbered `without`; from that of
// x^0.
std::vector<double> RootsAt(size_t points, size_t without) {
  std::vector<double> coefficients = {1};
  for (size_t p = 0; p < points; ++p) {
    if (p == without) continue;
    coefficients.insert(coefficients.begin(), 0);
    for (size_t i = 0; i + 1 < coefficients.size(); ++i) coefficients[i] -= kPoints[p] * coefficients[i + 1];
  }
  return coefficients;
}

}  // namespace

ToomCook ToomCookCoefficients(int64_t outputs, int64_t window) {
  const auto m = static_cast<size_t>(outputs), r = static_cast<size_t>(window), products = m + r - 1;
  const size_t points = products - 1;
  ToomCook result;
  result.output.assign(m, std::vector<double>(products, 0));
  for (size_t p = 0; p < points; ++p) {
    double scale = 1;
    for (size_t other = 0; other < points; ++other) scale *= other == p ? 1 : kPoints[p] - kPoints[other];
    std::vector<double> kernel;
    // Zeros without a sign.
    for (size_t k = 0; k < r; ++k) kernel.push_back(std::pow(kPoints[p], static_cast<double>(k)) / scale + 0.0);
    result.kernel.push_back(std::move(kernel));
    result.input.push_back(RootsAt(points, p));
    result.input.back().resize(products, 0);
    for (size_t i = 0; i < m; ++i) result.output[i][p] = std::pow(kPoints[p], static_cast<double>(i));
  }
  // Infinity.
  result.kernel.emplace_back(r, 0.0).back() = 1;
  result.input.push_back(RootsAt(points, points));
  result.output[m - 1][points] = 1;
  return result;
}

}  // namespace tilewright
