#include "autoschedule/database/apply_best.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "autoschedule/database/version_1.h"
#include "ir/structural.h"
#include "schedule/script/trace_text.h"

namespace tilewright {

absl::StatusOr<Schedule> ReplayRecord(const Module& module, const TuningRecord& record, IntrinRegistry* intrins) {
  const auto trace = TraceFromJson(record.trace);
  if (!trace.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("record ", record.uid, " has no trace that can be read: ", std::string(trace.status().message())));
  }
  Schedule schedule(module, {.intrins = intrins});
  if (Outcome<std::monostate> replayed = schedule.Replay(*trace); !replayed.ok()) {
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

absl::StatusOr<Schedule> ApplyBest(const Module& module, const Target& target, const Database& database,
                                   IntrinRegistry* intrins, const ApplyBestOptions& options) {
  RecordQuery query{.workload = StructuralHash(module), .target = TargetKey(target), .dimensions = options.dimensions};
  std::optional<Schedule> found;
  size_t stale = 0;
  // Records with any number of threads after those, except the ones that were already looked at; projected times in the
  // end.
  for (const auto& [emulated, threads] : {std::pair(false, target.cores), {false, 0}, {true, 0}}) {
    for (const Caches caches : {Caches::kRotating, Caches::kWarm, Caches::kCold}) {
      query.target = TargetKey(target, emulated);
      query.threads = threads;
      query.caches = caches;
      absl::Status status = database.VisitMeasured(query, [&](const TuningRecord& record) {
        if (!emulated && query.threads == 0 && record.threads == target.cores) return true;
        auto schedule = ReplayRecord(module, record, intrins);
        if (schedule.ok()) {
          found = *std::move(schedule);
          return false;
        }
        ++stale;
        if (options.stale != nullptr) options.stale->push_back(std::string(schedule.status().message()));
        return true;
      });
      if (!status.ok()) return status;
      if (found) return *std::move(found);
    }
  }
  return absl::NotFoundError(absl::StrCat(
      database.path(), ": no record of workload ", HashText(query.workload), " for target ", TargetKey(target),
      stale > 0 ? absl::StrCat(" that is not stale (", stale, (stale > 1 ? " are)" : " is)")) : ""));
}

}  // namespace tilewright
