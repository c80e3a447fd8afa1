#include "bench/harness/statistics.h"

#include <algorithm>
#include <cmath>

namespace tilewright::bench {

double Quantile(const std::vector<double>& ascending, double q) {
  const double position = q * static_cast<double>(ascending.size() - 1);
  const size_t below = static_cast<size_t>(position);
  const size_t above = std::min(below + 1, ascending.size() - 1);
  return ascending[below] + (position - static_cast<double>(below)) * (ascending[above] - ascending[below]);
}

Timing Summarize(std::vector<double> samples_ms) {
  if (samples_ms.empty()) return {};
  std::sort(samples_ms.begin(), samples_ms.end());
  return {.median_ms = Quantile(samples_ms, 0.5),
          .p10_ms = Quantile(samples_ms, 0.1),
          .p90_ms = Quantile(samples_ms, 0.9),
          .samples = static_cast<int64_t>(samples_ms.size())};
}

double GeometricMean(const std::vector<double>& values) {
  if (values.empty()) return 0;
  double sum = 0;
  for (double value : values) sum += std::log(value);
  return std::exp(sum / static_cast<double>(values.size()));
}

}  // namespace tilewright::bench
