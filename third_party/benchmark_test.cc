#include "benchmark/benchmark.h"

namespace tilewright {
namespace {

void CountIterations(benchmark::State& state) {
  int iterations = 0;
  for (auto _ : state) benchmark::DoNotOptimize(++iterations);
  state.SetItemsProcessed(iterations);
}
BENCHMARK(CountIterations);

}  // namespace
}  // namespace tilewright
