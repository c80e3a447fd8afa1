// The arguments of one run: arrays and scalars from --inputs, --dim and seeded numbers.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/function.h"
#include "ir/interp/interp.h"
#include "tools/command.h"

namespace tilewright {

// One per parameter. A scalar takes its value from --dim NAME=N or from NAME.npy of rank 0 in --inputs; arrays are read
// from NAME.npy there. Everything else is seeded; integers that say where the program reads are drawn legal
// (autoschedule/measure/reference/input_ranges.h). Errors name the parameter.
absl::StatusOr<std::vector<interp::Argument>> MakeArguments(const CommandArguments& args, const Function& function);

// An array of this shape, with zeros; an error names it, and the bytes that cannot be had.
absl::StatusOr<NDArray> AllocateArray(const std::string& name, DataType dtype, const std::vector<int64_t>& shape);

// The libraries of --extern; of a name without a slash, the file in this folder where there is one.
std::vector<std::string> ExternLibraries(const CommandArguments& args);

}  // namespace tilewright
