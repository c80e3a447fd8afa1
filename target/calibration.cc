#include "target/calibration.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/check.h"

namespace tilewright {
namespace {

// A function is compiled for each generation of processors; the best that runs here is called.
#if defined(__x86_64__)
#define TW_FOR_EACH_PROCESSOR __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define TW_FOR_EACH_PROCESSOR
#endif

constexpr int kChains = 12;  // more than latency times rate of any unit, and few enough for 16 registers of 32 bytes
constexpr int64_t kSteps = 1 << 12;
constexpr int kRuns = 25;
constexpr double kBytesOfRun = 4 << 20;  // read at least, for a level

double SecondsOf(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The least is what nothing disturbed.
double LeastSeconds(const std::function<void()>& work) {
  double least = SecondsOf(work);
  for (int run = 0; run < kRuns; ++run) least = std::min(least, SecondsOf(work));
  return least;
}

// Multiply-adds of vectors of 256 bits: Chains sums that do not depend on each other.
typedef float Vector __attribute__((vector_size(32)));
template <int Chains>
__attribute__((always_inline)) inline float MultiplyAdds(float factor) {
  Vector sums[Chains];
  const Vector a = {factor, factor, factor, factor, factor, factor, factor, factor};
  // Chains that differ: equal ones would be computed once.
  for (int i = 0; i < Chains; ++i) sums[i] = a * static_cast<float>(i);
  for (int64_t step = 0; step < kSteps; ++step) {
#pragma clang loop unroll(full)
    for (Vector& sum : sums) sum = sum * a + a;
  }
  Vector total = sums[0];
  for (const Vector& sum : sums) total += sum;
  return total[0];
}
#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) float ManyChains(float factor) { return MultiplyAdds<kChains>(factor); }
__attribute__((target("avx2,fma"))) float OneChain(float factor) { return MultiplyAdds<1>(factor); }
bool HasFma() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
#else
float ManyChains(float factor) { return MultiplyAdds<kChains>(factor); }
float OneChain(float factor) { return MultiplyAdds<1>(factor); }
bool HasFma() { return true; }
#endif

TW_FOR_EACH_PROCESSOR
uint64_t SumOf(const uint64_t* values, int64_t count) {
  uint64_t sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += values[i];
  return sum;
}

std::atomic<uint64_t> sink;

// Bytes per second that one core reads from an array of this size, which it reads again and again.
double ReadRate(int64_t bytes) {
  const std::vector<uint64_t> values(static_cast<size_t>(bytes) / sizeof(uint64_t), 1);
  const auto count = static_cast<int64_t>(values.size());
  const int repeats = static_cast<int>(std::max(1.0, kBytesOfRun / static_cast<double>(bytes)));
  const double seconds = LeastSeconds([&] {
    for (int i = 0; i < repeats; ++i) sink.fetch_add(SumOf(values.data(), count), std::memory_order_relaxed);
  });
  return static_cast<double>(bytes) * repeats / seconds;
}

// Bytes per second that all cores together read from main memory.
double MemoryRate(int cores, int64_t bytes_of_core) {
  std::vector<std::vector<uint64_t>> arrays(static_cast<size_t>(cores));
  const auto on_all = [&](const std::function<void(std::vector<uint64_t>&)>& work) {
    std::vector<std::thread> threads;
    for (std::vector<uint64_t>& array : arrays) threads.emplace_back([&] { work(array); });
    for (std::thread& thread : threads) thread.join();
  };
  // Each thread writes its own array first, so that it lies near it.
  on_all([&](std::vector<uint64_t>& array) { array.assign(static_cast<size_t>(bytes_of_core) / sizeof(uint64_t), 1); });
  double least = 1e30;
  for (int run = 0; run < 3; ++run) {
    least =
        std::min(least, SecondsOf([&] {
                   on_all([](std::vector<uint64_t>& array) {
                     sink.fetch_add(SumOf(array.data(), static_cast<int64_t>(array.size())), std::memory_order_relaxed);
                   });
                 }));
  }
  return static_cast<double>(bytes_of_core) * cores / least;
}

double Rounded(double number, double per_one) { return std::round(number * per_one) / per_one; }

void CalibrateUnits(double hertz, Target& t) {
  if (!HasFma()) return;
  const ComputeUnit before = *t.UnitFor("float32");
  const double steps = kSteps;
  const double many = LeastSeconds([] { sink.fetch_add(static_cast<uint64_t>(ManyChains(0.5f))); });
  const double one = LeastSeconds([] { sink.fetch_add(static_cast<uint64_t>(OneChain(0.5f))); });
  // As many vectors of the full width start per cycle as of this width, or half as many where they are cut in two:
  // which of them cpuid knows.
  const double vectors = std::max(1.0, std::round(kChains * steps / (many * hertz)));
  const double known = t.FmaPerCycle();
  const bool halves = t.cpu_part().vector_bits > 256 && known < 2;
  const double scale = (halves ? std::max(1.0, vectors / 2) : vectors) / known;
  for (ComputeUnit& unit : t.units) {
    if (unit.name == "matrix") continue;
    unit.per_cycle = static_cast<int>(std::lround(unit.per_cycle * scale));
    if (unit.operand == before.operand) unit.latency = std::max(1, static_cast<int>(std::lround(one * hertz / steps)));
  }
}

}  // namespace

Target Calibrate(const Target& host, const std::function<double()>& fork_join_seconds) {
  TW_CHECK(!host.is_gpu() && !host.levels.empty());
  Target t = host;
  const double hertz = t.clock_ghz * 1e9;
  CalibrateUnits(hertz, t);
  // An array of the size that may stay in the level, and that none before holds.
  double before = INFINITY;
  for (MemoryLevel& level : t.levels) {
    const int64_t share = level.usable_bytes / std::max(1, std::min(level.shared_by, t.cores));
    const double rate = Rounded(ReadRate(std::clamp<int64_t>(share, 4 << 10, 64 << 20)) / hertz, 4);
    level.bytes_per_cycle = std::min(before, std::max(0.25, rate));
    before = level.bytes_per_cycle;
  }
  const int64_t beyond = std::clamp<int64_t>(4 * t.Farthest().bytes, 64 << 20, 256 << 20);
  t.memory_gbs = std::max(0.1, Rounded(MemoryRate(t.cores, beyond) / 1e9, 10));
  std::vector<double> loops;
  for (int i = 0; i < 101; ++i) loops.push_back(fork_join_seconds());
  std::nth_element(loops.begin(), loops.begin() + 50, loops.end());
  t.mutable_cpu_part().fork_join_seconds = Rounded(loops[50], 1e9);
  return t;
}

}  // namespace tilewright
