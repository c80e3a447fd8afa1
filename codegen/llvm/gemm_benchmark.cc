// Times register-tiled f32 matrix multiplications on one core against the peak of this machine.
//
//   bazel run //codegen/llvm:gemm_benchmark
//
// The peak is that of a loop of independent fused multiply-adds in registers, compiled and timed here too.
#include <cstdio>

#include "codegen/llvm/jit.h"
#include "codegen/llvm/object.h"
#include "codegen/llvm/spills.h"
#include "codegen/llvm/testing/programs.h"
#include "codegen/runtime/tensor.h"
#include "codegen/runtime/timer.h"

namespace tilewright {
namespace {

using runtime::kFloat32;
using runtime::LeastNanoseconds;
using runtime::NowNanoseconds;
using runtime::Tensor;

using Vector = float __attribute__((vector_size(64), aligned(64)));

// GFLOP/s of 12 independent chains of 16-lane multiply-adds.
__attribute__((target("avx512f"))) double PeakGflops() {
  constexpr int kSteps = 100'000;
  Vector sums[12] = {};
  Vector a = Vector{} + 1.0001f, b = Vector{} + 1e-9f;
  const int64_t least = LeastNanoseconds(40, [&]() __attribute__((target("avx512f"))) {
    for (int step = 0; step < kSteps; ++step) {
      asm volatile(
          "vfmadd231ps %13, %12, %0\n vfmadd231ps %13, %12, %1\n vfmadd231ps %13, %12, %2\n"
          "vfmadd231ps %13, %12, %3\n vfmadd231ps %13, %12, %4\n vfmadd231ps %13, %12, %5\n"
          "vfmadd231ps %13, %12, %6\n vfmadd231ps %13, %12, %7\n vfmadd231ps %13, %12, %8\n"
          "vfmadd231ps %13, %12, %9\n vfmadd231ps %13, %12, %10\n vfmadd231ps %13, %12, %11\n"
          : "+v"(sums[0]), "+v"(sums[1]), "+v"(sums[2]), "+v"(sums[3]), "+v"(sums[4]), "+v"(sums[5]), "+v"(sums[6]),
            "+v"(sums[7]), "+v"(sums[8]), "+v"(sums[9]), "+v"(sums[10]), "+v"(sums[11])
          : "v"(a), "v"(b));
    }
  });
  return 12.0 * 32 * kSteps / static_cast<double>(least);
}

void Run(const testing::TiledMatmul& s, double peak) {
  const Module module(testing::MakeTiledMatmul(s));
  const int64_t start = NowNanoseconds();
  auto compiled = CompileToJit(module, HostTarget());
  const double compile_ms = static_cast<double>(NowNanoseconds() - start) * 1e-6;
  auto assembly = EmitAssembly(module, HostTarget());
  if (!compiled.ok() || !assembly.ok()) {
    std::printf("%s\n", std::string(compiled.status().message()).c_str());
    return;
  }
  Tensor a = *Tensor::Allocate(kFloat32, {s.m, s.k});
  Tensor b = *Tensor::Allocate(kFloat32, {s.n / s.columns, s.k, s.columns});
  Tensor c = *Tensor::Allocate(kFloat32, {s.m, s.n});
  TwTensor* args[] = {a.abi(), b.abi(), c.abi()};
  const TwFunction function = (*compiled)->Find("main");
  const int64_t least = LeastNanoseconds(100, [&] { function(nullptr, args, 3); });
  const double gflops = 2.0 * static_cast<double>(s.m * s.n * s.k) / static_cast<double>(least);
  std::printf("%5ld %5ld %5ld  tile %2ldx%-3ld %7.1f GFLOP/s  %5.1f%% of peak  compile %5.1f ms  spills %d\n", s.m, s.n,
              s.k, s.rows, s.columns, gflops, 100 * gflops / peak, compile_ms, CountInnerLoopVectorSpills(*assembly));
}

}  // namespace
}  // namespace tilewright

int main() {
  if (!tilewright::HostTarget().has("avx512f")) return 0;
  const double peak = tilewright::PeakGflops();
  std::printf("peak of one core: %.1f GFLOP/s\n", peak);
  for (int64_t size : {128, 512, 1024}) {
    tilewright::Run({size, size, size, 12, 32}, peak);
    tilewright::Run({size, size, size, 14, 32}, peak);
    tilewright::Run({size, size, size, 6, 64}, peak);
  }
}
