// Measuring scheduled programs.
//
//   auto runner = LocalRunner::Start(program, HostTarget(), {.threads = 2});
//   std::vector<Measurement> results = (*runner)->Run(candidates);
//   if (results[0].ok()) Believe(results[0].MedianSeconds());
//
// Terms:
//   program    what nobody scheduled: it says what the right result is. What is measured is its function main, or
//              the only one.
//   candidate  a module that a schedule made of it, with that function (and main_prepack, where constant operands are
//              packed ahead of time: that time does not count)
//
// A candidate is compiled to a shared library by one process and run by another (worker_pool.h). One that does not
// compile, crashes, hangs, takes too much memory or computes something else costs only itself: its Measurement says
// so. The result of every candidate is compared with a reference in double precision, which is computed once per
// program, on seeded random inputs, before its time counts; not always again when it is measured again. A program for
// which there is none is compared with itself as it stands, or, where it cannot run so, not at all: `caution` says so.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "autoschedule/measure/executor/measurement.h"
#include "ir/function.h"
#include "target/target.h"

namespace tilewright {

class Runner {
 public:
  virtual ~Runner() = default;
  // One measurement per candidate, in their order.
  virtual std::vector<Measurement> Run(std::span<const Module> candidates, const RunOptions& options = {}) = 0;
  // What is less than usual of its answers: results that are compared with less, or not at all. Empty: nothing.
  virtual std::string caution() const { return {}; }
  // How long it has waited for other processes that measured: no part of what measuring takes.
  virtual double WaitedSeconds() const { return 0; }
};

// Whether what the runner calls seconds is projected: candidates for another architecture run in an emulator, where
// instructions that one thread executes and llvm-mca's cycles of the inner loop say how long they would take
// (codegen/remote/projection.h); those for a GPU that this machine does not have do not run (projecting_runner.h).
bool IsEmulated(const Target& target, const std::string& launcher);

// What candidates for the target are made for where it is measured so: an emulated CPU has one core.
Target MeasuredTarget(const Target& target, const std::string& launcher);

// Whether this machine, or the one that `launcher` reaches, measures candidates for the target or projects their times;
// an error says why not.
absl::Status CheckMeasures(const Target& target, const std::string& launcher);

// Measures on this machine, on its GPU, or on the machine that `launcher` reaches. While candidates are measured, an
// exclusive lock of the machine (machine_lock.h) keeps every other LocalRunner of the user from compiling and
// measuring; each batch is compiled before, by as many workers as there are cores.
class LocalRunner : public Runner {
 public:
  // Starts the workers and computes the reference.
  static absl::StatusOr<std::unique_ptr<Runner>> Start(const Module& program, const Target& target,
                                                       const RunnerOptions& options = {});
};

}  // namespace tilewright
