#include "tools/tune_report.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "autoschedule/measure/executor/machine_load.h"

namespace tilewright {
namespace {

// Waiting for others that is worth a word.
constexpr double kLongWaitSeconds = 1;
// Clocks vary by some percent.
constexpr double kOverPeak = 1.05;

}  // namespace

std::string BusyLine(const TuneResult& result) {
  const double waited = result.statistics.wait_seconds;
  const bool loaded = result.others_share > kBusy;
  if (!loaded && waited < kLongWaitSeconds) return "";
  std::string line = "the machine is busy: ";
  if (loaded) absl::StrAppendFormat(&line, "other processes took %.0f%% of the CPU time", 100 * result.others_share);
  if (waited >= kLongWaitSeconds) {
    absl::StrAppendFormat(&line, "%s%.1f s went by until others had measured", loaded ? ", " : "", waited);
  }
  return line + "; times may be too long\n";
}

std::string NotBesideRulesLine(const TuneResult& result) {
  if (result.statistics.beside_preferred || result.statistics.measured <= 1) return "";
  return "caution: there was no time to measure the best and the schedule of the rules in turn\n";
}

std::string PeakLine(const SpeedOfLight& bound, const Target& target, double seconds, bool saves) {
  if (!bound.whole || bound.multiply_adds <= 0 || bound.arithmetic_seconds <= 0) return "";
  std::string line = absl::StrFormat("peak: %.1f GFLOP/s: ", 2e-9 * bound.multiply_adds / bound.arithmetic_seconds);
  if (target.name == "host") {
    absl::StrAppendFormat(&line, "%d cores at %.2f GHz, measured when this program started; rates of similar CPUs",
                          target.cores, target.clock_ghz);
  } else {
    absl::StrAppendFormat(&line, "%d cores at %.2f GHz, by the description of %s", target.cores, target.clock_ghz,
                          target.name);
  }
  if (kOverPeak * seconds < bound.arithmetic_seconds) {
    line += saves ? "; more than that: fewer operations than the program has"
                  : "; error: more than that is not possible, the clock was measured too low";
  }
  return line + "\n";
}

}  // namespace tilewright
