#include "autoschedule/tune/tune.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <span>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "autoschedule/cost/learned.h"
#include "autoschedule/cost/projected.h"
#include "autoschedule/database/canonical_names.h"
#include "autoschedule/measure/executor/machine_load.h"
#include "autoschedule/measure/executor/machine_lock.h"
#include "autoschedule/measure/runner.h"
#include "autoschedule/measure/sizes_runner.h"
#include "autoschedule/search/measured_record.h"
#include "autoschedule/search/warm_start.h"
#include "autoschedule/sketch/space.h"
#include "base/status_macros.h"
#include "ir/functor.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

// A program whose reference takes longer than this and than the search is measured without one.
constexpr double kLeastReferenceSeconds = 5;
// A candidate may compile for as long as the search takes, at least this long and at most for 30 seconds.
constexpr double kLeastCompileSeconds = 4;

using Instant = std::chrono::steady_clock::time_point;

double SecondsSince(Instant start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

bool HasWhile(const Function& function) {
  bool found = false;
  PreOrder(function->body, [&](const Stmt& stmt) {
    found |= isa<WhileNode>(stmt);
    return !found;
  });
  return found;
}

// Measures for a search with caches as it asks for, and lets it compute only while nobody on the machine measures:
// between its measurements it holds the lock, shared.
class SharingRunner : public Runner {
 public:
  SharingRunner(Runner& runner, MachineLock lock, Caches caches, double most_wait_seconds)
      : runner_(runner), lock_(std::move(lock)), caches_(caches) {
    lock_.LimitWaiting(most_wait_seconds);
    computing_.emplace(lock_.Shared());
  }

  std::vector<Measurement> Run(std::span<const Module> candidates, const RunOptions& options) override {
    computing_.reset();  // the runner takes the lock as it needs it
    RunOptions run = options;
    run.caches = caches_;
    std::vector<Measurement> measurements = runner_.Run(candidates, run);
    lock_.LimitWaiting(options.most_wait_seconds);
    computing_.emplace(lock_.Shared());
    return measurements;
  }
  double WaitedSeconds() const override { return runner_.WaitedSeconds() + lock_.waited_seconds(); }

 private:
  Runner& runner_;
  MachineLock lock_;
  const Caches caches_;
  std::optional<MachineLock::Guard> computing_;
};

}  // namespace

absl::StatusOr<std::vector<std::map<std::string, int64_t>>> SizesToMeasure(const Function& main,
                                                                           const SizesByName& sizes) {
  const std::vector<std::string> extents = SymbolicExtents(main);
  size_t count = 1;
  for (const auto& [name, values] : sizes) {
    if (std::ranges::find(extents, name) == extents.end()) {
      return absl::InvalidArgumentError(absl::StrCat(main->name, " has no symbolic extent ", name));
    }
    if (values.size() > 1 && count > 1 && values.size() != count) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, " has ", values.size(), " sizes, and another extent ", count));
    }
    count = std::max(count, values.size());
  }
  for (const std::string& name : extents) {
    if (!sizes.contains(name)) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, " is a symbolic extent: which sizes is it to be tuned for (--dim ", name, "=N,...)?"));
    }
  }
  std::vector<std::map<std::string, int64_t>> result;
  for (size_t i = 0; i < (extents.empty() ? 0 : count); ++i) {
    std::map<std::string, int64_t>& at = result.emplace_back();
    for (const auto& [name, values] : sizes) at[name] = values[values.size() == 1 ? 0 : i];
  }
  return result;
}

namespace {

RunnerOptions RunnerOptionsOf(const Target& given, const TuneOptions& options) {
  return {.threads = given.cores,
          .compile_timeout = std::clamp(options.seconds, kLeastCompileSeconds, 30.0),
          .reference_timeout = std::max(kLeastReferenceSeconds, options.seconds),
          .libraries = options.libraries,
          .launcher = options.launcher};
}

SearchOptions SearchOptionsOf(const TuneOptions& options, double bound_seconds) {
  return {.trials = options.trials,
          .seed = options.seed,
          .bound_seconds = bound_seconds,
          .stop = options.stop,
          .on_progress = options.on_progress};
}

absl::Status CheckCaches(Caches caches, const Target& target, bool elsewhere) {
  if (caches != Caches::kCold) return absl::OkStatus();
  if (target.is_gpu()) return absl::InvalidArgumentError("cold caches are measured on CPUs only");
  if (elsewhere) return absl::InvalidArgumentError("cold caches are measured on this machine only");
  return absl::OkStatus();
}

// What is told of a candidate: its times, and those that the two models expect.
TuneMeasurement MeasurementOf(const Candidate& candidate, const Measurement& measurement, double at_seconds,
                              const ProjectedModel& projected, const LearnedModel& learned) {
  const Function scheduled = candidate.schedule.module().Main();
  TuneMeasurement result{.at_seconds = at_seconds,
                         .seconds = measurement.MedianSeconds(),
                         .choices = candidate.choices,
                         .failure = std::string(FailureName(measurement.failure)),
                         .projected = projected.Predict({&scheduled, 1})[0]};
  if (!measurement.seconds.empty()) {
    const auto [least, most] = std::ranges::minmax(measurement.seconds);
    result.least_seconds = least;
    result.most_seconds = most;
  }
  if (learned.has_learned()) result.learned = learned.Predict({&scheduled, 1})[0];
  return result;
}

// Tells and stores the records of what is measured, up to the first that cannot be stored.
class Recorder {
 public:
  Recorder(const Module& module, const Target& target, const RecordQuery& query, const TuneOptions& options,
           IntrinRegistry* intrins)
      : module_(module), target_(target), query_(query), options_(options), intrins_(intrins) {}

