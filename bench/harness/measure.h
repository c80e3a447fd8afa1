// How runners are timed against each other.
//
// The machine's speed drifts, so runners are never timed one after the other: they take turns in blocks of at least 50
// ms until the time is over, and every runner gets the same number of blocks. Before a block everybody pauses, so that
// the threads of the runner before go to sleep and do not compete; the first samples of a block, which bring the
// runner's code, weights and threads back, are dropped. A sample is one run, timed alone.
//
// Other processes on the same CPUs stop some of a runner's threads in the middle of their work, and the others then
// wait: one compiler run beside it makes a runner several times slower. What gives such a block away is that the
// process got less CPU time in it than in the best block of the same runner. The CPUs of a virtual machine may also be
// two hardware threads of one core for a while, which no clock tells: a gauge reads the machine's speed between blocks.
// Blocks that are not quiet are left out and replaced by later ones, as long as the measuring takes no more than three
// times as long as it should.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "bench/harness/runner.h"
#include "bench/harness/statistics.h"
#include "codegen/runtime/timer.h"

namespace tilewright::bench {

// CPU time of all threads of this process, in nanoseconds.
int64_t ProcessCpuNanoseconds();

struct MeasureOptions {
  // For all runners together. At least one block of each is measured.
  double seconds = 4;
  int64_t block_nanoseconds = 50'000'000;
  // Samples that begin within this time of a block's start are dropped, at least one.
  int64_t warmup_nanoseconds = 5'000'000;
  int64_t pause_nanoseconds = 5'000'000;
  int num_sets = 1;
  // Whether the machine computes at full speed now. Empty: it is not asked.
  std::function<bool()> full_speed;
  // The clocks, in nanoseconds; a test has its own.
  int64_t (*now)() = runtime::NowNanoseconds;
  int64_t (*cpu_now)() = ProcessCpuNanoseconds;
};

// Timings in the order of the runners.
std::vector<Timing> MeasureAlternating(const std::vector<Runner*>& runners, const MeasureOptions& options);

}  // namespace tilewright::bench
