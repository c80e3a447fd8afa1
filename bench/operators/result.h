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
  // A peer's result that is not the specified one: `max_relative_error` stands beside its time, and it is not compared.
  bool inexact = false;
};

struct Result {
  Workload workload;
  // What ran and was checked, where that was a smaller shape.
  std::optional<Shape> checked_shape;
  std::string implementation;
  std::string version;
  // Why there are no times; empty when there are.
  std::string error;
  // This compiler ran and was wrong, which is an error of the whole run. Peers are inexact.
  bool wrong = false;
  // All that were measured, the fastest first, inexact ones last. Not empty unless there is an error.
  std::vector<VariantResult> variants;
  // What is particular to the operands, where they are those in which a saturating peer is exact.
  std::string operands;
  // Why the times of a peer are compared with nobody's; empty where they are.
  std::string not_compared;
  double tolerance = 0;
  double tune_seconds = 0;
  int64_t trials = 0;

  bool ok() const { return error.empty(); }
  bool inexact() const { return ok() && best().inexact; }
  bool comparable() const { return ok() && !best().inexact && not_compared.empty(); }
  const VariantResult& best() const { return variants.front(); }
  // Measured, or projected; 0 where nothing is.
  double milliseconds() const { return best().emulated ? best().emulated->projected_ms : best().timing.median_ms; }
  // What is compared: the time, or the instructions of a run in an emulator where they are counted, since those of
  // peers are not projected to times.
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

// Whether there are algorithms that need fewer operations than are counted: Winograd's, or padding that is left out.
bool MayComputeLess(const Workload& workload);

// The results that do more than the peak allows (kOverPeak), which no right result does where nothing can be saved: the
// peak was measured too low. Nothing where all are below.
std::string OverPeak(const std::vector<Result>& results, const Peak& peak);
// Times and peaks are known to some percent.
inline constexpr double kOverPeak = 105;

bool SameWorkload(const Result& a, const Result& b);

// How many times faster a result is than the fastest peer on the same workload, itself left out; in an emulator, how
// many times the instructions that peer executes. 0 when there is none.
double RatioToBestPeer(const std::vector<Result>& results, const Result& result);

// The time of a program of this compiler with other extents, as a multiple of that with constant ones; 0 for others.
double RatioToConstant(const std::vector<Result>& results, const Result& result);

}  // namespace tilewright::bench
