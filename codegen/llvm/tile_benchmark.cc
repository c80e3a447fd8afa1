// Times register-tiled f32 matrix multiplications and convolutions on one core against the peak of this machine.
//
//   bazel run //codegen/llvm:tile_benchmark
//
// The peak is that of a loop of independent fused multiply-adds in registers, compiled and timed here too.
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "codegen/llvm/jit.h"
#include "codegen/llvm/object.h"
#include "codegen/llvm/x86/spills.h"
#include "codegen/runtime/tensor.h"
#include "codegen/runtime/timer.h"
#include "codegen/testing/programs.h"

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

// Compiles and times a program of three tensors: two that are read and one that is written.
void Run(const std::string& what, const Function& program, double operations, double peak) {
  const Module module(program);
  const int64_t start = NowNanoseconds();
  auto compiled = CompileToJit(module, HostTarget());
  const double compile_ms = static_cast<double>(NowNanoseconds() - start) * 1e-6;
  auto assembly = EmitAssembly(module, HostTarget());
  if (!compiled.ok() || !assembly.ok()) {
    std::printf("%s\n", std::string(compiled.status().message()).c_str());
    return;
  }
  std::vector<Tensor> tensors;
  for (const Param& param : program->params) {
    std::vector<int64_t> shape;
    for (const Expr& extent : param.buffer->shape) shape.push_back(*AsInt(extent));
    tensors.push_back(*Tensor::Allocate(kFloat32, shape));
  }
  TwTensor* args[] = {tensors[0].abi(), tensors[1].abi(), tensors[2].abi()};
  const TwFunction function = (*compiled)->Find("main");
  const int64_t least = LeastNanoseconds(100, [&] { function(nullptr, args, 3); });
  const double gflops = operations / static_cast<double>(least);
  std::printf("%-34s %7.1f GFLOP/s  %5.1f%% of peak  compile %5.1f ms  spills %d\n", what.c_str(), gflops,
              100 * gflops / peak, compile_ms, CountInnerLoopVectorSpills(*assembly));
}

void RunMatmul(const testing::TiledMatmul& s, double peak) {
  Run(absl::StrCat("matmul ", s.m, ",", s.n, ",", s.k, " tile ", s.rows, "x", s.columns), testing::MakeTiledMatmul(s),
      2.0 * static_cast<double>(s.m * s.n * s.k), peak);
}

// Operations as they are usually counted, those on padding included.
void RunConv(const testing::TiledConv& s, double peak) {
  Run(absl::StrCat("conv ", s.size, ",", s.in, ",", s.out, ",", s.kernel, " tile ", s.pixels, "x", s.columns),
      testing::MakeTiledConv(s), 2.0 * static_cast<double>(s.size * s.size * s.in * s.out * s.kernel * s.kernel), peak);
}

}  // namespace
}  // namespace tilewright

int main() {
  if (!tilewright::HostTarget().has("avx512f")) return 0;
  const double peak = tilewright::PeakGflops();
  std::printf("peak of one core: %.1f GFLOP/s\n", peak);
  for (int64_t size : {128, 512, 1024}) {
    tilewright::RunMatmul({size, size, size, 12, 32}, peak);
    tilewright::RunMatmul({size, size, size, 14, 32}, peak);
    tilewright::RunMatmul({size, size, size, 6, 64}, peak);
  }
  tilewright::RunConv({56, 64, 64, 3, 14, 32}, peak);
  tilewright::RunConv({56, 64, 64, 1, 14, 32}, peak);
  tilewright::RunConv({28, 128, 128, 3, 14, 32}, peak);
  tilewright::RunConv({14, 256, 256, 3, 14, 32}, peak);
  tilewright::RunConv({7, 512, 512, 3, 7, 32}, peak);
}
