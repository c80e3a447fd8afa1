#include "base/rank_correlation.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/check.h"

namespace tilewright {
namespace {

std::vector<double> Ranks(std::span<const double> values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (size_t first = 0; first < order.size();) {
    size_t end = first;
    while (end < order.size() && values[order[end]] == values[order[first]]) ++end;
    for (size_t i = first; i < end; ++i) ranks[order[i]] = static_cast<double>(first + end - 1) / 2;
    first = end;
  }
  return ranks;
}

}  // namespace

double RankCorrelation(std::span<const double> a, std::span<const double> b) {
  TW_CHECK(a.size() == b.size());
  const std::vector<double> ranks_a = Ranks(a), ranks_b = Ranks(b);
  const double mean = (static_cast<double>(a.size()) - 1) / 2;
  double covariance = 0, variance_a = 0, variance_b = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    covariance += (ranks_a[i] - mean) * (ranks_b[i] - mean);
    variance_a += (ranks_a[i] - mean) * (ranks_a[i] - mean);
    variance_b += (ranks_b[i] - mean) * (ranks_b[i] - mean);
  }
  return variance_a == 0 || variance_b == 0 ? 0 : covariance / std::sqrt(variance_a * variance_b);
}

}  // namespace tilewright
