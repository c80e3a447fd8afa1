// How long something takes: runs it until the median is known well enough.
//
// The 95% confidence interval of a median lies between two of the ordered samples, whatever their distribution: those
// at the places n / 2 -+ 0.98 sqrt(n). Sampling ends when that interval is narrow, when the time is over, or when it
// is clear that nobody wants to know it more exactly.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace tilewright {

struct SamplingOptions {
  double half_width = 0.01;  // of the interval, as a part of the median
  int64_t most_nanoseconds = 300'000'000;
  int64_t least_nanoseconds = 20'000'000;  // shorter sampling may see one state of the machine only
  int64_t warmup_nanoseconds = 5'000'000;  // runs that begin within this time are not counted
  int64_t most_samples = 100'000;
  int64_t give_up_nanoseconds = 0;  // ends after three samples when all took longer; 0: no such limit
};

// The lengths of the runs in nanoseconds, at least one. `prepare` runs before each, untimed; `now` is a clock.
std::vector<int64_t> Sample(const std::function<void()>& prepare, const std::function<void()>& run,
                            const SamplingOptions& options, const std::function<int64_t()>& now);

// Whether the interval of the median of these samples is that narrow; false for fewer than six.
bool MedianIsKnown(std::vector<int64_t> samples, double half_width);

// samples[candidate][round]: of several candidates that were measured in turn. What a round met, a slower clock say,
// all of them met: their samples are divided by how much slower than usual the round was for most of them.
void LevelRounds(std::vector<std::vector<std::vector<double>>>& samples);

}  // namespace tilewright
