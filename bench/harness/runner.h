// What is timed: a workload that is ready to run.
//
// Terms:
//   variant  one way in which an implementation can do the work, such as a choice of memory layout. All are measured
//            and listed; the fastest stands for the implementation.
//   set      one copy of the activations and outputs. Runs rotate over the sets, so that data is no warmer in the
//            caches than in a program. All sets hold the same numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "codegen/counters.h"
#include "codegen/runtime/tensor.h"

namespace tilewright::bench {

// A block of runs (measure.h) that a runner timed by itself.
struct TimedBlock {
  std::vector<double> samples_ms;
  int64_t nanoseconds = 0;
  int64_t cpu_nanoseconds = 0;  // CPU time of all threads that worked for it.
  bool full_speed = true;       // Whether the machine ran so right before and after.
};

// What a run in an emulator of another machine took, in place of time.
struct EmulatedRun {
  int64_t instructions = 0;    // 0 where they are not counted
  double projected_ms = 0;     // 0 where nothing is projected
  double inner_loop_rate = 0;  // the part of the inner loop's cycles that its multiply-adds need
  Counters counters;           // of the compiled code of a GPU; empty where its compiler is not installed
};

// A workload that is ready to run: weights packed, memory allocated, code generated.
class Runner {
 public:
  virtual ~Runner() = default;

  // Name of the variant, such as "plain"; empty for an implementation that has only one.
  virtual std::string variant() const { return ""; }

  // What is timed.
  virtual void Run(int set) = 0;
  // The first run, whose errors are reported.
  virtual absl::Status FirstRun(int set) {
    Run(set);
    return absl::OkStatus();
  }

  // For runs that are timed in another process: as many as take `nanoseconds`, those of the first
  // `warmup_nanoseconds`, at least one, dropped. Nothing where Run() is to be timed.
  virtual std::optional<TimedBlock> RunBlock([[maybe_unused]] int64_t warmup_nanoseconds,
                                             [[maybe_unused]] int64_t nanoseconds) {
    return std::nullopt;
  }

  // Instructions of the last run; nothing where runs are timed.
  virtual std::optional<EmulatedRun> LastEmulatedRun() { return std::nullopt; }

  // Called after a block of runs: sends threads to sleep that would spin for longer than the others' (process_setup.h).
  virtual void Park() {}

  // Makes the output of a set differ from any result, so that a run that writes nothing is found out.
  virtual void SpoilOutput(int set) = 0;

  // What it took to find out how to run: 0 where nothing was tried.
  virtual double tune_seconds() const { return 0; }
  virtual int64_t trials() const { return 0; }

  // The output of a set in its plain layout.
  virtual absl::Status CopyOutput(int set, runtime::Tensor& output) = 0;
};

}  // namespace tilewright::bench
