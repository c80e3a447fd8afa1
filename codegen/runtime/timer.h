// Time that never goes backwards, in nanoseconds.
//
//   const int64_t start = NowNanoseconds();
//   Work();
//   const int64_t spent = NowNanoseconds() - start;
#pragma once

#include <chrono>
#include <cstdint>

namespace tilewright::runtime {

// Nanoseconds since an unspecified moment, the same one for all threads of the process.
inline int64_t NowNanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// The least of `repeats` runs of `work`, in nanoseconds: the run that was disturbed least.
template <typename Work>
int64_t LeastNanoseconds(int repeats, Work&& work) {
  int64_t least = INT64_MAX;
  for (int i = 0; i < repeats; ++i) {
    const int64_t start = NowNanoseconds();
    work();
    const int64_t spent = NowNanoseconds() - start;
    if (spent < least) least = spent;
  }
  return least;
}

}  // namespace tilewright::runtime
