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
// A schedule within this of the bound ends a search.
constexpr double kAtBound = 1.05;
// The part of the time that a search has used when there is none left for a candidate.
constexpr double kMostOfTime = 0.25;

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

std::string NothingSearchedLine(const TuneResult& result, double seconds) {
  const SearchStatistics& s = result.statistics;
  const bool over = s.propose_seconds + s.predict_seconds + s.measure_seconds + s.wait_seconds >= kMostOfTime * seconds;
  if (s.measured != 1 || !over || result.seconds <= kAtBound * result.bound.seconds) return "";
  return absl::StrFormat("nothing was searched: the %g s were over after the schedule of the rules was measured\n",
                         seconds);
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
