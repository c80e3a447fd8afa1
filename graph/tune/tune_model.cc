#include "graph/tune/tune_model.h"

#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "autoschedule/measure/runner.h"
#include "autoschedule/search/task_scheduler.h"
#include "autoschedule/tune/tune.h"
#include "base/status_macros.h"
#include "intrin/registry.h"

namespace tilewright::graph {
namespace {

// The time is divided into slices, so many for each task, if each task had the same part.
constexpr double kSlicesOfATask = 2;
// A shorter search measures hardly more than the schedules that it begins with; a longer one learns nothing of others.
constexpr double kLeastSlice = 2, kMostSlice = 15;
// Measurements of a slice where their number is given.
constexpr int64_t kTrialsOfASlice = 8;
// About what a program that was measured in an earlier run took.
constexpr double kSecondsOfAMeasurement = 0.1;

class ModelTuner {
 public:
  ModelTuner(absl::Span<const ModelTask> tasks, const Target& target, Database& database,
             const ModelTuneOptions& options)
      : tasks_(tasks), target_(target), database_(database), options_(options), query_(QueryOf(target, options)) {
    const double tasks_seconds = kSlicesOfATask * static_cast<double>(std::max<size_t>(tasks.size(), 1));
    slice_ = options.trials > 0 ? kSecondsOfAMeasurement * kTrialsOfASlice
                                : std::clamp(options.seconds / tasks_seconds, kLeastSlice, kMostSlice);
  }

  absl::StatusOr<ModelTuning> Run() {
    for (const ModelTask& task : tasks_) {
      TW_ASSIGN_OR_RETURN(const TaskTimes times, TimesOf(task, query_, database_));
      progress_.push_back({.weight = static_cast<double>(task.calls),
                           .best_seconds = times.best.value_or(task.projected_seconds),
                           .bound_seconds = task.bound_seconds,
                           .spent = kSecondsOfAMeasurement * static_cast<double>(times.measured)});
    }
    while (!Ended()) {
      const std::optional<size_t> next = NextTask(progress_, slice_);
      if (!next) break;
      TW_RETURN_IF_ERROR(Search(*next));
    }
    tuning_.stopped = Stopped();
    for (const ModelTask& task : tasks_) {
      TW_ASSIGN_OR_RETURN(TaskTimes times, TimesOf(task, query_, database_));
      tuning_.times.push_back(times);
    }
    return std::move(tuning_);
  }

 private:
  bool Stopped() const { return options_.stop && options_.stop(); }
  double Seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }
  bool Ended() const {
    if (Stopped()) return true;
    if (options_.trials > 0 && measured_ >= options_.trials) return true;
    return options_.seconds - Seconds() < kLeastSlice / 2;
  }
  double ModelSeconds() const {
    double sum = 0;
    for (const TaskProgress& task : progress_) sum += task.weight * task.best_seconds;
    return sum;
  }

  absl::Status Search(size_t which) {
    const ModelTask& task = tasks_[which];
    TaskProgress& progress = progress_[which];
    const double before = progress.best_seconds, begin = Seconds();
    IntrinRegistry intrins = IntrinRegistry::Builtin();
    TuneOptions options{.seconds = std::min(slice_, options_.seconds - begin),
                        .seed = options_.seed + static_cast<uint64_t>(tuning_.slices),
                        .sizes = task.sizes,
                        .caches = options_.caches,
                        .database = &database_,
                        .launcher = options_.launcher,
                        .stop = options_.stop,
                        .on_record = options_.on_record};
    if (options_.trials > 0) {
      options.trials = std::min(kTrialsOfASlice, options_.trials - measured_);
      options.seconds = options_.seconds - begin;
    }
    const auto tuned = Tune(task.program, target_, &intrins, options);
    ++tuning_.slices;
    if (!tuned.ok() && !Stopped()) {
      progress.ended = true;
      tuning_.failures.push_back(absl::StrCat(task.name, ": ", std::string(tuned.status().message())));
    }
    if (tuned.ok()) measured_ += std::max<int64_t>(tuned->statistics.measured, 1);
    TW_ASSIGN_OR_RETURN(const TaskTimes times, TimesOf(task, query_, database_));
    if (times.best) progress.best_seconds = *times.best;
    progress.last_spent = Seconds() - begin;
    progress.spent += progress.last_spent;
    // What was projected was not a time that could be gained from.
    const bool first = progress.spent <= progress.last_spent;
    progress.last_gain = (first ? times.by_rules.value_or(progress.best_seconds) : before) - progress.best_seconds;
    if (options_.on_progress) {
      options_.on_progress({.seconds = Seconds(),
                            .task = &task,
                            .before = before,
                            .after = progress.best_seconds,
                            .model_seconds = ModelSeconds()});
    }
    return absl::OkStatus();
  }

