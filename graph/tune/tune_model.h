// Tuning of a model: its tasks share one budget of time, and a database keeps what was measured.
//
//   std::vector<ModelTask> tasks = TasksOf(plan, target);
//   TW_ASSIGN_OR_RETURN(ModelTuning tuning, TuneModel(tasks, target, database, {.seconds = 600}));
//   std::cout << ToString(tuning, tasks);
//
// Tasks are searched in slices (autoschedule/search/task_scheduler.h): the next one is of the task from which most is
// expected. Everything that is known of a task is in the database, so that a tuner that was stopped, or killed, goes on
// where it was. The table is read from there too.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "autoschedule/database/database.h"
#include "graph/tune/model_tasks.h"
#include "target/target.h"

namespace tilewright::graph {

struct ModelTuneProgress {
  double seconds = 0;  // since the start
  const ModelTask* task = nullptr;
  double before = 0, after = 0;  // of a call of the task: before this slice and after it
  double model_seconds = 0;      // of all calls of all tasks, as far as is known
};

struct ModelTuneOptions {
  double seconds = 60;
  int64_t trials = 0;  // most measurements; 0: as many as the time allows
  uint64_t seed = 0;
  Caches caches = Caches::kRotating;
  std::string launcher = {};
  std::function<bool()> stop = {};  // whether it is to end with what it has
  std::function<void(const ModelTuneProgress&)> on_progress = {};
  std::function<void(const TuningRecord&)> on_record = {};
};

// What the database says of a task.
struct TaskTimes {
  std::optional<double> by_rules;  // measured time of a call with the schedule of the rules
  std::optional<double> best;      // of the best record
  int64_t measured = 0;            // programs
};
absl::StatusOr<TaskTimes> TimesOf(const ModelTask& task, const RecordQuery& query, const Database& database);

// The query by which records of tasks are found, their workload left out.
RecordQuery QueryOf(const Target& target, const ModelTuneOptions& options);

struct ModelTuning {
  std::vector<TaskTimes> times;       // by task
  std::vector<std::string> failures;  // why tasks could not be tuned: "NAME: REASON"
  int64_t slices = 0;
  bool stopped = false;
};

// An error where nothing can be measured at all. `target`: as MeasuredTarget gives it.
absl::StatusOr<ModelTuning> TuneModel(absl::Span<const ModelTask> tasks, const Target& target, Database& database,
                                      const ModelTuneOptions& options);

// For each task its kernels, calls, time of a call before and after, percent of the bound, and whether a record is
// used; then the sum over a run. Times that were not measured are projected, and marked with ~.
std::string ToString(const ModelTuning& tuning, absl::Span<const ModelTask> tasks);

}  // namespace tilewright::graph
