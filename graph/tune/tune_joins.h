// Joined kernels are measured, and what they join apart, where projections may be wrong.
//
//   FusionReport report;                                  // of a load of the model with the database
//   TW_ASSIGN_OR_RETURN(const JoinTuning tuning, TuneJoins(report.joins, target, database, {.seconds = 15}));
//
// Fusion joins kernels by projected time. A join costs a run what it is slower than its parts, so that joins are
// measured in the order of what could be gained if their projections are wrong. The times are records of three
// programs like any other, and the decision is not kept beside them: whoever joins kernels with the database at hand
// compares the best times of all three (KernelCosts::Measured). A load after this one may then find other joins.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "autoschedule/database/database.h"
#include "graph/fusion/fuse_kernels.h"
#include "graph/tune/tune_model.h"
#include "target/target.h"

namespace tilewright::graph {

// Seconds of a run that taking a join apart would save, if it took so much longer than it is projected to take that
// projections would still be called good; 0 where it would save nothing even then.
double ExpectedGainApart(const FusionReport::Join& join);

struct JoinTuning {
  int joins = 0;                      // of which all three programs were measured now
  int64_t trials = 0;                 // at most so many measurements were made
  std::vector<std::string> failures;  // why programs could not be measured: "NAME: REASON"
};

// Measures those from which most is expected, until the time (or the trials) of `options` is over; joins whose three
// programs have records are passed over.
absl::StatusOr<JoinTuning> TuneJoins(absl::Span<const FusionReport::Join> joins, const Target& target,
                                     Database& database, const ModelTuneOptions& options);

}  // namespace tilewright::graph
