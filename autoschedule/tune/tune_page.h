// A tuning run as a page: how the best came down over time, what became of every candidate, how well the cost models
// ordered those that were measured, and the schedule that was found.
//
//   TuningRun run{.title = "matmul.py", .bound_seconds = bound.seconds};
//   options.on_measured = [&](const TuneMeasurement& m) { run.measurements.push_back(m); };
//   ... Tune ...
//   run.statistics = result.statistics; ...
//   file << ToHtml(run);
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "autoschedule/tune/tune.h"

namespace tilewright {

struct TuningRun {
  std::string title;    // of the program
  std::string command;  // that started it
  std::string target;
  // What else there is to know: the version, threads, what limits the best schedule, noise.
  std::vector<std::pair<std::string, std::string>> facts;
  std::vector<TuneMeasurement> measurements;  // in order; the first is that of the rules
  std::vector<std::string> failures;          // the first message of each kind
  SearchStatistics statistics;
  double best_seconds = 0;
  double bound_seconds = 0;    // 0: not known
  std::string trace, program;  // of the best schedule
};

// Nothing is loaded from elsewhere, and there are no scripts.
std::string ToHtml(const TuningRun& run);

}  // namespace tilewright
