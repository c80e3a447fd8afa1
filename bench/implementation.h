// What is measured: this compiler and every library it is compared with, behind one interface.
//
// Terms:
//   variant  one way in which an implementation can do the work, such as a choice of memory layout. All are measured
//            and listed; the fastest stands for the implementation.
//   set      one copy of the activations and outputs. Runs rotate over the sets, so that data is no warmer in the
//            caches than in a program. All sets hold the same numbers.
#ifndef TILEWRIGHT_BENCH_IMPLEMENTATION_H_
#define TILEWRIGHT_BENCH_IMPLEMENTATION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/operands.h"
#include "bench/problem.h"
#include "codegen/runtime/tensor.h"

namespace tilewright::bench {

// A block of runs (measure.h) that a runner timed by itself.
struct TimedBlock {
  std::vector<double> samples_ms;
  int64_t nanoseconds = 0;
  int64_t cpu_nanoseconds = 0;  // Of all threads that worked for it.
  bool full_speed = true;       // Of the machine, right before and after.
};

// A workload that is ready to run: weights packed, memory allocated, code generated.
class Runner {
 public:
  virtual ~Runner() = default;

  // Name of the variant, such as "plain"; empty for an implementation that has only one.
  virtual std::string variant() const { return ""; }

  // What is timed.
  virtual void Run(int set) = 0;

  // For runs that are timed in another process: as many as take `nanoseconds`, those of the first
  // `warmup_nanoseconds`, at least one, dropped. Nothing where Run() is to be timed.
  virtual std::optional<TimedBlock> RunBlock([[maybe_unused]] int64_t warmup_nanoseconds,
                                             [[maybe_unused]] int64_t nanoseconds) {
    return std::nullopt;
  }

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

struct RunSettings {
  int num_threads = 1;
  // CPUs that the threads may use; the first is the one that the calling thread is bound to.
  std::vector<int> cpus;
  int num_sets = 1;
};

class Implementation {
 public:
  virtual ~Implementation() = default;

  // As in --peers, such as "onednn".
  virtual std::string name() const = 0;
  virtual std::string version() const = 0;

  // One runner per variant; an error that says why when the implementation cannot run the workload.
  virtual absl::StatusOr<std::vector<std::unique_ptr<Runner>>> Prepare(const Workload& workload,
                                                                       const Operands& operands,
                                                                       const RunSettings& settings) = 0;
};

}  // namespace tilewright::bench

#endif  // TILEWRIGHT_BENCH_IMPLEMENTATION_H_
