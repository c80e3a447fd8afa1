// Scalar steps (executions of the innermost statement) per second.
#include <benchmark/benchmark.h>

#include "ir/interp/interp.h"
#include "ir/ops/conv.h"
#include "ir/ops/matmul.h"

namespace tilewright::interp {
namespace {

void RunMatmul(benchmark::State& state, const char* types, const CompileOptions& options) {
  constexpr int kSize = 96;
  const ops::OperandTypes operands = *ops::OperandTypes::Parse(types);
  const Program program = *Compile(ops::Matmul(kSize, kSize, kSize, operands), options);
  const NDArray a(operands.input, {kSize, kSize}), b(operands.weight, {kSize, kSize}),
      c(operands.output, {kSize, kSize});
  FillIntegers(a, 1);
  FillIntegers(b, 2);
  for (auto _ : state) {
    if (absl::Status status = program.Run({a, b, c}); !status.ok()) state.SkipWithError(status.ToString().c_str());
  }
  state.SetItemsProcessed(state.iterations() * kSize * kSize * kSize);
}

BENCHMARK_CAPTURE(RunMatmul, f32, "f32", CompileOptions());
BENCHMARK_CAPTURE(RunMatmul, bf16, "bf16", CompileOptions());
BENCHMARK_CAPTURE(RunMatmul, f16, "f16", CompileOptions());
BENCHMARK_CAPTURE(RunMatmul, u8s8, "u8s8", CompileOptions());
BENCHMARK_CAPTURE(RunMatmul, f32_all_checks, "f32", CompileOptions::AllChecks());

void RunConv(benchmark::State& state) {
  const ops::ConvShape shape = {
      .spatial = {14, 14}, .in_channels = 16, .out_channels = 32, .windows = ops::Same({.kernel = 3, .padding = 1}, 2)};
  const Program program = *Compile(ops::Conv(shape));
  const DataType f32 = DataType::Float(32);
  const NDArray inputs(f32, {1, 14, 14, 16}), weight(f32, {3, 3, 16, 32}), output(f32, {1, 14, 14, 32});
  for (auto _ : state) {
    if (absl::Status status = program.Run({inputs, weight, output}); !status.ok()) {
      state.SkipWithError(status.ToString().c_str());
    }
  }
  state.SetItemsProcessed(state.iterations() * 14 * 14 * 32 * 9 * 16);
}
BENCHMARK(RunConv);

}  // namespace
}  // namespace tilewright::interp
