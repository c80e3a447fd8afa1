#include "tools/arrays/run_arguments.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "autoschedule/measure/reference/input_ranges.h"
#include "base/nearest_names.h"
#include "base/status_macros.h"
#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/functor.h"
#include "ir/ndarray.h"
#include "ir/substitute.h"
#include "tools/command_line/flag_value.h"

namespace tilewright {
namespace {

using Dims = std::map<std::string, int64_t>;

// Bytes of one parameter; more is refused before it is allocated.
constexpr int64_t kMaxArrayBytes = int64_t{4} << 30;

template <class F>
void ForEachVariable(const Function& function, F f) {
  const auto variables = [&](const Expr& e) {
    PreOrder(e, [&](const Expr& part) {
      if (const auto* var = dyn_cast<VarNode>(part)) f(var);
      return true;
    });
  };
  for (const Param& param : function->params) {
    if (!param.buffer) variables(param.var);
    if (!param.buffer) continue;
    for (const Expr& extent : param.buffer->shape) variables(extent);
    for (const Expr& stride : param.buffer->strides) variables(stride);
    if (param.buffer->elem_offset) variables(param.buffer->elem_offset);
  }
}

absl::Status CheckFits(const std::string& name, int64_t number, DataType type) {
  if (!type.is_integer()) return absl::OkStatus();
  if (number >= MinValue(type) && (number <= MaxValue(type) || type.bits() == 64)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--dim ", name, "=", number, " does not fit into ", type.ToString()));
}

// n=128 of each --dim that names an extent or a scalar parameter of the function.
absl::StatusOr<Dims> ReadDims(const CommandArguments& args, const Function& function) {
  Dims dims;
  for (const std::string& text : args.GetAll("--dim")) {
    const auto dim = ReadDim(text);
    std::optional<DataType> type;
    ForEachVariable(function, [&](const VarNode* var) {
      if (var->name == dim->first) type = var->dtype();
    });
    if (!type) return absl::InvalidArgumentError(absl::StrCat(function->name, " has no extent ", dim->first));
    const int64_t value = dim->second.front();
    TW_RETURN_IF_ERROR(CheckFits(dim->first, value, *type));
    dims.emplace(dim->first, value);
  }
  return dims;
}

absl::StatusOr<int64_t> Evaluate(const Expr& e, const Dims& dims, const std::string& what) {
  std::string missing;
  const Expr value = arith::Simplify(RewriteExpr(e, [&](const Expr& part) -> Expr {
    const auto* var = dyn_cast<VarNode>(part);
    if (var == nullptr) return part;
    const auto known = dims.find(var->name);
    if (known != dims.end()) return Const(var->dtype(), known->second);
    missing = var->name;
    return part;
  }));
  if (const auto number = AsInt(value)) return *number;
  return absl::InvalidArgumentError(absl::StrCat(what, " needs --dim ", missing, "=NUMBER"));
}

// Makes the arguments of one function.
class Maker {
 public:
  Maker(const Function& function, Dims dims, std::optional<std::string> inputs, uint64_t seed)
      : function_(function), dims_(std::move(dims)), inputs_(std::move(inputs)), seed_(seed) {}

  absl::StatusOr<std::vector<interp::Argument>> Make() {
    TW_RETURN_IF_ERROR(ReadScalars());
    VarMap known;
    ForEachVariable(function_, [&](const VarNode* var) {
      const auto dim = dims_.find(var->name);
      if (dim != dims_.end()) known[Var(var)] = Const(var->dtype(), dim->second);
    });
    ranges_ = InputRanges(function_, known);
    std::vector<interp::Argument> arguments;
    for (size_t i = 0; i < function_->params.size(); ++i) {
      TW_ASSIGN_OR_RETURN(auto argument, function_->params[i].buffer ? Array(i) : Scalar(i));
      arguments.push_back(std::move(argument));
    }
    return arguments;
  }

 private:
  // NAME.npy of --inputs; null where there is none.
  absl::StatusOr<std::optional<NDArray>> Read(const std::string& name, DataType type,
                                              const std::vector<int64_t>& shape) const {
    if (!inputs_) return std::nullopt;
    const std::string path = *inputs_ + "/" + name + ".npy";
    auto array = ReadNpy(path, type);
    if (absl::IsNotFound(array.status())) return std::nullopt;
    if (!array.ok()) return array.status();
    if (array->shape() != shape) {
      return absl::InvalidArgumentError(absl::StrCat(path, " has another shape than ", name));
    }
    return *std::move(array);
  }

  // Extents may depend on them.
  absl::Status ReadScalars() {
    for (const Param& param : function_->params) {
      if (param.buffer || dims_.contains(param.var.name())) continue;
      if (param.var.dtype().is_handle()) {
        return absl::InvalidArgumentError(
            absl::StrCat("parameter ", param.var.name(), " is a pointer without a buffer, which run cannot give"));
      }
      TW_ASSIGN_OR_RETURN(auto array, Read(param.var.name(), param.var.dtype(), {}));
      if (!array) continue;
      scalars_.emplace(param.var.name(), *array);
      if (!param.var.dtype().is_float()) dims_[param.var.name()] = array->GetInt(0);
    }
    return absl::OkStatus();
  }

  // Whether an extent of an array depends on the variable.
  bool IsExtent(const Var& var) const {
    return std::ranges::any_of(function_->params, [&](const Param& param) {
      return param.buffer && std::ranges::any_of(param.buffer->shape, [&](const Expr& e) { return UsesVar(e, var); });
    });
  }

  absl::StatusOr<interp::Argument> Scalar(size_t position) {
    const Var& var = function_->params[position].var;
    const DataType type = var.dtype();
    if (const auto read = scalars_.find(var.name()); read != scalars_.end()) {
      return type.is_float() ? interp::Argument(read->second.Get(0)) : interp::Argument(read->second.GetInt(0));
    }
    if (const auto dim = dims_.find(var.name()); dim != dims_.end()) {
      return type.is_float() ? interp::Argument(static_cast<double>(dim->second)) : interp::Argument(dim->second);
    }
    if (IsExtent(var)) {
      return absl::InvalidArgumentError(absl::StrCat("parameter ", var.name(), " needs --dim ", var.name(), "=NUMBER"));
    }
    const NDArray one(type, {});
    Fill(one, position);
    return type.is_float() ? interp::Argument(one.Get(0)) : interp::Argument(one.GetInt(0));
  }

  absl::StatusOr<interp::Argument> Array(size_t position) {
    const Buffer& buffer = function_->params[position].buffer;
    if (const DataType type = buffer->dtype; !type.is_scalar() || type.bytes() <= 0 || type.is_handle()) {
      return absl::InvalidArgumentError(
          absl::StrCat(buffer->name, " has elements of type ", type.ToString(), ", which run cannot fill"));
    }
    std::vector<int64_t> shape;
    for (const Expr& extent : buffer->shape) {
      TW_ASSIGN_OR_RETURN(auto value, Evaluate(extent, dims_, absl::StrCat("the shape of ", buffer->name)));
      shape.push_back(value);
    }
    TW_ASSIGN_OR_RETURN(auto read, Read(buffer->name, buffer->dtype, shape));
    if (read) return interp::Argument(*read);
    TW_ASSIGN_OR_RETURN(auto array, AllocateArray(buffer->name, buffer->dtype, shape));
    Fill(array, position);
    return interp::Argument(std::move(array));
  }

  void Fill(const NDArray& array, size_t position) const {
    const uint64_t own = seed_ + position + 1;
    if (ranges_[position]) {
      FillRange(array, *ranges_[position], own);
    } else if (array.dtype().is_float()) {
      FillUniform(array, own);
    } else {
      FillIntegers(array, own);
    }
  }

  const Function& function_;
  Dims dims_;
  const std::optional<std::string> inputs_;
  const uint64_t seed_;
  std::map<std::string, NDArray> scalars_;
  std::vector<std::optional<InputRange>> ranges_;
};

}  // namespace

absl::StatusOr<std::vector<interp::Argument>> MakeArguments(const CommandArguments& args, const Function& function) {
  TW_ASSIGN_OR_RETURN(auto dims, ReadDims(args, function));
  int64_t seed = 0;
  if (const auto text = args.Get("--seed")) (void)absl::SimpleAtoi(*text, &seed);
  const auto inputs = args.Get("--inputs");
  if (inputs && !std::filesystem::is_directory(*inputs)) {
    return absl::InvalidArgumentError(absl::StrCat("--inputs ", *inputs, " is not a directory"));
  }
  return Maker(function, std::move(dims), inputs, static_cast<uint64_t>(seed)).Make();
}

std::optional<std::string> UnusedArrays(const std::string& folder, const std::vector<std::string>& names,
                                        const std::string& what) {
  std::error_code error;
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".npy") files.push_back(entry.path().stem().string());
  }
  // A folder that cannot be read is the reader's to report.
  if (error) return std::nullopt;
  if (files.empty()) return absl::StrCat("--inputs=", folder, " holds no NAME.npy");
  std::ranges::sort(files);
  for (const std::string& file : files) {
    if (std::ranges::find(names, file) != names.end()) continue;
    return absl::StrCat("--inputs=", folder, ": ", file, ".npy names no ", what, DidYouMean(file, names));
  }
  return std::nullopt;
}

