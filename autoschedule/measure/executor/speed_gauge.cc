#include "autoschedule/measure/executor/speed_gauge.h"

#include <time.h>

#include <algorithm>
#include <utility>

#include "codegen/runtime/timer.h"

namespace tilewright {
namespace {

constexpr int64_t kWaitNanoseconds = 3'000'000;
// Runs of the loop in one reading: the first ones may wake sleeping threads.
constexpr int kRuns = 4;
constexpr int kIterations = 4000;
// Chains of dependent operations: enough to keep every arithmetic unit busy, few enough for the registers.
constexpr int kChains = 14;

using Vector = float __attribute__((vector_size(16)));

void Compute() {
  Vector chains[kChains];
  for (int i = 0; i < kChains; ++i) chains[i] = Vector{} + static_cast<float>(i);
  for (int iteration = 0; iteration < kIterations; ++iteration) {
    for (Vector& chain : chains) chain = chain * 0.5f + 1.0f;
  }
  for (Vector& chain : chains) asm volatile("" : : "m"(chain));
}

int64_t RunOn(runtime::ThreadPool& pool) {
  int64_t fastest = INT64_MAX;
  for (int run = 0; run < kRuns; ++run) {
    const int64_t start = runtime::NowNanoseconds();
    pool.ParallelFor(pool.num_threads(), [](int64_t begin, int64_t end) {
      for (; begin < end; ++begin) Compute();
    });
    fastest = std::min(fastest, runtime::NowNanoseconds() - start);
  }
  return fastest;
}

void Sleep(int64_t nanoseconds) {
  const timespec time = {.tv_sec = 0, .tv_nsec = nanoseconds};
  nanosleep(&time, nullptr);
}

}  // namespace

SpeedGauge::SpeedGauge(runtime::ThreadPool& pool) : SpeedGauge([&pool] { return RunOn(pool); }, Sleep) {}

SpeedGauge::SpeedGauge(std::function<int64_t()> run, std::function<void(int64_t)> wait)
    : run_(std::move(run)), wait_(std::move(wait)) {}

double SpeedGauge::Read() {
  const int64_t now = run_();
  fastest_ = std::min(fastest_, now);
  return static_cast<double>(fastest_) / static_cast<double>(now);
}

bool SpeedGauge::Await() {
  bool full = IsFull();
  for (; !full && credit_ > 0; full = IsFull()) {
    wait_(kWaitNanoseconds);
    credit_ -= kWaitNanoseconds;
  }
  return full;
}

}  // namespace tilewright
