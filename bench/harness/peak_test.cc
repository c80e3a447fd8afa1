#include "bench/harness/peak.h"

#include "bench/harness/nominal_peak.h"
#include "codegen/runtime/thread_pool.h"
#include "gtest/gtest.h"
#include "target/target.h"

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
  const Target host = HostTarget();
  if (host.has("avx512bf16")) EXPECT_GT(peak.bf16_gflops, peak.f32_gflops);
  if (host.has("avx512vnni")) EXPECT_GT(peak.int8_gops, 1.5 * peak.f32_gflops);
  if (!host.has("avx512vnni") && !host.has("avxvnni") && !host.has("amx-int8")) EXPECT_EQ(peak.int8_gops, 0);
}

TEST(Peak, ADescriptionHasOne) {
  const Target gpu = NamedTarget("cuda-sm90a").value();
  const Peak peak = NominalPeak(gpu, /*threads=*/1);
  EXPECT_GT(peak.f16_gflops, 100'000);
  EXPECT_GT(peak.f16_gflops, peak.f32_gflops);
  EXPECT_EQ(peak.read_gbs, gpu.memory_gbs);
  const Target cpu = NamedTarget("arm-neoverse-n1").value();
  EXPECT_DOUBLE_EQ(NominalPeak(cpu, 2).f32_gflops, 2 * NominalPeak(cpu, 1).f32_gflops);
}

TEST(Peak, SumsAndTheirOperandFitTheRegisters) {
  // Sums beyond the registers are stored and loaded in each round, which halves the rate of AVX2.
  for (const char* name : {"x86-haswell", "x86-cascadelake", "arm-neoverse-n1"}) {
    const Target target = NamedTarget(name).value();
    const int registers = target.cpu_part().vector_registers;
    EXPECT_LT(SumsIn(registers), registers) << name;
    const int vectors_per_cycle = target.FmaPerCycle() / target.lanes(32);
    EXPECT_GE(SumsIn(registers), target.FmaLatency() * vectors_per_cycle) << name;
  }
}

TEST(Peak, TheHigherOfTwoCounts) {
  const Peak peak = Highest({.f32_gflops = 1, .read_gbs = 7}, {.f32_gflops = 2, .int8_gops = 3, .read_gbs = 5});
  EXPECT_EQ(peak.f32_gflops, 2);
  EXPECT_EQ(peak.int8_gops, 3);
  EXPECT_EQ(peak.read_gbs, 7);
}

TEST(Peak, EachDataTypeHasItsOwn) {
  const Peak peak = {.f32_gflops = 1, .bf16_gflops = 2, .int8_gops = 3};
  EXPECT_EQ(ArithmeticPeak(peak, DType::kF32), 1);
  EXPECT_EQ(ArithmeticPeak(peak, DType::kBf16), 2);
  EXPECT_EQ(ArithmeticPeak(peak, DType::kInt8), 3);
}

}  // namespace
}  // namespace tilewright::bench
