// Order statistics of timed samples.
#pragma once

#include <cstdint>
#include <vector>

namespace tilewright::bench {

struct Timing {
  double median_ms = 0;
  double p10_ms = 0;
  double p90_ms = 0;
  int64_t samples = 0;
  // Blocks that were measured, and those that no other process disturbed; only samples of the latter count.
  int64_t blocks = 0;
  int64_t quiet_blocks = 0;
};

// Quantile `q` in [0, 1] of samples in ascending order, interpolated between neighbours. There must be a sample.
double Quantile(const std::vector<double>& ascending, double q);

// Summary of samples in milliseconds, in any order; all zero when there are none.
Timing Summarize(std::vector<double> samples_ms);

// Zero when there are no values; all must be positive.
double GeometricMean(const std::vector<double>& values);

}  // namespace tilewright::bench
