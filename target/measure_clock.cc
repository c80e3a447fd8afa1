#include "target/measure_clock.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>

namespace tilewright {

double MeasureClockGhz() {
  constexpr std::chrono::milliseconds kLongEnough(16);
  constexpr int kLeastRuns = 100, kSteps = 20000, kUnrolled = 8;
  constexpr double kLeastGhz = 0.05;
  double best = kLeastGhz;
  const auto begin = std::chrono::steady_clock::now();
  for (int run = 0; run < kLeastRuns || std::chrono::steady_clock::now() - begin < kLongEnough; ++run) {
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
  }
  return std::round(best * 20) / 20;
}

}  // namespace tilewright
