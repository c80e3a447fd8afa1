#include "bench/search/search_run.h"

#include <algorithm>
#include <cstddef>
#include <map>

#include "absl/strings/str_cat.h"
#include "autoschedule/cost/learned.h"
#include "autoschedule/cost/projected.h"
#include "autoschedule/cost/speed_of_light.h"
#include "autoschedule/database/canonical_names.h"
#include "autoschedule/measure/runner.h"
#include "autoschedule/search/measured_record.h"
#include "autoschedule/search/search.h"
#include "autoschedule/search/warm_start.h"
#include "autoschedule/sketch/auto_schedule.h"
#include "base/rank_correlation.h"
#include "base/status_macros.h"
#include "bench/operators/program.h"
#include "codegen/runtime/timer.h"
#include "intrin/registry.h"
#include "target/target.h"

namespace tilewright::bench {
namespace {

constexpr Variant kVariants[] = {
    {.name = "full"},
    {.name = "random", .evolve = false, .preferred = false},
    {.name = "rules, then random", .evolve = false},
    {.name = "without speed of light", .speed_of_light = false},
    {.name = "without learning", .learned = false},
    {.name = "without other tasks", .other_tasks = false},
};

// Short and often, so that the machine's moods meet all of them.
RunOptions FinalOptions() { return {.half_width = 0, .seconds = 0.02, .rounds = 30}; }

// Candidates of random search with their times.
struct Measured {
  std::vector<Function> programs;
  std::vector<double> seconds;
};

// A candidate that some run preferred to all others for a while.
struct Leader {
  uint64_t hash;
  Module module;
};

struct LeadChange {
  double seconds;  // since the start of the run
  std::ptrdiff_t leader;
};

template <class T>
std::vector<T> Half(const std::vector<T>& all, size_t which) {
  std::vector<T> half;
  for (size_t i = which; i < all.size(); i += 2) half.push_back(all[i]);
  return half;
}

ModelRanks RanksOf(const Measured& measured, const Target& target, const std::vector<MeasuredFeatures>& before) {
  ModelRanks ranks{.candidates = static_cast<int64_t>(measured.programs.size())};
  if (measured.programs.size() < 4) return ranks;
  ranks.speed_of_light = RankCorrelation(SpeedOfLightModel(target).Predict(measured.programs), measured.seconds);
  ranks.projected = RankCorrelation(ProjectedModel(target).Predict(measured.programs), measured.seconds);
  LearnedModel of_others(target);
  of_others.LearnPrior(before);
  ranks.other_tasks = RankCorrelation(of_others.Predict(measured.programs), measured.seconds);
  for (size_t which : {0, 1}) {
    LearnedModel model(target);
    model.Update(Half(measured.programs, which), Half(measured.seconds, which), 0);
    const std::vector<double> asked = model.Predict(Half(measured.programs, 1 - which));
    ranks.learned += RankCorrelation(asked, Half(measured.seconds, 1 - which)) / 2;
  }
  return ranks;
}

class Group {
 public:
  Group(const Workload& workload, uint64_t seed, double seconds, Database& database)
      : module_(MakeProgram(workload).function),
        target_(HostTarget()),
        query_{.workload = WorkloadOf(module_), .target = TargetKey(target_), .threads = target_.cores},
        database_(database),
        group_{TaskName(workload), seed, seconds} {}

  absl::StatusOr<SearchGroup> Run() {
    const size_t count = std::size(kVariants);
    group_.runs.resize(count);
    for (size_t i = 0; i < count; ++i) {
      const size_t which = (i + group_.seed) % count;
      // Each of its own: a runner keeps what it compiled, and variants meet the same candidates.
      TW_ASSIGN_OR_RETURN(auto runner, LocalRunner::Start(module_, target_, {.threads = target_.cores}));
      TW_RETURN_IF_ERROR(RunVariant(kVariants[which], *runner, group_.runs[which]));
    }
    TW_ASSIGN_OR_RETURN(const auto before, OfOtherTasks());
    group_.ranks = RanksOf(measured_, target_, before);
    for (TuningRecord& record : records_) {
      TW_RETURN_IF_ERROR(database_.Put(std::move(record)));
    }
    TW_ASSIGN_OR_RETURN(auto runner, LocalRunner::Start(module_, target_, {.threads = target_.cores}));
    MeasureLeaders(*runner);
    return std::move(group_);
  }