  const absl::Span<const ModelTask> tasks_;
  const Target target_;
  Database& database_;
  const ModelTuneOptions& options_;
  const RecordQuery query_;
  double slice_ = 0;  // seconds
  int64_t measured_ = 0;
  std::vector<TaskProgress> progress_;
  ModelTuning tuning_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

std::string Milliseconds(double seconds, bool measured) {
  return absl::StrFormat("%s%.4g ms", measured ? "" : "~", seconds * 1e3);
}

}  // namespace

RecordQuery QueryOf(const Target& target, const ModelTuneOptions& options) {
  const bool emulated = IsEmulated(target, options.launcher), elsewhere = emulated || !options.launcher.empty();
  return {.target = TargetKey(target, emulated),
          .threads = target.cores,
          .caches = elsewhere ? Caches::kWarm : options.caches};
}

absl::StatusOr<TaskTimes> TimesOf(const ModelTask& task, const RecordQuery& query, const Database& database) {
  RecordQuery of_task = query;
  of_task.workload = task.workload;
  TaskTimes times;
  const absl::Status visited = database.VisitMeasured(of_task, [&](const TuningRecord& record) {
    if (!times.best) times.best = record.MedianSeconds();
    if (record.scheduled == task.by_rules) times.by_rules = record.MedianSeconds();
    ++times.measured;
    return true;
  });
  if (!visited.ok()) return visited;
  return times;
}

absl::StatusOr<ModelTuning> TuneModel(absl::Span<const ModelTask> tasks, const Target& target, Database& database,
                                      const ModelTuneOptions& options) {
  TW_RETURN_IF_ERROR(CheckMeasures(target, options.launcher));
  return ModelTuner(tasks, target, database, options).Run();
}

std::string ToString(const ModelTuning& tuning, absl::Span<const ModelTask> tasks) {
  std::string text = absl::StrFormat("%-12s %5s %12s %12s %8s  %-6s %s\n", "kernels", "calls", "before", "after",
                                     "of bound", "record", "program");
  double before_sum = 0, after_sum = 0;
  bool all_measured = true;
  for (size_t i = 0; i < tasks.size(); ++i) {
    const ModelTask& task = tasks[i];
    const TaskTimes& times = tuning.times[i];
    const double before = times.by_rules.value_or(task.projected_seconds);
    const double after = times.best.value_or(before);
    before_sum += task.calls * before;
    after_sum += task.calls * after;
    all_measured &= times.by_rules.has_value();
    text +=
        absl::StrFormat("%-12s %5d %12s %12s %7.1f%%  %-6s %s\n", absl::StrJoin(task.kernels, ","), task.calls,
                        Milliseconds(before, times.by_rules.has_value()), Milliseconds(after, times.best.has_value()),
                        after > 0 ? 100 * task.bound_seconds / after : 0.0, times.best ? "yes" : "no", task.name);
  }
  absl::StrAppend(&text, "all calls of a run: ", Milliseconds(before_sum, all_measured), " before, ",
                  Milliseconds(after_sum, all_measured), " after\n");
  return text;
}

}  // namespace tilewright::graph
