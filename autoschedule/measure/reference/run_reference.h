// Runs the reference program (reference_program.h) of a function in this process.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "autoschedule/measure/reference/reference.h"
#include "ir/function.h"
#include "ir/ndarray.h"
#include "target/target.h"

namespace tilewright {

// The right results of `main` for `arguments`, one per parameter (an array of no dimension for a scalar), whose
// contents stay; none for a parameter that is only read. An error says what has no bound, or cannot be compiled for
// `target`, which this machine runs.
absl::StatusOr<std::vector<std::optional<ReferenceResult>>> RunReference(const Function& main, const Target& target,
                                                                         const std::vector<NDArray>& arguments);

}  // namespace tilewright