 private:
  // From then on the run prefers that candidate.
  void Lead(SearchRun& run, double seconds, const Candidate& candidate) {
    const auto known = std::ranges::find(leaders_, candidate.hash, &Leader::hash);
    const auto place = known - leaders_.begin();
    if (known == leaders_.end()) leaders_.push_back({candidate.hash, candidate.schedule.module()});
    std::vector<LeadChange>& changes = changes_[&run];
    if (changes.empty() || changes.back().leader != place) changes.push_back({seconds, place});
  }

  absl::StatusOr<std::vector<MeasuredFeatures>> OfOtherTasks() const {
    TW_ASSIGN_OR_RETURN(auto measured, MeasuredBefore(database_, query_));
    std::erase_if(measured, [&](const MeasuredFeatures& m) { return m.task == query_.workload; });
    return measured;
  }

  absl::Status RunVariant(const Variant& variant, Runner& runner, SearchRun& run) {
    IntrinRegistry intrins = IntrinRegistry::Builtin();
    const int64_t start = runtime::NowNanoseconds();
    const auto spent = [&] { return static_cast<double>(runtime::NowNanoseconds() - start) * 1e-9; };
    const Space space(module_, target_, &intrins);
    ProjectedModel projected(target_);
    LearnedModel learned(target_, {.seed = group_.seed});
    CostModel& model = variant.learned ? static_cast<CostModel&>(learned) : projected;
    SearchOptions options{.seed = group_.seed, .evolve = variant.evolve, .start_preferred = variant.preferred};
    if (variant.evolve && variant.learned && variant.other_tasks) {
      TW_ASSIGN_OR_RETURN(auto measured, OfOtherTasks());
      options.prepare_model = [&learned, before = std::move(measured)] { learned.LearnPrior(before); };
    }
    if (variant.speed_of_light) {
      const Schedule preferred = AutoSchedule(module_, target_, &intrins).schedule;
      options.bound_seconds = BoundSeconds(module_.Find("main"), preferred.module().Find("main"), target_);
    }
    options.on_progress = [&](const SearchProgress& progress) {
      if (progress.best != nullptr) Lead(run, spent(), *progress.best);
    };
    options.on_measured = [&](const Candidate& candidate, const Measurement& measurement) {
      if (!measurement.ok()) return;
      if (!variant.evolve) {
        measured_.programs.push_back(candidate.schedule.module().Find("main"));
        measured_.seconds.push_back(measurement.MedianSeconds());
      } else if (&variant == &kVariants[0]) {
        records_.push_back(RecordOf(module_, target_, target_.cores, candidate.schedule, measurement, &intrins));
      }
    };
    options.seconds = group_.seconds - spent();
    const SearchResult found = Search(space, model, runner, options);
    run.variant = variant.name;
    run.spent = spent();
    run.measured = found.statistics.measured;
    run.tries = found.statistics.tries;
    if (found.best) Lead(run, run.spent, *found.best);
    return absl::OkStatus();
  }

  void MeasureLeaders(Runner& runner) {
    std::vector<Module> modules;
    for (const Leader& leader : leaders_) modules.push_back(leader.module);
    const std::vector<Measurement> measurements = runner.Run(modules, FinalOptions());
    for (auto& [run, changes] : changes_) {
      for (const LeadChange& change : changes) {
        const Measurement& measurement = measurements[static_cast<size_t>(change.leader)];
        if (measurement.ok()) run->progress.emplace_back(change.seconds, measurement.MedianSeconds() * 1e3);
      }
      if (!run->progress.empty()) run->milliseconds = run->progress.back().second;
    }
  }

  const Module module_;
  const Target target_;
  const RecordQuery query_;
  Database& database_;
  SearchGroup group_;
  std::vector<Leader> leaders_;
  std::map<SearchRun*, std::vector<LeadChange>> changes_;
  Measured measured_;                  // by random search
  std::vector<TuningRecord> records_;  // of the full search
};

}  // namespace

std::span<const Variant> Variants() { return kVariants; }

std::string TaskName(const Workload& workload) {
  return absl::StrCat(std::string(Name(workload.shape.op)), ":", NumbersText(workload.shape), " ",
                      std::string(Name(workload.dtype)));
}

absl::StatusOr<SearchGroup> RunSearches(const Workload& workload, uint64_t seed, double seconds, Database& database) {
  return Group(workload, seed, seconds, database).Run();
}

}  // namespace tilewright::bench
