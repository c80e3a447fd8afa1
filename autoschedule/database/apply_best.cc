#include "autoschedule/database/apply_best.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "autoschedule/database/canonical_names.h"
#include "autoschedule/database/version_1.h"
#include "base/status_macros.h"
#include "ir/structural.h"
#include "schedule/script/trace_text.h"

namespace tilewright {

namespace {

// A record that was made before workloads were known by what they compute: its trace names what the program names.
absl::StatusOr<Schedule> ReplayByNames(const Module& module, const TuningRecord& record, const Trace& trace,
                                       IntrinRegistry* intrins) {
  Schedule schedule(module, {.intrins = intrins});
  if (Outcome<std::monostate> replayed = schedule.Replay(trace); !replayed.ok()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "record ", record.uid, " is stale: ", RenderLine(replayed.refusal(), schedule.refused_function())));
  }
  const bool same = StructuralHash(schedule.module()) == record.scheduled;
  if (!same && !(record.version == kFirstTunerVersion && HashOfVersion1(schedule.module()) == record.scheduled)) {
    return absl::FailedPreconditionError(
        absl::StrCat("record ", record.uid, " is stale: its trace leads to another program than was measured"));
  }
  return schedule;
}

// The records of one workload, from best to worst.
class Finder {
 public:
  Finder(const Module& module, const Target& target, const Database& database, IntrinRegistry* intrins,
         const ApplyBestOptions& options)
      : module_(module), target_(target), database_(database), intrins_(intrins), options_(options) {}

  // Records with any number of threads after those with the target's, except the ones that were already looked at;
  // projected times in the end.
  absl::StatusOr<std::optional<Schedule>> Find(uint64_t workload) {
    RecordQuery query{.workload = workload, .target = TargetKey(target_), .dimensions = options_.dimensions};
    for (const auto& [emulated, threads] : {std::pair(false, target_.cores), {false, 0}, {true, 0}}) {
      for (const Caches caches : {Caches::kRotating, Caches::kWarm, Caches::kCold}) {
        query.target = TargetKey(target_, emulated);
        query.threads = threads;
        query.caches = caches;
        std::optional<Schedule> found;
        absl::Status status = database_.VisitMeasured(query, [&](const TuningRecord& record) {
          if (!emulated && threads == 0 && record.threads == target_.cores) return true;
          auto schedule = ReplayRecord(module_, record, intrins_);
          if (schedule.ok()) {
            found = *std::move(schedule);
            return false;
          }
          ++stale_;
          if (options_.stale != nullptr) options_.stale->push_back(std::string(schedule.status().message()));
          return true;
        });
        if (!status.ok()) return status;
        if (found) return found;
      }
    }
    return std::nullopt;
  }
  size_t stale() const { return stale_; }

 private:
  const Module& module_;
  const Target& target_;
  const Database& database_;
  IntrinRegistry* const intrins_;
  const ApplyBestOptions& options_;
  size_t stale_ = 0;
};

}  // namespace

absl::StatusOr<Schedule> ReplayRecord(const Module& module, const TuningRecord& record, IntrinRegistry* intrins) {
  const auto trace = TraceFromJson(record.trace);
  if (!trace.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("record ", record.uid, " has no trace that can be read: ", std::string(trace.status().message())));
  }
  const Module canonical = CanonicalNames(module);
  if (StructuralHash(canonical) != record.workload) return ReplayByNames(module, record, *trace, intrins);
  auto schedule = ReplayRenamed(*trace, canonical, module, intrins);
  if (!schedule.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("record ", record.uid, " is stale: ", std::string(schedule.status().message())));
  }
  if (WorkloadOf(schedule->module()) != record.scheduled) {
    return absl::FailedPreconditionError(
        absl::StrCat("record ", record.uid, " is stale: its trace leads to another program than was measured"));
  }
  return schedule;
}

absl::StatusOr<Schedule> ApplyBest(const Module& module, const Target& target, const Database& database,
                                   IntrinRegistry* intrins, const ApplyBestOptions& options) {
  Finder finder(module, target, database, intrins, options);
  const uint64_t workload = WorkloadOf(module), by_names = StructuralHash(module);
  TW_ASSIGN_OR_RETURN(auto found, finder.Find(workload));
  if (!found && by_names != workload) {
    TW_ASSIGN_OR_RETURN(found, finder.Find(by_names));
  }
  if (found) return *std::move(found);
  return absl::NotFoundError(absl::StrCat(
      database.path(), ": no record of workload ", HashText(workload), " for target ", TargetKey(target),
      finder.stale() > 0 ? absl::StrCat(" that is not stale (", finder.stale(), (finder.stale() > 1 ? " are)" : " is)"))
                         : ""));
}

}  // namespace tilewright
