// The paths of the worker programs.
//
// A worker is looked for, in this order,
//   1. in the folder that the environment variable TILEWRIGHT_WORKERS names,
//   2. beside the program that runs (an installation puts all programs into one folder),
//   3. in Bazel's runfiles of the program that runs: what `bazel run`, `bazel test` and a program started from
//      bazel-bin have. A target that starts a worker has it in its `data`.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace tilewright {

// The path of the worker that Bazel builds there, "autoschedule/measure/compile_worker" for example; NotFound with
// the places that were looked at.
absl::StatusOr<std::string> WorkerPath(std::string_view path_in_workspace);

}  // namespace tilewright
