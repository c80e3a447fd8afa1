#include "bench/device/timed_graph.h"

#include <algorithm>

#include "codegen/runtime/timer.h"

namespace tilewright::bench {

TimedBlock RunBlock(cuda::GraphRuns& runs, int64_t warmup_nanoseconds, int64_t nanoseconds) {
  const int64_t warmup_start = runtime::NowNanoseconds();
  double sample = 0;
  do {
    sample = runs.LaunchOnce();
  } while (sample >= 0 && runtime::NowNanoseconds() - warmup_start < warmup_nanoseconds);
  TimedBlock block;
  const int64_t start = runtime::NowNanoseconds();
  // After an error the samples are zeros: what copies the output reports it.
  do {
    sample = runs.LaunchOnce();
    block.samples_ms.push_back(std::max(sample, 0.0));
  } while (sample >= 0 && runtime::NowNanoseconds() - start < nanoseconds);
  block.nanoseconds = block.cpu_nanoseconds = runtime::NowNanoseconds() - start;
  return block;
}

}  // namespace tilewright::bench