  void Put(const Candidate& candidate, const Measurement& measurement, bool final) {
    if ((options_.database == nullptr && !options_.on_record) || !status_.ok() ||
        measurement.failure == MeasureFailure::kBusy)
      return;
    TuningRecord record = RecordOf(module_, target_, query_.threads, candidate.schedule, measurement, intrins_);
    record.final = final;
    record.target = query_.target;
    record.caches = query_.caches;
    if (options_.on_record) options_.on_record(record);
    if (options_.database != nullptr) status_ = options_.database->Put(std::move(record));
  }
  const absl::Status& status() const { return status_; }

 private:
  const Module& module_;
  const Target& target_;
  const RecordQuery& query_;
  const TuneOptions& options_;
  IntrinRegistry* intrins_;
  absl::Status status_;
};

// Why a search measured nothing.
absl::Status NothingMeasured(const Function& main, SearchResult found) {
  std::vector<std::string> reasons = std::move(found.failures);
  for (const auto& [reason, count] : found.statistics.refused) reasons.push_back(reason);
  // A program that is wrong as it was written says more than its candidates.
  for (const Diagnostic& diagnostic : VerifyProgram(main).diagnostics) {
    if (diagnostic.verdict != Verdict::kRefuted) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("the program is refused: ", diagnostic.check, ": ", diagnostic.reason));
  }
  return absl::InternalError(absl::StrCat("no candidate could be measured: ", absl::StrJoin(reasons, "; "),
                                          HasWhile(main) ? "; a while loop may not end on random inputs" : ""));
}

}  // namespace

absl::StatusOr<TuneResult> Tune(const Module& program, const Target& given, IntrinRegistry* intrins,
                                const TuneOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  if (!program.Main()) return absl::InvalidArgumentError("which function? there are several, and none is main");
  TW_ASSIGN_OR_RETURN(const auto sizes, SizesToMeasure(program.Main(), options.sizes));
  Module module = program;
  if (!sizes.empty()) module.Set(WithLikelySizes(program.Main(), options.sizes));
  const Function main = module.Main();
  const bool emulated = IsEmulated(given, options.launcher), elsewhere = emulated || !options.launcher.empty();
  const Target target = MeasuredTarget(given, options.launcher);
  TW_RETURN_IF_ERROR(CheckCaches(options.caches, target, elsewhere));
  const Caches caches = elsewhere ? Caches::kWarm : options.caches;
  TW_RETURN_IF_ERROR(CheckMeasures(target, options.launcher));
  const Space space(module, target, intrins);
  TW_ASSIGN_OR_RETURN(auto runner, StartAtSizes(module, target, sizes, RunnerOptionsOf(given, options)));
  TW_ASSIGN_OR_RETURN(MachineLock lock, MachineLock::Open());
  SharingRunner sharing(*runner, std::move(lock), caches, options.seconds - SecondsSince(start));

  const RecordQuery query{
      .workload = WorkloadOf(module), .target = TargetKey(target, emulated), .threads = target.cores, .caches = caches};
  const Schedule preferred = AutoSchedule(module, target, intrins).schedule;
  // Times at several sizes have no bound that one of them has.
  const double bound = sizes.size() > 1 ? 0 : BoundSeconds(main, preferred.module().Main(), target);
  SearchOptions search = SearchOptionsOf(options, bound);
  const ProjectedModel projected(target);
  LearnedModel learned(target, {.seed = options.seed});
  if (options.database != nullptr) {
    TW_ASSIGN_OR_RETURN(auto choices, GoodChoices(*options.database, query, module));
    search.warm_starts = std::move(choices);
    TW_ASSIGN_OR_RETURN(auto measured, MeasuredBefore(*options.database, query));
    search.prepare_model = [&learned, before = std::move(measured)] { learned.LearnPrior(before); };
  }
  Recorder recorder(module, target, query, options, intrins);
  search.on_measured = [&](const Candidate& candidate, const Measurement& measurement) {
    if (options.on_measured) {
      options.on_measured(MeasurementOf(candidate, measurement, SecondsSince(start), projected, learned));
    }
    recorder.Put(candidate, measurement, false);
  };
  search.on_final = [&](const Candidate& candidate, const Measurement& measurement) {
    recorder.Put(candidate, measurement, true);
  };
  search.seconds = options.seconds - SecondsSince(start);
  const MachineLoad load;
  SearchResult found = Search(space, learned, sharing, search);
  const double others_share = load.OthersShare();
  if (!recorder.status().ok()) return recorder.status();
  if (!found.best) return NothingMeasured(main, std::move(found));
  found.best->schedule.RemoveUnusedQueries();
  return TuneResult{.schedule = std::move(found.best->schedule),
                    .seconds = found.best_seconds,
                    .bound = SpeedOfLightOf(main, target),
                    .statistics = std::move(found.statistics),
                    .others_share = others_share,
                    .failures = std::move(found.failures),
                    .left_alone = space.left_alone(),
                    .caution = runner->caution(),
                    .emulated = emulated};
}

}  // namespace tilewright
