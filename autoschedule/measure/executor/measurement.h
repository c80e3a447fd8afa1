// What measuring gives, and how it is done.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autoschedule/database/caches.h"
#include "autoschedule/measure/protocol/worker_pool.h"
#include "codegen/counters.h"
#include "ir/function.h"

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
  kBusy,     // others measured for as long as RunOptions let it wait: says nothing about the candidate
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
  // The command before the worker that runs candidates, "ssh board" for example. Empty: this machine runs them; code of
  // another architecture in an emulator, where times are projected (codegen/remote/projection.h).
  std::string launcher = {};
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
  // Waiting for others who measure (machine_lock.h) ends after this time.
  double most_wait_seconds = std::numeric_limits<double>::infinity();
  // The most that counters of main's code may be; candidates above are not run.
  Counters limits = {};
};

// A candidate that was built, or why not: `measurement` has everything but times.
struct BuiltCandidate {
  Measurement measurement;
  Function main;     // what is measured
  Function prepack;  // packs constants ahead of time; null where nothing is packed
  std::string library, prepack_library;
};

Measurement FailedMeasurement(MeasureFailure failure, std::string message);
// What the end of a worker, or its silence, means.
Measurement MeasurementOfEnded(const WorkerReply& reply, MeasureFailure crash, MeasureFailure timeout);

}  // namespace tilewright
