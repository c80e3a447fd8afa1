// What a tuning database knows that helps to search a program: choices that were good, for it or for others, and how
// long scheduled programs took, which train the cost model ahead of the first measurement.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "autoschedule/cost/learned.h"
#include "autoschedule/database/database.h"
#include "autoschedule/program/choices.h"
#include "ir/function.h"

namespace tilewright {

// The best choices of the workload in `query`, which is `program`, and the best of each of the latest other workloads
// that are programs of its kind: the same but for names and extents. By the names of `program`.
absl::StatusOr<std::vector<Choices>> GoodChoices(const Database& database, const RecordQuery& query,
                                                 const Module& program);

// Some of the programs of each of the latest workloads that were measured as `query` says.
absl::StatusOr<std::vector<MeasuredFeatures>> MeasuredBefore(const Database& database, const RecordQuery& query);

}  // namespace tilewright
