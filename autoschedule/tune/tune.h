// Tuning: the fastest schedule of a program on this machine, found by search and kept in a database.
//
//   absl::StatusOr<TuneResult> tuned = Tune(module, HostTarget(), &intrins, {.seconds = 60, .database = &database});
//   Use(tuned->schedule.module());
//
// The pieces: space.h (what can be tried), cost/ (what is not worth a try), search.h, measure/ (how long it takes),
// database/ and warm_start.h (what was good before, here or for similar programs, is tried first, and what was measured
// of any program trains the cost model ahead).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "autoschedule/cost/speed_of_light.h"
#include "autoschedule/database/database.h"
#include "autoschedule/program/choices.h"
#include "autoschedule/program/sizes.h"
#include "autoschedule/search/search.h"
#include "autoschedule/sketch/auto_schedule.h"

namespace tilewright {

// What became of one candidate.
struct TuneMeasurement {
  double at_seconds = 0;                       // since the start
  double seconds = 0;                          // median of one call
  double least_seconds = 0, most_seconds = 0;  // of its samples
  std::vector<Choice> choices = {};            // that make the candidate
  std::string failure;                         // its reason; empty when there is a time
  // What models said before it was measured, less is better; the learned one only once it has learned something.
  double projected = 0;
  std::optional<double> learned;
};

struct TuneOptions {
  double seconds = 60;
  int64_t trials = 0;  // most measurements; 0: as many as the time allows
  uint64_t seed = 0;
  // Sizes of symbolic extents for which the schedule is to be fast; it is right at all sizes. Extents with several
  // sizes have the first of each together, then the second; one with a single size always has that.
  SizesByName sizes = {};
  Caches caches = Caches::kRotating;
  Database* database = nullptr;             // receives every measurement; may be null
  std::vector<std::string> libraries = {};  // of functions that intrinsics call by name
  std::string launcher = {};                // of RunnerOptions
  std::function<bool()> stop = {};          // of SearchOptions
  std::function<void(const SearchProgress&)> on_progress = {};
  std::function<void(const TuneMeasurement&)> on_measured = {};
  // Receives each record as it is stored, with or without a database.
  std::function<void(const TuningRecord&)> on_record = {};
};

struct TuneResult {
  Schedule schedule;
  double seconds = 0;  // median of one call; of several sizes their geometric mean
  SpeedOfLight bound;  // at the largest sizes
  SearchStatistics statistics;
  double others_share = 0;            // of the CPU time during the search that other processes took
  std::vector<std::string> failures;  // the first message of each kind
  std::vector<RuleRefusal> left_alone;
  std::string caution;    // Runner::caution
  bool emulated = false;  // `seconds` is projected (IsEmulated in autoschedule/measure/runner.h)
};

// What each measurement is at: a value for each symbolic extent. An error when sizes do not name the symbolic extents
// of the function, or when extents have different numbers of them.
absl::StatusOr<std::vector<std::map<std::string, int64_t>>> SizesToMeasure(const Function& main,
                                                                           const SizesByName& sizes);

// `module` has a function main; `target.cores` threads are used, one in an emulator. Elsewhere than on this machine
// operands are in the caches. An error when it cannot be measured, or when every candidate failed. `intrins` must
// outlive the result.
absl::StatusOr<TuneResult> Tune(const Module& module, const Target& target, IntrinRegistry* intrins,
                                const TuneOptions& options = {});

}  // namespace tilewright
