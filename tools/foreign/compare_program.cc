#include "tools/foreign/compare_program.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/nearest_names.h"
#include "base/status_macros.h"
#include "ir/analysis.h"

namespace tilewright {
namespace {

// The shape that a buffer has where all its extents are numbers; that of the array otherwise.
std::vector<int64_t> ShapeOf(const Buffer& buffer, const NDArray& array) {
  std::vector<int64_t> shape;
  for (const Expr& extent : buffer->shape) {
    const auto number = AsInt(extent);
    if (!number) return array.shape();
    shape.push_back(*number);
  }
  return shape;
}

absl::Status Refuse(const std::string& reason) {
  return absl::InvalidArgumentError(absl::StrCat("the program of --against: ", reason));
}

absl::StatusOr<size_t> PositionOf(const Buffer& buffer, const LaunchArguments& launch) {
  std::vector<std::string> names;
  for (size_t i = 0; i < launch.arrays.size(); ++i) {
    if (launch.arrays[i].name == buffer->name) return i;
    names.push_back(launch.arrays[i].name);
  }
  return Refuse(absl::StrCat("its parameter ", buffer->name, " is not the name of an array of the launch",
                             DidYouMean(buffer->name, names)));
}

// An array of the launch as the program takes it.
absl::StatusOr<NDArray> AsParameter(const Buffer& buffer, const NDArray& array) {
  if (buffer->dtype != array.dtype()) {
    return Refuse(absl::StrCat(buffer->name, " has elements of type ", buffer->dtype.ToString(),
                               ", the array of the launch ", array.dtype().ToString()));
  }
  const std::vector<int64_t> shape = ShapeOf(buffer, array);
  int64_t size = 1;
  for (const int64_t extent : shape) size *= extent;
  if (size != array.size()) {
    return Refuse(absl::StrCat(buffer->name, " has ", size, " elements, the array of the launch ", array.size()));
  }
  return array.WithShape(shape);
}

absl::StatusOr<interp::Argument> ScalarOf(const Var& var, const LaunchFile& file) {
  for (const LaunchArgument& argument : file.arguments) {
    if (argument.kind != LaunchArgument::Kind::kScalar || argument.name != var.name()) continue;
    if (var.dtype().is_float()) return interp::Argument(argument.value.number);
    return interp::Argument(argument.value.integer);
  }
  return Refuse(absl::StrCat("its parameter ", var.name(), " is not the \"name\" of a number of the launch"));
}

}  // namespace

absl::StatusOr<std::vector<ProgramComparison>> CompareWithProgram(const Engine& engine, const Module& module,
                                                                  const Function& function, const LaunchFile& file,
                                                                  const LaunchArguments& launch,
                                                                  const std::vector<NDArray>& before) {
  std::vector<interp::Argument> arguments;
  std::vector<size_t> positions;
  for (const Param& param : function->params) {
    if (!param.buffer) {
      TW_ASSIGN_OR_RETURN(auto scalar, ScalarOf(param.var, file));
      arguments.push_back(std::move(scalar));
      positions.push_back(0);
      continue;
    }
    TW_ASSIGN_OR_RETURN(const size_t position, PositionOf(param.buffer, launch));
    TW_ASSIGN_OR_RETURN(const NDArray array, AsParameter(param.buffer, before[position]));
    arguments.emplace_back(array.Clone());
    positions.push_back(position);
  }
  const std::vector<interp::Argument> unchanged = Copy(arguments);
  TW_RETURN_IF_ERROR(Execute(engine, module, function, arguments));
  const Tolerances tolerances({function}, unchanged);
  const std::vector<bool> written = Written(function);
  std::vector<ProgramComparison> comparisons;
  for (size_t i = 0; i < function->params.size(); ++i) {
    const Buffer& buffer = function->params[i].buffer;
    if (!buffer || !written[i]) continue;
    const LaunchArray& array = launch.arrays[positions[i]];
    if (!array.argument->output) {
      return Refuse(absl::StrCat("it writes ", buffer->name, ", which is not an output of the launch"));
    }
    TW_ASSIGN_OR_RETURN(const NDArray result, AsParameter(buffer, array.array));
    comparisons.push_back({buffer->name, tolerances.Compare(i, buffer->name, result, arguments[i].array)});
  }
  return comparisons;
}

}  // namespace tilewright
