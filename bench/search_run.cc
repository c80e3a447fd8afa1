#include "bench/search_run.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

#include "absl/strings/str_cat.h"
#include "autoschedule/cost/learned.h"
#include "autoschedule/cost/projected.h"
#include "autoschedule/cost/rank_correlation.h"
#include "autoschedule/cost/speed_of_light.h"
#include "autoschedule/measure/runner.h"
#include "autoschedule/search.h"
#include "bench/program.h"
#include "codegen/runtime/timer.h"
#include "intrin/registry.h"
#include "ir/target.h"

namespace tilewright::bench {
namespace {

constexpr Variant kVariants[] = {
    {.name = "full"},
    {.name = "random", .evolve = false, .preferred = false},
    {.name = "rules, then random", .evolve = false},
    {.name = "without speed of light", .speed_of_light = false},
    {.name = "without projection", .projected = false},
    {.name = "without learning", .learned = false},
};

// Short and often, so that the machine's moods meet all of them.
constexpr RunOptions kFinal = {.half_width = 0, .seconds = 0.02, .rounds = 30};

// Candidates of random search with their times.
struct Measured {
  std::vector<Function> programs;
  std::vector<double> seconds;
};

template <class T>
std::vector<T> Half(const std::vector<T>& all, size_t which) {
  std::vector<T> half;
  for (size_t i = which; i < all.size(); i += 2) half.push_back(all[i]);
  return half;
}

ModelRanks RanksOf(const Measured& measured, const Target& target) {
  ModelRanks ranks{.candidates = static_cast<int64_t>(measured.programs.size())};
  if (measured.programs.size() < 4) return ranks;
  ranks.speed_of_light = RankCorrelation(SpeedOfLightModel(target).Predict(measured.programs), measured.seconds);
  ranks.projected = RankCorrelation(ProjectedModel(target).Predict(measured.programs), measured.seconds);
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
  Group(const Workload& workload, uint64_t seed, double seconds)
      : module_(MakeProgram(workload).function), target_(HostTarget()), group_{TaskName(workload), seed, seconds} {}

  absl::StatusOr<SearchGroup> Run() {
    auto runner = LocalRunner::Start(module_, target_, {.threads = target_.cores});
    if (!runner.ok()) return runner.status();
    const size_t count = std::size(kVariants);
    group_.runs.resize(count);
    winners_.resize(count);
    for (size_t i = 0; i < count; ++i) {
      const size_t which = (i + group_.seed) % count;
      RunVariant(kVariants[which], **runner, group_.runs[which], winners_[which]);
    }
    MeasureWinners(**runner);
    group_.ranks = RanksOf(measured_, target_);
    return std::move(group_);
  }

 private:
  void RunVariant(const Variant& variant, Runner& runner, SearchRun& run, std::optional<Module>& winner) {
    IntrinRegistry intrins = IntrinRegistry::Builtin();
    const int64_t start = runtime::NowNanoseconds();
    const Space space(module_, target_, &intrins);
    const ProjectedModel projected(target_);
    LearnedModel learned(target_, {.seed = group_.seed});
    SearchModels models;
    if (variant.projected) models.pruning.push_back(&projected);
    if (variant.learned) models.ranking = &learned;
    SearchOptions options{
        .seconds = group_.seconds, .seed = group_.seed, .evolve = variant.evolve, .start_preferred = variant.preferred};
    if (variant.speed_of_light) options.bound_seconds = SpeedOfLightOf(module_.Find("main"), target_).seconds;
    options.on_progress = [&](const SearchProgress& progress) {
      if (std::isfinite(progress.best_seconds))
        run.progress.emplace_back(progress.seconds, progress.best_seconds * 1e3);
    };
    if (!variant.evolve) {
      options.on_measured = [&](const Candidate& candidate, const Measurement& measurement) {
        if (!measurement.ok()) return;
        measured_.programs.push_back(candidate.schedule.module().Find("main"));
        measured_.seconds.push_back(measurement.MedianSeconds());
      };
    }
    const SearchResult found = Search(space, models, runner, options);
    run.variant = variant.name;
    run.spent = static_cast<double>(runtime::NowNanoseconds() - start) * 1e-9;
    run.measured = found.statistics.measured;
    run.tries = found.statistics.tries;
    if (found.best) winner = found.best->schedule.module();
  }

  void MeasureWinners(Runner& runner) {
    std::vector<Module> modules;
    std::vector<size_t> of;
    for (size_t i = 0; i < winners_.size(); ++i) {
      if (!winners_[i]) continue;
      modules.push_back(*winners_[i]);
      of.push_back(i);
    }
    const std::vector<Measurement> measurements = runner.Run(modules, kFinal);
    for (size_t i = 0; i < modules.size(); ++i) {
      if (measurements[i].ok()) group_.runs[of[i]].milliseconds = measurements[i].MedianSeconds() * 1e3;
    }
  }

  const Module module_;
  const Target target_;
  SearchGroup group_;
  std::vector<std::optional<Module>> winners_;
  Measured measured_;
};

}  // namespace

std::span<const Variant> Variants() { return kVariants; }

std::string TaskName(const Workload& workload) {
  return absl::StrCat(std::string(Name(workload.shape.op)), ":", NumbersText(workload.shape), " ",
                      std::string(Name(workload.dtype)));
}

absl::StatusOr<SearchGroup> RunSearches(const Workload& workload, uint64_t seed, double seconds) {
  return Group(workload, seed, seconds).Run();
}

}  // namespace tilewright::bench
