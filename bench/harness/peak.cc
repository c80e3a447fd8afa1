#include "bench/harness/peak.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <numeric>
#include <string>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "codegen/runtime/timer.h"
#include "target/target.h"

namespace tilewright::bench {
namespace {

using runtime::NowNanoseconds;

constexpr int64_t kSteps = 1 << 14;

// Does kSteps rounds of one operation on each of its sums. Returns something that depends on all of them.
using Burst = float (*)();

// A burst and the operations that it does, multiplication and addition counted apart.
struct ArithmeticLoop {
  Burst burst = nullptr;
  double operations = 0;
};

// Operations of a burst on as many sums as the registers hold: `products` multiply-adds an instruction.
constexpr double OperationsOf(int registers, int products) { return 2.0 * products * SumsIn(registers) * kSteps; }

// The empty assembly makes the compiler believe that the sum changes, so that no step can be folded away.
#define TW_BURST(Vector, registers, zero, step, first_lane)        \
  Vector sums[SumsIn(registers)];                                  \
  for (Vector & sum : sums) sum = zero;                            \
  for (int64_t i = 0; i < kSteps; ++i) {                           \
    _Pragma("clang loop unroll(full)") for (Vector & sum : sums) { \
      step;                                                        \
      asm volatile("" : "+v"(sum));                                \
    }                                                              \
  }                                                                \
  Vector total = zero;                                             \
  for (Vector & sum : sums) total += sum;                          \
  return first_lane

#if defined(__x86_64__)

// Vector registers that an operand of inline assembly may have, with AVX-512, too: the compiler keeps further sums on
// the stack. As many sums hide four cycles of two units.
constexpr int kRegisters = 16;

__attribute__((target("avx512f"))) float BurstF32Avx512() {
  const __m512 a = _mm512_set1_ps(0.5f);
  TW_BURST(__m512, kRegisters, _mm512_setzero_ps(), sum = _mm512_fmadd_ps(a, a, sum), total[0]);
}

__attribute__((target("avx2,fma"))) float BurstF32Avx2() {
  const __m256 a = _mm256_set1_ps(0.5f);
  TW_BURST(__m256, kRegisters, _mm256_setzero_ps(), sum = _mm256_fmadd_ps(a, a, sum), total[0]);
}

__attribute__((target("avx512f,avx512bf16"))) float BurstBf16Avx512() {
  const __m512bh a = (__m512bh)_mm512_set1_epi16(0x3F00);  // 0.5
  TW_BURST(__m512, kRegisters, _mm512_setzero_ps(), sum = _mm512_dpbf16_ps(sum, a, a), total[0]);
}

__attribute__((target("avx512f,avx512vnni"))) float BurstInt8Avx512() {
  const __m512i a = _mm512_set1_epi8(1);
  TW_BURST(__m512i, kRegisters, _mm512_setzero_si512(), sum = _mm512_dpbusd_epi32(sum, a, a),
           static_cast<float>(total[0]));
}

__attribute__((target("avx2,avxvnni"))) float BurstInt8Avx2() {
  const __m256i a = _mm256_set1_epi8(1);
  TW_BURST(__m256i, kRegisters, _mm256_setzero_si256(), sum = _mm256_dpbusd_avx_epi32(sum, a, a),
           static_cast<float>(total[0]));
}

// Products of tiles of 16 rows of 64 bytes: of the eight tile registers, four are sums and four are operands.
constexpr int64_t kTileSteps = kSteps / 16;
#define TW_TILE_BURST(multiply)                                                 \
  struct alignas(64) {                                                          \
    uint8_t palette = 1, unused[15] = {};                                       \
    uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};                  \
    uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};                        \
  } configuration;                                                              \
  asm volatile("ldtilecfg %0" : : "m"(configuration));                          \
  for (int64_t i = 0; i < kTileSteps; ++i) {                                    \
    multiply(0, 4, 6), multiply(1, 4, 7), multiply(2, 5, 6), multiply(3, 5, 7); \
  }                                                                             \
  _tile_release();                                                              \
  return 0

