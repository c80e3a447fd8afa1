// The arguments of one run: arrays and scalars from --inputs, --dim and seeded numbers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/function.h"
#include "ir/interp/interp.h"
#include "tools/command_line/command.h"

namespace tilewright {

// One per parameter. A scalar takes its value from --dim NAME=N or from NAME.npy of rank 0 in --inputs; arrays are
// read from NAME.npy there. Extents that are a variable are --dim, or what the files say of them; two that differ are
// an error. Everything else is seeded; integers that say where the program reads are drawn legal
// (autoschedule/measure/reference/input_ranges.h). Errors name the parameter.
absl::StatusOr<std::vector<interp::Argument>> MakeArguments(const CommandArguments& args, const Function& function);

// The part of --dim and --inputs that the function does not use: a name that is not an extent or a scalar parameter, a
// file that names no parameter, a folder without arrays. Nothing where all is used.
std::optional<std::string> UnusedArguments(const CommandArguments& args, const Function& function);

// The part of a folder that is not used: arrays that are not named NAME.npy after one of `names`, which are `what`
// ("parameter").
std::optional<std::string> UnusedArrays(const std::string& folder, const std::vector<std::string>& names,
                                        const std::string& what);

// An array of this shape, with zeros; an error names it, and the bytes that cannot be had.
absl::StatusOr<NDArray> AllocateArray(const std::string& name, DataType dtype, const std::vector<int64_t>& shape);

// The libraries of --extern; of a name without a slash, the file in this folder where there is one.
std::vector<std::string> ExternLibraries(const CommandArguments& args);

}  // namespace tilewright
