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

// What `main` itself computes as it stands, for programs that have no such bound: the error that is allowed of each
// element is a part of the largest magnitude of its parameter, at least 1, as PartOfLargest says.
absl::StatusOr<std::vector<std::optional<ReferenceResult>>> RunAsItStands(const Function& main, const Target& target,
                                                                          const std::vector<NDArray>& arguments);

// 1e-10, 1e-4 and 5e-2 for floating-point numbers of 64, 32 and fewer bits, 0 for integers.
double PartOfLargest(DataType type);

double LargestMagnitude(const NDArray& array);

}  // namespace tilewright
