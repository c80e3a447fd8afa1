#include "bench/harness/bandwidth.h"

#include <algorithm>
#include <atomic>

#include "codegen/runtime/timer.h"

namespace tilewright::bench {
namespace {

using runtime::NowNanoseconds;

// Bytes that each thread moves in one run, passes over small data together.
constexpr int64_t kBytesPerRun = int64_t{32} << 20;
constexpr int kRuns = 12;
// Bytes of each array in memory, for each thread.
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

TW_EVERY_CPU void AddOne(uint64_t* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) ++to[i];
}

// Not all the same, so that the compiler makes no call of memset of it.
TW_EVERY_CPU void Fill(uint64_t* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<uint64_t>(i);
}

int64_t WordsOfAThread(int64_t bytes, const runtime::ThreadPool& pool) {
  return bytes / static_cast<int64_t>(sizeof(uint64_t)) / pool.num_threads();
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

TrafficRunner::TrafficRunner(const Traffic& traffic, runtime::ThreadPool& pool)
    : pool_(pool),
      words_read_(WordsOfAThread(traffic.read, pool)),
      words_written_(WordsOfAThread(traffic.written, pool)),
      words_changed_(WordsOfAThread(traffic.changed, pool)),
      arrays_(static_cast<size_t>(pool.num_threads())) {
  for (Arrays& arrays : arrays_) {
    const auto add = [&](int64_t words) {
      arrays.memory.push_back(*runtime::Tensor::Allocate(runtime::kInt64, {words}));
      return arrays.memory.back().data<uint64_t>();
    };
    arrays.read = add(words_read_);
    arrays.written = add(words_written_);
    arrays.changed = add(words_changed_);
  }
}

void TrafficRunner::Run(int) {
  const int64_t copied = std::min(words_read_, words_written_);
  pool_.ParallelFor(pool_.num_threads(), [&](int64_t begin, int64_t end) {
    for (int64_t thread = begin; thread < end; ++thread) {
      const Arrays& arrays = arrays_[static_cast<size_t>(thread)];
      CopyPlusOne(arrays.read, arrays.written, copied);
      Fill(arrays.written + copied, words_written_ - copied);
      AddOne(arrays.changed, words_changed_);
      sink_.store(Read(arrays.read + copied, words_read_ - copied), std::memory_order_relaxed);
    }
  });
}

absl::Status TrafficRunner::CopyOutput(int, runtime::Tensor&) {
  return absl::UnimplementedError("there is nothing computed");
}

}  // namespace tilewright::bench
