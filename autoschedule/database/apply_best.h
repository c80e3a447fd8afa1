// The best known schedule of a program.
//
//   absl::StatusOr<Schedule> schedule = ApplyBest(module, HostTarget(), *database, &intrins);
//
// Records measured with as many threads as the target has cores come first, others after them; of both, those with
// rotating operands before those with warm caches, and these before those with cold ones. A stale record (see record.h)
// is reported and passed over.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "autoschedule/database/database.h"
#include "ir/function.h"
#include "schedule/recorder/schedule.h"
#include "target/target.h"

namespace tilewright {

struct ApplyBestOptions {
  std::map<std::string, int64_t> dimensions = {};  // as in RecordQuery
  std::vector<std::string>* stale = nullptr;       // receives a sentence for each stale record
};

// The schedule of the best record that is not stale; NotFound where there is none. `intrins` must outlive the result.
absl::StatusOr<Schedule> ApplyBest(const Module& module, const Target& target, const Database& database,
                                   IntrinRegistry* intrins, const ApplyBestOptions& options = {});

// The schedule that a record's trace leads to, or why the record is stale (FailedPrecondition).
absl::StatusOr<Schedule> ReplayRecord(const Module& module, const TuningRecord& record, IntrinRegistry* intrins);

}  // namespace tilewright