__attribute__((target("amx-tile,amx-bf16"))) float BurstBf16Amx() { TW_TILE_BURST(_tile_dpbf16ps); }
__attribute__((target("amx-tile,amx-int8"))) float BurstInt8Amx() { TW_TILE_BURST(_tile_dpbusd); }

#undef TW_TILE_BURST

// Linux lets a program use the tile registers when it asks.
bool MayUseAmx() {
  constexpr int kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

ArithmeticLoop F32Loop(const Target& host) {
  if (host.has("avx512f")) return {BurstF32Avx512, OperationsOf(kRegisters, 16)};
  if (host.has("avx2") && host.has("fma")) return {BurstF32Avx2, OperationsOf(kRegisters, 8)};
  return {};
}
ArithmeticLoop Bf16Loop(const Target& host) {
  if (host.has("amx-bf16") && MayUseAmx()) return {BurstBf16Amx, 2.0 * 16 * 16 * 32 * 4 * kTileSteps};
  if (host.has("avx512bf16")) return {BurstBf16Avx512, OperationsOf(kRegisters, 32)};
  return {};
}
ArithmeticLoop Int8Loop(const Target& host) {
  if (host.has("amx-int8") && MayUseAmx()) return {BurstInt8Amx, 2.0 * 16 * 16 * 64 * 4 * kTileSteps};
  if (host.has("avx512vnni")) return {BurstInt8Avx512, OperationsOf(kRegisters, 64)};
  if (host.has("avxvnni")) return {BurstInt8Avx2, OperationsOf(kRegisters, 32)};
  return {};
}

#elif defined(__aarch64__)

typedef float Float4 __attribute__((vector_size(16)));

constexpr int kRegistersNeon = 32;

float BurstF32Neon() {
  const Float4 a = {0.5f, 0.5f, 0.5f, 0.5f};
  Float4 sums[SumsIn(kRegistersNeon)] = {};
  for (int64_t i = 0; i < kSteps; ++i) {
    _Pragma("clang loop unroll(full)") for (Float4& sum : sums) {
      asm volatile("fmla %0.4s, %1.4s, %1.4s" : "+w"(sum) : "w"(a));
    }
  }
  Float4 total = {};
  for (const Float4& sum : sums) total += sum;
  return total[0];
}

ArithmeticLoop F32Loop(const Target&) { return {BurstF32Neon, OperationsOf(kRegistersNeon, 4)}; }
ArithmeticLoop Bf16Loop(const Target&) { return {}; }
ArithmeticLoop Int8Loop(const Target&) { return {}; }

#else

ArithmeticLoop F32Loop(const Target&) { return {}; }
ArithmeticLoop Bf16Loop(const Target&) { return {}; }
ArithmeticLoop Int8Loop(const Target&) { return {}; }

#endif

#undef TW_BURST

// Best of several runs of `work(thread)` on all threads at once, in units of `amount_per_thread` per nanosecond.
template <typename Work>
double BestRate(runtime::ThreadPool& pool, int runs, double amount_per_thread, const Work& work) {
  double best = 0;
  for (int run = 0; run < runs; ++run) {
    // Threads that start late or end early are not to be counted with the others' speed: all run in the same loop.
    const int64_t start = NowNanoseconds();
    pool.ParallelFor(pool.num_threads(), [&](int64_t begin, int64_t end) {
      for (int64_t thread = begin; thread < end; ++thread) work(thread);
    });
    const double nanoseconds = static_cast<double>(NowNanoseconds() - start);
    best = std::max(best, amount_per_thread * pool.num_threads() / nanoseconds);
  }
  return best;
}

// The core that a CPU is a hardware thread of, by the system's list of these threads.
std::string CoreOf(int cpu) {
  std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list");
  std::string threads;
  std::getline(file, threads);
  return threads.empty() ? std::to_string(cpu) : threads;
}

// The sum of the cores' best bursts, each some tens of microseconds: all threads work at once, and one that is stopped
// meanwhile by other processes does not lower what the others, or its own next burst, are known to do.
double ArithmeticRate(runtime::ThreadPool& pool, const ArithmeticLoop& loop) {
  if (loop.burst == nullptr) return 0;
  std::atomic<float> sink = 0;
  std::mutex mutex;
  std::map<std::string, double> best;  // by core, in operations a nanosecond
  // A few milliseconds a run, and enough runs for the clock to rise to its highest.
  constexpr int kRuns = 60, kBursts = 40;
  for (int run = 0; run < kRuns; ++run) {
    pool.ParallelFor(pool.num_threads(), [&](int64_t begin, int64_t end) {
      int64_t least = INT64_MAX;
      const int cpu = sched_getcpu();
      for (int64_t i = begin * kBursts; i < end * kBursts; ++i) {
        const int64_t start = NowNanoseconds();
        sink.store(loop.burst(), std::memory_order_relaxed);
        least = std::min(least, NowNanoseconds() - start);
      }
      const std::lock_guard<std::mutex> lock(mutex);
      double& rate = best[CoreOf(cpu)];
      rate = std::max(rate, loop.operations / static_cast<double>(std::max<int64_t>(least, 1)));
    });
  }
  // Threads that are not bound may have seen more cores than they are.
  std::vector<double> rates;
  for (const auto& [core, rate] : best) rates.push_back(rate);
  std::ranges::sort(rates, std::greater<>());
  if (rates.size() > static_cast<size_t>(pool.num_threads())) rates.resize(static_cast<size_t>(pool.num_threads()));
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

#if defined(__x86_64__)
__attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#endif
uint64_t
SumAll(const uint64_t* values, int64_t count) {
  uint64_t sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += values[i];
  return sum;
}

double ReadRate(runtime::ThreadPool& pool) {
  constexpr int64_t kBytesPerThread = int64_t{256} << 20;
  constexpr int64_t kCount = kBytesPerThread / static_cast<int64_t>(sizeof(uint64_t));
  std::vector<std::vector<uint64_t>> memory(static_cast<size_t>(pool.num_threads()));
  // Each thread fills its own part, so that it lies near it.
  pool.ParallelFor(pool.num_threads(), [&](int64_t begin, int64_t end) {
    for (int64_t thread = begin; thread < end; ++thread) memory[static_cast<size_t>(thread)].assign(kCount, 1);
  });
  std::atomic<uint64_t> sink = 0;
  return BestRate(pool, /*runs=*/8, static_cast<double>(kBytesPerThread), [&](int64_t thread) {
    sink.store(SumAll(memory[static_cast<size_t>(thread)].data(), kCount), std::memory_order_relaxed);
  });
}

}  // namespace

Peak MeasurePeak(runtime::ThreadPool& pool) {
  const Target host = HostTarget();
  return {.f32_gflops = ArithmeticRate(pool, F32Loop(host)),
          .bf16_gflops = ArithmeticRate(pool, Bf16Loop(host)),
          .int8_gops = ArithmeticRate(pool, Int8Loop(host)),
          .read_gbs = ReadRate(pool)};
}

Peak Highest(const Peak& a, const Peak& b) {
  return {.f32_gflops = std::max(a.f32_gflops, b.f32_gflops),
          .bf16_gflops = std::max(a.bf16_gflops, b.bf16_gflops),
          .f16_gflops = std::max(a.f16_gflops, b.f16_gflops),
          .fp8_gflops = std::max(a.fp8_gflops, b.fp8_gflops),
          .int8_gops = std::max(a.int8_gops, b.int8_gops),
          .read_gbs = std::max(a.read_gbs, b.read_gbs)};
}

double ArithmeticPeak(const Peak& peak, DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return peak.f32_gflops;
    case DType::kBf16:
    case DType::kBf16H:
      return peak.bf16_gflops;
    case DType::kF16:
    case DType::kF16F32:
    case DType::kF16H:
      return peak.f16_gflops;
    case DType::kE4M3:
      return peak.fp8_gflops;
    case DType::kInt8:
    case DType::kS8S8:
    case DType::kInt8Q:
    case DType::kS8S8Q:
      return peak.int8_gops;
  }
  return 0;
}

}  // namespace tilewright::bench
