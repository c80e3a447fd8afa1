// The search against itself with something taken away, on one task.
//
//   for (const Variant& variant : Variants()) ...
//   absl::StatusOr<SearchGroup> group = RunSearches(workload, /*seed=*/1, /*seconds=*/6, database);
//
// Terms:
//   variant  the full search, a search without a rung of the cost ladder, or drawing at random
//   run      one variant on one task with one seed, for a given time
//   group    the runs of all variants on a task with one seed. They share the reference and the workers; their order
//            rotates with the seed. At last the programs that they preferred for a while are measured against each
//            other, in turn, and these times are the results: the time at which a search met its best candidate is a
//            lucky one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "autoschedule/database/database.h"
#include "bench/operators/problem.h"

namespace tilewright::bench {

struct Variant {
  const char* name;
  bool evolve = true;     // or every candidate is drawn at random
  bool preferred = true;  // starts with the schedule of the rules
  bool speed_of_light = true, learned = true;
  bool other_tasks = true;  // the learned model begins with what was measured of other tasks
};
// The full search first.
std::span<const Variant> Variants();

struct SearchRun {
  std::string variant;
  double milliseconds = 0;  // of what it found, the last of `progress`; 0: nothing
  double spent = 0;         // seconds until it ended
  int64_t measured = 0, tries = 0;
  // Seconds since the start, and the milliseconds of the candidate that was thought to be the best from then on.
  std::vector<std::pair<double, double>> progress;
};

// How each model orders the candidates that random search measured: the rank correlation with their times. The learned
// model is trained on the tasks before, and on one half and asked for the other.
struct ModelRanks {
  int64_t candidates = 0;
  double speed_of_light = 0, projected = 0, other_tasks = 0, learned = 0;
};

struct SearchGroup {
  std::string task;  // "GMM:1,512,512,512 f32"
  uint64_t seed = 0;
  double seconds = 0;  // of each run
  std::vector<SearchRun> runs;
  ModelRanks ranks;
};

std::string TaskName(const Workload& workload);

// What the full search measures goes into the database, and what that holds of other tasks trains its model first.
absl::StatusOr<SearchGroup> RunSearches(const Workload& workload, uint64_t seed, double seconds, Database& database);

// One line, and back; an error names what is missing.
std::string ToJson(const SearchGroup& group);
absl::StatusOr<SearchGroup> SearchGroupFromJson(const std::string& line);

}  // namespace tilewright::bench
