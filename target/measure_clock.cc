#include "target/measure_clock.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>

namespace tilewright {

double MeasureClockGhz() {
  constexpr int kRunsWithoutGain = 100, kSteps = 20000, kUnrolled = 8;
  constexpr double kLeastGhz = 0.05, kGain = 1.005;
  double best = kLeastGhz, before = kLeastGhz;
  for (int run = 0; run < kRunsWithoutGain; ++run) {
    const auto start = std::chrono::steady_clock::now();
    uint64_t x = 1, y = 3;
    for (int i = 0; i < kSteps; ++i) {
#pragma clang loop unroll(full)
      for (int j = 0; j < kUnrolled; ++j) {
        x += y;
        asm volatile("" : "+r"(x), "+r"(y));
      }
    }
    const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
    best = std::max(best, static_cast<double>(kSteps) * kUnrolled / spent.count());
    if (best < before * kGain) continue;
    before = best;
    run = 0;
  }
  return std::round(best * 20) / 20;
}

}  // namespace tilewright
