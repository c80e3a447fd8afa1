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

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "autoschedule/database/caches.h"
#include "codegen/counters.h"
#include "ir/function.h"
#include "target/target.h"

namespace tilewright {

enum class MeasureFailure : uint8_t {
  kNone,
  kCompileError,    // code generation refused it
  kCompileCrash,    // the compile worker ended
  kCompileTimeout,  // ... or was ended
  kOverLimit,       // a counter of its code is above what RunOptions allows; it was not run
  kRunError,        // the library could not be opened, or a call returned an error
  kWrongResult,
  kCrash,    // the measuring worker ended
  kTimeout,  // ... or was ended
  kMemory,   // the candidate wanted more memory than a worker may have
};
// "compile error", "crash", "wrong result", ...; "" for kNone.
std::string_view FailureName(MeasureFailure failure);

struct Measurement {
  MeasureFailure failure = MeasureFailure::kNone;
  std::string message;          // of a failure
  std::vector<double> seconds;  // every sample, in order; empty after a failure
  int64_t code_bytes = 0;       // size of the shared libraries
  Counters counters;            // of main's code
  double max_error = 0;         // largest error of an element, as a part of the error that is allowed for it
  double compile_seconds = 0;

  bool ok() const { return failure == MeasureFailure::kNone; }
  double MedianSeconds() const;  // infinite after a failure
};

struct RunnerOptions {
  int threads = 0;                                // that a candidate may use; 0: target.cores
  uint64_t seed = 1;                              // of the inputs
  int compile_workers = 0;                        // 0: target.cores
  double compile_timeout = 30, run_timeout = 10;  // seconds per candidate
  double reference_timeout = 300;
  int64_t memory_bytes = int64_t{4} << 30;  // of each worker, beyond what the program's own tensors take
  // Shared libraries of functions that candidates call by name, of intrinsics for example.
  std::vector<std::string> libraries = {};
};

struct RunOptions {
  // Sampling ends when the 95% confidence interval of the median is at most this part of it to each side,
  double half_width = 0.01;
  // or after this time, or after that many samples.
  double seconds = 0.3;
  int most_samples = 100'000;
  double least_seconds = 0.02;  // of sampling, whatever the interval: shorter sampling may see one state of the machine
  // All candidates in turn, that many times: samples of different times of one candidate, levelled by what the others
  // took meanwhile (sampling.h). Compiled once.
  int rounds = 1;
  // A candidate whose first samples are all slower than this gets no more of them; where its first run alone takes
  // longer than this and than `seconds`, that is its only sample. 0: no such limit.
  double give_up_seconds = 0;
  Caches caches = Caches::kRotating;
  // The most that counters of main's code may be; candidates above are not run.
  Counters limits = {};
};

class Runner {
 public:
  virtual ~Runner() = default;
  // One measurement per candidate, in their order.
  virtual std::vector<Measurement> Run(std::span<const Module> candidates, const RunOptions& options = {}) = 0;
  // What is less than usual of its answers: results that are compared with less, or not at all. Empty: nothing.
  virtual std::string caution() const { return {}; }
};

// Measures on this machine. While candidates are measured, an exclusive lock of the machine (machine_lock.h) keeps
// every other LocalRunner of the user from compiling and measuring; each batch is compiled before, by as many workers
// as there are cores.
class LocalRunner : public Runner {
 public:
  // Starts the workers and computes the reference.
  static absl::StatusOr<std::unique_ptr<Runner>> Start(const Module& program, const Target& target,
                                                       const RunnerOptions& options = {});
};

}  // namespace tilewright
