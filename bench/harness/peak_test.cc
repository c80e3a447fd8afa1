#include "bench/harness/peak.h"

#include "codegen/runtime/thread_pool.h"
#include "gtest/gtest.h"

namespace tilewright::bench {
namespace {

TEST(Peak, IsWithinWhatHardwareCanDo) {
  runtime::ThreadPool pool({.num_threads = 1});
  const Peak peak = MeasurePeak(pool);
  // One core: from an old laptop to several times the fastest of today. A loop that was folded away is far beyond.
  EXPECT_GT(peak.f32_gflops, 1);
  EXPECT_LT(peak.f32_gflops, 2'000);
  EXPECT_GT(peak.read_gbs, 0.5);
  EXPECT_LT(peak.read_gbs, 500);
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512bf16")) EXPECT_GT(peak.bf16_gflops, peak.f32_gflops);
  if (__builtin_cpu_supports("avx512vnni")) EXPECT_GT(peak.int8_gops, 1.5 * peak.f32_gflops);
#endif
}

TEST(Peak, EachDataTypeHasItsOwn) {
  const Peak peak = {.f32_gflops = 1, .bf16_gflops = 2, .int8_gops = 3};
  EXPECT_EQ(ArithmeticPeak(peak, DType::kF32), 1);
  EXPECT_EQ(ArithmeticPeak(peak, DType::kBf16), 2);
  EXPECT_EQ(ArithmeticPeak(peak, DType::kInt8), 3);
}

}  // namespace
}  // namespace tilewright::bench
