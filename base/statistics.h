// Statistics of samples.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace tilewright {

// The sample in the middle, or the mean of the two; there must be one.
template <class T>
T Median(std::vector<T> samples) {
  std::sort(samples.begin(), samples.end());
  const size_t middle = samples.size() / 2;
  return samples.size() % 2 == 1 ? samples[middle] : (samples[middle - 1] + samples[middle]) / 2;
}

}  // namespace tilewright
