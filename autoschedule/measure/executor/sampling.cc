#include "autoschedule/measure/executor/sampling.h"

#include <algorithm>
#include <cmath>

#include "base/statistics.h"

namespace tilewright {

bool MedianIsKnown(std::vector<int64_t> samples, double half_width) {
  const auto n = static_cast<double>(samples.size());
  const double spread = 0.98 * std::sqrt(n);
  const double low = std::floor(n / 2 - spread) - 1, high = std::ceil(n / 2 + spread);
  if (low < 0 || high >= n) return false;
  std::sort(samples.begin(), samples.end());
  const auto at = [&](double place) { return static_cast<double>(samples[static_cast<size_t>(place)]); };
  return at(high) - at(low) <= 2 * half_width * at(std::floor(n / 2));
}

void LevelRounds(std::vector<std::vector<std::vector<double>>>& samples) {
  if (samples.size() < 2) return;
  // By round, of each candidate: how much slower than usual.
  std::vector<std::vector<double>> slower(samples[0].size());
  for (const std::vector<std::vector<double>>& rounds : samples) {
    std::vector<double> medians;
    for (const std::vector<double>& round : rounds) medians.push_back(Median(round));
    const double usual = Median(medians);
    for (size_t r = 0; r < medians.size(); ++r) slower[r].push_back(medians[r] / usual);
  }
  for (std::vector<std::vector<double>>& rounds : samples) {
    for (size_t r = 0; r < rounds.size(); ++r) {
      const double factor = Median(slower[r]);
      for (double& seconds : rounds[r]) seconds /= factor;
    }
  }
}

std::vector<int64_t> Sample(const std::function<void()>& prepare, const std::function<void()>& run,
                            const SamplingOptions& options, const std::function<int64_t()>& now) {
  for (const int64_t start = now(); now() - start < options.warmup_nanoseconds;) {
    prepare();
    run();
  }
  std::vector<int64_t> samples;
  int64_t fastest = INT64_MAX;
  // Looking at the samples takes time too, so it is done when there are a quarter more than the last time.
  size_t next_look = 8;
  const int64_t begin = now();
  for (;;) {
    prepare();
    const int64_t start = now();
    run();
    const int64_t end = now();
    samples.push_back(end - start);
    fastest = std::min(fastest, end - start);
    const int64_t spent = end - begin;
    if (spent >= options.most_nanoseconds) break;
    if (samples.size() >= static_cast<size_t>(options.most_samples)) break;
    if (options.give_up_nanoseconds > 0 && samples.size() == 3 && fastest > options.give_up_nanoseconds) break;
    if (samples.size() < next_look || spent < options.least_nanoseconds) continue;
    if (MedianIsKnown(samples, options.half_width)) break;
    next_look = samples.size() + samples.size() / 4 + 1;
  }
  return samples;
}

}  // namespace tilewright
