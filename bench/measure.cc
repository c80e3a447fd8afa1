#include "bench/measure.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

namespace tilewright::bench {
namespace {

// One block: appends the samples that are kept.
void RunBlock(Runner& runner, const MeasureOptions& options, int64_t& next_set, std::vector<double>& samples_ms) {
  if (options.pause_nanoseconds > 0) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(options.pause_nanoseconds));
  }
  const auto run = [&] { runner.Run(static_cast<int>(next_set++ % options.num_sets)); };
  const int64_t block_start = options.now();
  int64_t start = block_start;
  do {
    run();
    start = options.now();
  } while (start - block_start < options.warmup_nanoseconds);
  const int64_t kept_start = start;
  do {
    run();
    const int64_t end = options.now();
    samples_ms.push_back(static_cast<double>(end - start) * 1e-6);
    start = end;
  } while (start - kept_start < options.block_nanoseconds);
}

}  // namespace

std::vector<Timing> MeasureAlternating(const std::vector<Runner*>& runners, const MeasureOptions& options) {
  std::vector<std::vector<double>> samples_ms(runners.size());
  std::vector<int64_t> next_set(runners.size(), 0);
  const int64_t deadline = options.now() + static_cast<int64_t>(options.seconds * 1e9);
  do {
    for (size_t i = 0; i < runners.size(); ++i) RunBlock(*runners[i], options, next_set[i], samples_ms[i]);
  } while (options.now() < deadline);
  std::vector<Timing> timings;
  for (std::vector<double>& samples : samples_ms) timings.push_back(Summarize(std::move(samples)));
  return timings;
}

int ChooseNumSets(const Workload& workload, int num_threads) {
  const TensorShapes shapes = ShapesOf(workload.problem);
  const auto bytes = [](const std::vector<int64_t>& shape, TwDataType dtype) {
    double product = dtype.bits / 8.0;
    for (int64_t extent : shape) product *= static_cast<double>(extent);
    return product;
  };
  const double set =
      bytes(shapes.activation, ActivationType(workload.dtype)) + bytes(shapes.output, OutputType(workload.dtype));
  const int64_t cache = std::max<int64_t>(sysconf(_SC_LEVEL2_CACHE_SIZE), 1 << 20);
  return static_cast<int>(std::clamp(std::ceil(static_cast<double>(cache * num_threads) / set) + 1, 2.0, 32.0));
}

}  // namespace tilewright::bench
