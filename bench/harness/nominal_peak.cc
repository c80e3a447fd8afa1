#include "bench/harness/nominal_peak.h"

#include "autoschedule/cost/speed_of_light.h"

namespace tilewright::bench {

Peak NominalPeak(const Target& target, int threads) {
  const int cores = target.is_gpu() ? target.cores : threads;
  const auto gflops = [&](DataType operand) {
    return 2.0 * MultiplyAddsPerCycle(target, operand) * target.clock_ghz * cores;
  };
  return {.f32_gflops = gflops(DataType::Float(32)),
          .bf16_gflops = gflops(DataType::BFloat16()),
          .f16_gflops = gflops(DataType::Float(16)),
          .fp8_gflops = target.has("fp8") ? gflops(DataType(TypeCode::kE4M3, 8)) : 0,
          .int8_gops = gflops(DataType::Int(8)),
          .read_gbs = target.memory_gbs};
}

}  // namespace tilewright::bench
