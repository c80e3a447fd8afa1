// Whether the machine computes at full speed right now.
//
//   SpeedGauge gauge(pool);
//   const bool known = gauge.Await();  // a while at most, until it does
//   std::vector<int64_t> samples = Sample(...);
//   if (known && !gauge.IsFull()) ...  // they may say more about the machine than about the program
//
// On a virtual machine the CPUs may be two hardware threads of one core for some tenths of a second, or wait for other
// guests; on a shared one, other processes take their share. Everything then takes up to twice as long, and whatever is
// measured meanwhile seems slow. The gauge runs a fixed loop of arithmetic on all threads of a pool at once, a tenth of
// a millisecond, and compares with the fastest time of that loop so far.
#pragma once

#include <cstdint>
#include <functional>

#include "codegen/runtime/thread_pool.h"

namespace tilewright {

class SpeedGauge {
 public:
  // The pool must outlive the gauge.
  explicit SpeedGauge(runtime::ThreadPool& pool);
  // With another loop: `run` returns how long it took. `wait` passes the time between two readings.
  SpeedGauge(std::function<int64_t()> run, std::function<void(int64_t nanoseconds)> wait);

  bool IsFull() { return Read() >= kFull; }
  // Waits until the speed is full, and returns whether it is. A machine that is never left alone is not waited for: the
  // waits take no more than kMostWaiting of the time that is reported to Spent, beyond an initial credit.
  bool Await();
  void Spent(int64_t nanoseconds) { credit_ += static_cast<int64_t>(kMostWaiting * static_cast<double>(nanoseconds)); }

  // Speed as a part of the highest so far.
  double Read();

  static constexpr double kFull = 0.7;
  static constexpr double kMostWaiting = 0.5;

 private:
  std::function<int64_t()> run_;
  std::function<void(int64_t)> wait_;
  int64_t fastest_ = INT64_MAX;
  int64_t credit_ = 1'000'000'000;  // nanoseconds that may be waited
};

}  // namespace tilewright
