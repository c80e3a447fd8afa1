#include "graph/tune/tune_joins.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "autoschedule/database/canonical_names.h"
#include "base/status_macros.h"

namespace tilewright::graph {
namespace {

// How much longer than projected a kernel may take.
constexpr double kDoubt = 1.5;
// Seconds, or trials, of the search for a program: enough for the schedule of the rules and some beside it.
constexpr double kSecondsOfAProgram = 2;
constexpr int64_t kTrialsOfAProgram = 8;

class JoinTuner {
 public:
  JoinTuner(const Target& target, Database& database, const ModelTuneOptions& options)
      : target_(target), database_(database), options_(options), query_(QueryOf(target, options)) {}

  // Whether all programs of the join were measured, some of them now.
  absl::StatusOr<bool> Measure(const FusionReport::Join& join) {
    const std::string both = absl::StrCat(join.producer, " and ", join.consumer);
    std::vector<ModelTask> open;
    for (const auto& [name, program] : {std::pair(both, join.joined),
                                        {absl::StrCat("apart: ", join.producer), join.first},
                                        {absl::StrCat("apart: ", join.consumer), join.second}}) {
      if (!BestOf(program)) open.push_back(TaskOf(name, program, target_));
    }
    for (const ModelTask& task : open) {
      TW_ASSIGN_OR_RETURN(const bool measured, Search(task));
      if (!measured) return false;
    }
    // Something else may have run beside it: the second look decides.
    if (!open.empty() && BestOf(join.joined) > *BestOf(join.first) + *BestOf(join.second)) {
      TW_RETURN_IF_ERROR(Search(TaskOf(both, join.joined, target_)).status());
    }
    return !open.empty();
  }

  bool Ended() const {
    if (options_.stop && options_.stop()) return true;
    return Left() < kSecondsOfAProgram / 2 || (options_.trials > 0 && trials_ >= options_.trials);
  }
  int64_t trials() const { return trials_; }
  const std::vector<std::string>& failures() const { return failures_; }

 private:
  std::optional<double> BestOf(const PrimFunc& program) const {
    RecordQuery query = query_;
    query.workload = WorkloadOf(Module(program));
    const auto best = database_.Best(query);
    return best.ok() ? std::optional(best->MedianSeconds()) : std::nullopt;
  }

  // Whether there is a record of the task afterwards.
  absl::StatusOr<bool> Search(ModelTask task) {
    if (Ended()) return false;
    task.calls = 1;  // nothing is expected of a task that is not called
    task.kernels = {"a join"};
    ModelTuneOptions options = options_;
    options.seconds = options.trials > 0 ? Left() : std::min(kSecondsOfAProgram, Left());
    if (options.trials > 0) options.trials = std::min(kTrialsOfAProgram, options_.trials - trials_);
    trials_ += kTrialsOfAProgram;
    TW_ASSIGN_OR_RETURN(const ModelTuning tuning, TuneModel({&task, 1}, target_, database_, options));
    failures_.insert(failures_.end(), tuning.failures.begin(), tuning.failures.end());
    return tuning.times[0].best.has_value();
  }

  double Left() const {
    return options_.seconds - std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

  const Target& target_;
  Database& database_;
  const ModelTuneOptions& options_;
  const RecordQuery query_;
  int64_t trials_ = 0;
  std::vector<std::string> failures_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

double ExpectedGainApart(const FusionReport::Join& join) {
  return join.calls * std::max(0.0, kDoubt * join.seconds - join.apart_seconds);
}

absl::StatusOr<JoinTuning> TuneJoins(absl::Span<const FusionReport::Join> joins, const Target& target,
                                     Database& database, const ModelTuneOptions& options) {
  std::vector<std::pair<double, size_t>> ordered;
  for (size_t i = 0; i < joins.size(); ++i) ordered.emplace_back(-ExpectedGainApart(joins[i]), i);
  std::ranges::sort(ordered);
  JoinTuner tuner(target, database, options);
  JoinTuning tuning;
  for (const auto& [loss, i] : ordered) {
    if (tuner.Ended() || loss >= 0) break;
    TW_ASSIGN_OR_RETURN(const bool now, tuner.Measure(joins[i]));
    tuning.joins += now ? 1 : 0;
  }
  tuning.trials = tuner.trials();
  tuning.failures = tuner.failures();
  return tuning;
}

}  // namespace tilewright::graph
