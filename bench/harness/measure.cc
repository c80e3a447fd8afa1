#include "bench/harness/measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <optional>
#include <thread>
#include <utility>

namespace tilewright::bench {
namespace {

// A quiet block has at least this part of the CPU time of the runner's best block.
constexpr double kQuietShare = 0.97;

// Measuring may take this many times as long as asked for while blocks are disturbed.
constexpr double kPatience = 3;

// CPU seconds that the process got in a second: at most the number of its threads.
double CpuShare(const TimedBlock& block) {
  return static_cast<double>(block.cpu_nanoseconds) / std::max(1.0, static_cast<double>(block.nanoseconds));
}

// What happens between blocks: threads go to sleep, then the machine's speed is read.
class Pauses {
 public:
  explicit Pauses(const MeasureOptions& options) : options_(options) { Pause(); }

  void Pause() {
    if (options_.pause_nanoseconds > 0) {
      std::this_thread::sleep_for(std::chrono::nanoseconds(options_.pause_nanoseconds));
    }
    full_speed_ = !options_.full_speed || options_.full_speed();
  }
  bool full_speed() const { return full_speed_; }

 private:
  const MeasureOptions& options_;
  bool full_speed_ = true;
};

class RunnerBlocks {
 public:
  RunnerBlocks(Runner& runner, const MeasureOptions& options) : runner_(runner), options_(options) {}

  void RunBlock(Pauses& pauses) {
    const bool full_before = pauses.full_speed();
    std::optional<TimedBlock> block = runner_.RunBlock(options_.warmup_nanoseconds, options_.block_nanoseconds);
    if (!block.has_value()) block = TimeRuns();
    runner_.Park();
    pauses.Pause();
    block->full_speed = full_before && pauses.full_speed();
    best_share_ = std::max(best_share_, CpuShare(*block));
    blocks_.push_back(*std::move(block));
  }

  int64_t DisturbedNanoseconds() const {
    int64_t sum = 0;
    for (const TimedBlock& block : blocks_) {
      if (!IsQuiet(block)) sum += block.nanoseconds;
    }
    return sum;
  }

  Timing Summarize() const {
    std::vector<double> samples_ms;
    const auto quiet_blocks = std::count_if(blocks_.begin(), blocks_.end(), [&](const auto& b) { return IsQuiet(b); });
    for (const TimedBlock& block : blocks_) {
      // If the speed was never full, blocks are at least those of an undisturbed process.
      if (quiet_blocks > 0 ? !IsQuiet(block) : !IsUndisturbed(block)) continue;
      samples_ms.insert(samples_ms.end(), block.samples_ms.begin(), block.samples_ms.end());
    }
    Timing timing = bench::Summarize(std::move(samples_ms));
    timing.blocks = static_cast<int64_t>(blocks_.size());
    timing.quiet_blocks = quiet_blocks;
    return timing;
  }

 private:
  TimedBlock TimeRuns() {
    const int64_t warmup_start = options_.now();
    int64_t start = warmup_start;
    do {
      RunOnce();
      start = options_.now();
    } while (start - warmup_start < options_.warmup_nanoseconds);
    TimedBlock block;
    const int64_t block_start = start, cpu_start = options_.cpu_now();
    do {
      RunOnce();
      const int64_t end = options_.now();
      block.samples_ms.push_back(static_cast<double>(end - start) * 1e-6);
      start = end;
    } while (start - block_start < options_.block_nanoseconds);
    block.nanoseconds = start - block_start;
    block.cpu_nanoseconds = options_.cpu_now() - cpu_start;
    return block;
  }

  void RunOnce() { runner_.Run(static_cast<int>(next_set_++ % options_.num_sets)); }
  bool IsUndisturbed(const TimedBlock& block) const { return CpuShare(block) >= kQuietShare * best_share_; }
  bool IsQuiet(const TimedBlock& block) const { return block.full_speed && IsUndisturbed(block); }

  Runner& runner_;
  const MeasureOptions& options_;
  int64_t next_set_ = 0;
  std::vector<TimedBlock> blocks_;
  double best_share_ = 0;
};

}  // namespace

int64_t ProcessCpuNanoseconds() {
  timespec time = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

std::vector<Timing> MeasureAlternating(const std::vector<Runner*>& runners, const MeasureOptions& options) {
  std::vector<RunnerBlocks> blocks;
  for (Runner* runner : runners) blocks.emplace_back(*runner, options);
  const int64_t wanted = static_cast<int64_t>(options.seconds * 1e9);
  const int64_t start = options.now();
  int64_t elapsed = 0, disturbed = 0;
  Pauses pauses(options);
  do {
    for (RunnerBlocks& runner : blocks) runner.RunBlock(pauses);
    elapsed = options.now() - start;
    disturbed = 0;
    for (const RunnerBlocks& runner : blocks) disturbed += runner.DisturbedNanoseconds();
  } while (elapsed - disturbed < wanted && static_cast<double>(elapsed) < kPatience * static_cast<double>(wanted));
  std::vector<Timing> timings;
  for (const RunnerBlocks& runner : blocks) timings.push_back(runner.Summarize());
  return timings;
}

}  // namespace tilewright::bench
