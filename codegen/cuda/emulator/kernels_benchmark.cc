// How fast kernels run here, with all detectors: instructions and multiply-adds a second.
#include <benchmark/benchmark.h>

#include "codegen/cuda/emulator/testing/kernel_runs.h"

namespace tilewright::emulator {
namespace {

void Report(benchmark::State& state, const Counters& counters) {
  const auto rate = [](uint64_t count) {
    return benchmark::Counter(static_cast<double>(count), benchmark::Counter::kIsIterationInvariantRate);
  };
  state.counters["instructions"] = rate(counters.instructions);
  state.counters["MACs"] = rate(counters.multiplications);
  state.counters["switches"] = rate(counters.switches);
  state.counters["checks"] = rate(counters.checks);
}

// Inputs are made and compared outside of the measured time.
template <class Prepare>
void Measure(benchmark::State& state, const LaunchOptions& options, Product& product, const Prepare& kernel) {
  Counters counters;
  for (auto _ : state) {
    LaunchResult result = Launch(options, product.memory, kernel);
    if (!result.ok()) return state.SkipWithError("the kernel has faults");
    counters = result.counters;
  }
  Report(state, counters);
}

void BM_ProductMma(benchmark::State& state) {
  const int n = 256;
  Product p(n, n, n, 1);
  LaunchOptions options = {.grid = {n / product_mma::kTile, n / product_mma::kTile},
                           .block = {product_mma::kThreads},
                           .shared_bytes = product_mma::kSharedBytes,
                           .check = state.range(0) != 0};
  options.count_bank_conflicts = options.check;
  Measure(state, options, p, [&] { product_mma::Kernel(p.a.data(), p.b.data(), p.c.data(), n, n, n); });
}
BENCHMARK(BM_ProductMma)->ArgName("check")->Arg(1)->Arg(0)->Unit(benchmark::kMillisecond);

void BM_ProductWgmma(benchmark::State& state) {
  const int n = 512;
  Product p(n, n, n, 1);
  const auto map = [&](tw::f16* data, uint32_t rows) {
    return Encode({.address = data, .extents = {n, n}, .strides = {n * 2}, .box = {64, rows}, .swizzle_bytes = 128});
  };
  const TwTensorMap a = map(p.a.data(), 128), b = map(p.b.data(), 64), c = map(p.c.data(), 64);
  const LaunchOptions options = {.grid = {2},
                                 .block = {product_wgmma::kThreads},
                                 .shared_bytes = product_wgmma::kSharedBytes,
                                 .check = state.range(0) != 0};
  Measure(state, options, p, [&] { product_wgmma::Kernel<1, false>(a, b, c, {n, n, n}); });
}
BENCHMARK(BM_ProductWgmma)->ArgName("check")->Arg(1)->Arg(0)->Unit(benchmark::kMillisecond);

void BM_Softmax(benchmark::State& state) {
  Product p(1, 1, 1, 1);
  Array<float> x(64 * 1024), y(64 * 1024);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 97);
  p.memory.Add("X", x.data(), x.bytes());
  p.memory.Add("Y", y.data(), y.bytes(), GlobalMemory::kOutput);
  const LaunchOptions options = {
      .grid = {64}, .block = {rows::kThreads}, .shared_bytes = 64, .check = state.range(0) != 0};
  Measure(state, options, p, [&] { rows::Softmax(x.data(), y.data(), 1024); });
}
BENCHMARK(BM_Softmax)->ArgName("check")->Arg(1)->Arg(0)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tilewright::emulator
