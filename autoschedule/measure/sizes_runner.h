// Measuring one program with symbolic extents at several sizes.
//
// A candidate is right when it is right at every size, and its time is the geometric mean of its times at all sizes, so
// that what is short counts as much as what is long. A size that is named twice counts twice.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "autoschedule/measure/runner.h"

namespace tilewright {

// Starts a runner for each size: values of the program's symbolic extents by their names.
absl::StatusOr<std::unique_ptr<Runner>> StartAtSizes(const Module& program, const Target& target,
                                                     const std::vector<std::map<std::string, int64_t>>& sizes,
                                                     const RunnerOptions& options);

// The measurement of one candidate that stands for those at several sizes, each counted so many times. The first that
// failed where one did.
Measurement Together(const std::vector<Measurement>& each, const std::vector<int64_t>& counts);

}  // namespace tilewright
