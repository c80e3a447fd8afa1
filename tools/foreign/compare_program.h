// The outputs of a kernel beside those of a program on the same arrays: `tilewright emulate --against`.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/function.h"
#include "ir/ndarray.h"
#include "tools/arrays/compare_outputs.h"
#include "tools/foreign/launch_arguments.h"
#include "tools/programs/execute_program.h"

namespace tilewright {

struct ProgramComparison {
  std::string name;
  OutputComparison comparison;
};

// Runs `function` of `module` on `before`, the values of the launch's arrays when the kernel began, and compares what
// it writes with what the kernel left. Parameters and arrays meet by name; an error says which do not.
absl::StatusOr<std::vector<ProgramComparison>> CompareWithProgram(const Engine& engine, const Module& module,
                                                                  const Function& function, const LaunchFile& file,
                                                                  const LaunchArguments& launch,
                                                                  const std::vector<NDArray>& before);

}  // namespace tilewright
