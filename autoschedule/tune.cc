#include "autoschedule/tune.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "autoschedule/cost/learned.h"
#include "autoschedule/cost/projected.h"
#include "autoschedule/measure/machine_lock.h"
#include "autoschedule/measure/measured_record.h"
#include "autoschedule/measure/runner.h"
#include "autoschedule/space.h"
#include "ir/structural.h"
#include "schedule/trace_text.h"

namespace tilewright {
namespace {

// Records of this workload, and of others, whose choices are tried first.
constexpr size_t kOwnStarts = 8, kOtherStarts = 8;

using Instant = std::chrono::steady_clock::time_point;

double SecondsSince(Instant start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The blocks that a schedule looks up first: those of its program. Programs of a kind have the same ones.
std::vector<std::string> BlockNames(const Trace& trace) {
  std::vector<std::string> names;
  for (const Instruction& instruction : trace.instructions) {
    const bool query = std::string_view(instruction.primitive->name) == "get_block";
    const auto* name = query ? instruction.args[0].As<std::string>() : nullptr;
    if (name != nullptr) names.push_back(*name);
  }
  return names;
}

// The search computes only while nobody on the machine measures: between its measurements it holds the lock, shared.
class SharingRunner : public Runner {
 public:
  SharingRunner(Runner& runner, MachineLock lock) : runner_(runner), lock_(std::move(lock)) {
    computing_.emplace(lock_.Shared());
  }

  std::vector<Measurement> Run(std::span<const Module> candidates, const RunOptions& options) override {
    computing_.reset();  // the runner takes the lock as it needs it
    std::vector<Measurement> measurements = runner_.Run(candidates, options);
    computing_.emplace(lock_.Shared());
    return measurements;
  }

 private:
  Runner& runner_;
  MachineLock lock_;
  std::optional<MachineLock::Guard> computing_;
};

absl::StatusOr<std::vector<Choices>> WarmStarts(const Database& database, const RecordQuery& query,
                                                const std::vector<std::string>& blocks) {
  std::vector<Choices> starts;
  absl::Status visited = database.VisitMeasured(query, [&](const TuningRecord& record) {
    const auto trace = TraceFromJson(record.trace);
    if (trace.ok()) starts.push_back(Choices::OfTrace(*trace));
    return starts.size() < kOwnStarts;
  });
  if (!visited.ok()) return visited;
  const auto records = database.All();
  if (!records.ok()) return records.status();
  // The best of each other workload, the latest workloads first.
  std::set<uint64_t> seen = {query.workload};
  for (auto record = records->rbegin(); record != records->rend() && seen.size() <= kOtherStarts; ++record) {
    if (record->target != query.target || record->failed() || !seen.insert(record->workload).second) continue;
    const auto best = database.Best({.workload = record->workload, .target = query.target, .threads = query.threads});
    if (!best.ok()) continue;
    const auto trace = TraceFromJson(best->trace);
    if (trace.ok() && BlockNames(*trace) == blocks) starts.push_back(Choices::OfTrace(*trace));
  }
  return starts;
}

}  // namespace

absl::StatusOr<TuneResult> Tune(const Module& module, const Target& target, IntrinRegistry* intrins,
                                const TuneOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const Function main = module.Find("main");
  if (!main) return absl::InvalidArgumentError("the module has no function main");
  const Space space(module, target, intrins);
  auto runner = LocalRunner::Start(module, target, {.threads = target.cores, .libraries = options.libraries});
  if (!runner.ok()) return runner.status();
  absl::StatusOr<MachineLock> lock = MachineLock::Open();
  if (!lock.ok()) return lock.status();
  SharingRunner sharing(**runner, *std::move(lock));

  const RecordQuery query{.workload = StructuralHash(module), .target = TargetKey(target), .threads = target.cores};
  const Schedule preferred = AutoSchedule(module, target, intrins).schedule;
  SearchOptions search{.trials = options.trials,
                       .seed = options.seed,
                       .bound_seconds = BoundSeconds(main, preferred.module().Find("main"), target),
                       .on_progress = options.on_progress};
  absl::Status stored;
  if (options.database != nullptr) {
    auto starts = WarmStarts(*options.database, query, BlockNames(preferred.trace()));
    if (!starts.ok()) return starts.status();
    search.warm_starts = *std::move(starts);
  }
  const ProjectedModel projected(target);
  LearnedModel learned(target, {.seed = options.seed});
  const auto put = [&](const Candidate& candidate, const Measurement& measurement, bool final) {
    if (options.database == nullptr || !stored.ok()) return;
    TuningRecord record = RecordOf(module, target, query.threads, candidate.schedule, measurement);
    record.final = final;
    stored = options.database->Put(std::move(record));
  };
  search.on_measured = [&](const Candidate& candidate, const Measurement& measurement) {
    if (options.on_measured) {
      const Function scheduled = candidate.schedule.module().Find("main");
      TuneMeasurement result{.at_seconds = SecondsSince(start),
                             .seconds = measurement.MedianSeconds(),
                             .failure = std::string(FailureName(measurement.failure)),
                             .projected = projected.Predict({&scheduled, 1})[0]};
      if (learned.num_measured() > 0) result.learned = learned.Predict({&scheduled, 1})[0];
      options.on_measured(result);
    }
    put(candidate, measurement, false);
  };
  search.on_final = [&](const Candidate& candidate, const Measurement& measurement) {
    put(candidate, measurement, true);
  };
  search.seconds = options.seconds - SecondsSince(start);
  SearchResult found = Search(space, learned, sharing, search);
  if (!stored.ok()) return stored;
  if (!found.best) {
    std::vector<std::string> reasons = std::move(found.failures);
    for (const auto& [reason, count] : found.statistics.refused) reasons.push_back(reason);
    return absl::InternalError(absl::StrCat("no candidate could be measured: ", absl::StrJoin(reasons, "; ")));
  }
  return TuneResult{.schedule = std::move(found.best->schedule),
                    .seconds = found.best_seconds,
                    .bound = SpeedOfLightOf(main, target),
                    .statistics = std::move(found.statistics),
                    .failures = std::move(found.failures),
                    .left_alone = space.left_alone()};
}

}  // namespace tilewright