std::optional<std::string> UnusedArguments(const CommandArguments& args, const Function& function) {
  std::vector<std::string> variables, params;
  ForEachVariable(function, [&](const VarNode* var) { variables.push_back(var->name); });
  for (const Param& param : function->params) params.push_back(param.buffer ? param.buffer->name : param.var.name());
  for (const std::string& text : args.GetAll("--dim")) {
    const std::string name = ReadDim(text)->first;
    if (std::ranges::find(variables, name) != variables.end()) continue;
    return absl::StrCat("--dim ", text, ": ", function->name, " has no extent or scalar parameter ", name,
                        DidYouMean(name, variables));
  }
  const auto inputs = args.Get("--inputs");
  return inputs ? UnusedArrays(*inputs, params, absl::StrCat("parameter of ", function->name)) : std::nullopt;
}

absl::StatusOr<NDArray> AllocateArray(const std::string& name, DataType dtype, const std::vector<int64_t>& shape) {
  int64_t bytes = dtype.bytes();
  // An array without elements takes no memory, whatever its other extents.
  if (std::ranges::find(shape, 0) != shape.end()) bytes = 0;
  for (int64_t extent : shape) {
    if (extent < 0) return absl::InvalidArgumentError(absl::StrCat(name, " has a negative extent, ", extent));
    if (__builtin_mul_overflow(bytes, extent, &bytes)) bytes = std::numeric_limits<int64_t>::max();
  }
  if (bytes > kMaxArrayBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat(name, " takes ", bytes, " bytes; run takes arrays of at most ", kMaxArrayBytes));
  }
  // Whether the system has the memory: the array itself would end the program.
  const std::unique_ptr<void, decltype(&std::free)> trial(std::malloc(static_cast<size_t>(bytes) + 1), std::free);
  if (trial == nullptr)
    return absl::ResourceExhaustedError(absl::StrCat("no memory for the ", bytes, " bytes of ", name));
  return NDArray(dtype, shape);
}

std::vector<std::string> ExternLibraries(const CommandArguments& args) {
  std::vector<std::string> paths = args.GetAll("--extern");
  for (std::string& path : paths) {
    // The loader would look for a bare name in the system's folders.
    if (path.find('/') == std::string::npos && std::filesystem::exists(path)) path = "./" + path;
  }
  return paths;
}

}  // namespace tilewright
