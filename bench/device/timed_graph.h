// Calls of a graph on a GPU as a block of timed runs.
#pragma once

#include <cstdint>

#include "bench/harness/runner.h"
#include "codegen/cuda/graph_runs.h"

namespace tilewright::bench {

// As Runner::RunBlock.
TimedBlock RunBlock(cuda::GraphRuns& runs, int64_t warmup_nanoseconds, int64_t nanoseconds);

}  // namespace tilewright::bench
