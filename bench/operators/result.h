// What one implementation did on one workload.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/harness/peak.h"
#include "bench/harness/runner.h"
#include "bench/harness/statistics.h"
#include "bench/operators/problem.h"

namespace tilewright::bench {

struct VariantResult {
  std::string variant;
  Timing timing;
  double max_relative_error = 0;
  std::optional<EmulatedRun> emulated;  // in place of the timing
};

struct Result {
  Workload workload;
  // What ran and was checked, where that was a smaller shape.
  std::optional<Shape> checked_shape;
  std::string implementation;
  std::string version;
  // Why there are no times; empty when there are.
  std::string error;
  // The implementation ran and was wrong, which is an error of the whole run.
  bool wrong = false;
  // All that were measured, the fastest first. Not empty unless there is an error.
  std::vector<VariantResult> variants;
  double tolerance = 0;
  double tune_seconds = 0;
  int64_t trials = 0;

  bool ok() const { return error.empty(); }
  const VariantResult& best() const { return variants.front(); }
  // Measured, or projected; 0 where nothing is.
  double milliseconds() const { return best().emulated ? best().emulated->projected_ms : best().timing.median_ms; }
  // What is compared: the time, or the instructions of a run in an emulator where they are counted, since those of peers
  // are not projected to times.
  double cost() const {
    const std::optional<EmulatedRun>& run = best().emulated;
    return run && run->instructions > 0 ? static_cast<double>(run->instructions) : milliseconds();
  }
  double gflops() const { return Rate(Flops(workload.problem)); }
  double gigabytes_per_second() const { return Rate(Bytes(workload)); }

 private:
  double Rate(double amount) const { return milliseconds() == 0 ? 0 : amount / milliseconds() * 1e-6; }
};

// The name under which this compiler's own results appear; those of programs with other extents begin with it.
inline constexpr char kOwnName[] = "tilewright";
bool IsOwn(const Result& result);

// Percent of the machine's peak: arithmetic where there are products, otherwise bandwidth; 0 when it is not known.
double PercentOfPeak(const Result& result, const Peak& peak);

bool SameWorkload(const Result& a, const Result& b);

// How many times faster a result is than the fastest peer on the same workload, itself left out; in an emulator, how many
// times the instructions that peer executes. 0 when there is none.
double RatioToBestPeer(const std::vector<Result>& results, const Result& result);

// The time of a program of this compiler with other extents, as a multiple of that with constant ones; 0 for others.
double RatioToConstant(const std::vector<Result>& results, const Result& result);

}  // namespace tilewright::bench
