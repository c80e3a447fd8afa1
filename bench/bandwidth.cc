#include "bench/bandwidth.h"

#include <algorithm>
#include <atomic>

#include "codegen/runtime/timer.h"

namespace tilewright::bench {
namespace {

using runtime::NowNanoseconds;

// Bytes that each thread moves in one run, passes over small data together.
constexpr int64_t kBytesPerRun = int64_t{32} << 20;
constexpr int kRuns = 12;
// Of each array in memory, for each thread.
constexpr int64_t kMemoryBytes = int64_t{128} << 20;

#if defined(__x86_64__)
#define TW_EVERY_CPU __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define TW_EVERY_CPU
#endif

TW_EVERY_CPU uint64_t Read(const uint64_t* from, int64_t count) {
  uint64_t sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += from[i];
  return sum;
}

// Changes what it copies, so that the compiler makes no call of memcpy of it, which may go around the caches.
TW_EVERY_CPU void CopyPlusOne(const uint64_t* __restrict from, uint64_t* __restrict to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = from[i] + 1;
}

struct Arrays {
  std::vector<uint64_t> from, to;
};

// Bytes a nanosecond of all threads together, the best run.
template <typename Pass>
double BestRate(runtime::ThreadPool& pool, int64_t bytes_per_pass, const Pass& pass) {
  const int64_t passes = std::max<int64_t>(1, kBytesPerRun / bytes_per_pass);
  double best = 0;
  for (int run = 0; run < kRuns; ++run) {
    const int64_t start = NowNanoseconds();
    pool.ParallelFor(pool.num_threads(), [&](int64_t begin, int64_t end) {
      for (int64_t thread = begin; thread < end; ++thread) {
        for (int64_t i = 0; i < passes; ++i) pass(static_cast<size_t>(thread));
      }
    });
    const double nanoseconds = static_cast<double>(NowNanoseconds() - start);
    best = std::max(best, static_cast<double>(bytes_per_pass * passes) * pool.num_threads() / nanoseconds);
  }
  return best;
}

LevelBandwidth MeasureLevel(runtime::ThreadPool& pool, std::string level, int64_t bytes, int64_t data_per_thread) {
  const int64_t words = data_per_thread / static_cast<int64_t>(sizeof(uint64_t));
  std::vector<Arrays> arrays(static_cast<size_t>(pool.num_threads()));
  // Each thread fills its own, so that they lie near it.
  pool.ParallelFor(pool.num_threads(), [&](int64_t begin, int64_t end) {
    for (int64_t thread = begin; thread < end; ++thread) {
      arrays[static_cast<size_t>(thread)].from.assign(static_cast<size_t>(words), 1);
      arrays[static_cast<size_t>(thread)].to.assign(static_cast<size_t>(words / 2), 0);
    }
  });
  std::atomic<uint64_t> sink = 0;
  LevelBandwidth result{.level = std::move(level), .bytes = bytes};
  result.read_gbs = BestRate(pool, words * 8, [&](size_t thread) {
    sink.store(Read(arrays[thread].from.data(), words), std::memory_order_relaxed);
  });
  // The first half of what was read, and as much that is written.
  result.copy_gbs = BestRate(pool, words / 2 * 16, [&](size_t thread) {
    CopyPlusOne(arrays[thread].from.data(), arrays[thread].to.data(), words / 2);
  });
  return result;
}

}  // namespace

std::vector<LevelBandwidth> MeasureBandwidth(runtime::ThreadPool& pool, const Machine& machine) {
  const int threads = pool.num_threads();
  std::vector<LevelBandwidth> levels;
  if (machine.l1d_bytes > 0) {
    levels.push_back(MeasureLevel(pool, "L1", machine.l1d_bytes * threads, machine.l1d_bytes / 2));
  }
  if (machine.l2_bytes > 0) {
    levels.push_back(MeasureLevel(pool, "L2", machine.l2_bytes * threads, machine.l2_bytes / 2));
  }
  // A cache that all threads share.
  if (machine.l3_bytes > machine.l2_bytes * threads) {
    levels.push_back(MeasureLevel(pool, "L3", machine.l3_bytes, machine.l3_bytes / 2 / threads));
  }
  levels.push_back(MeasureLevel(pool, "memory", machine.memory_bytes, kMemoryBytes));
  return levels;
}

const LevelBandwidth& LevelThatHolds(const std::vector<LevelBandwidth>& levels, int64_t bytes) {
  for (const LevelBandwidth& level : levels) {
    if (bytes <= level.bytes) return level;
  }
  return levels.back();
}

double LeastSeconds(const LevelBandwidth& level, double bytes_read, double bytes_written) {
  const double copied = std::min(bytes_read, bytes_written);
  return (2 * copied / level.copy_gbs + (bytes_read - copied) / level.read_gbs +
          (bytes_written - copied) / level.copy_gbs) *
         1e-9;
}

}  // namespace tilewright::bench
