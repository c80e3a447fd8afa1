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
#include "tools/arrays/symbolic_sizes.h"
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

bool Fits(int64_t number, DataType type) {
  if (!type.is_integer()) return true;
  return number >= MinValue(type) && (number <= MaxValue(type) || type.bits() == 64);
}

// n=128 of each --dim that names an extent or a scalar parameter of the function.
absl::StatusOr<SymbolicSizes> ReadDims(const CommandArguments& args, const Function& function) {
  SymbolicSizes dims;
  for (const std::string& text : args.GetAll("--dim")) {
    const auto dim = ReadDim(text);
    std::optional<DataType> type;
    ForEachVariable(function, [&](const VarNode* var) {
      if (var->name == dim->first) type = var->dtype();
    });
    if (!type) return absl::InvalidArgumentError(absl::StrCat(function->name, " has no extent ", dim->first));
    const int64_t value = dim->second.front();
    const std::string source = absl::StrCat("--dim ", dim->first, "=", value);
    if (!Fits(value, *type)) {
      return absl::InvalidArgumentError(absl::StrCat(source, " does not fit into ", type->ToString()));
    }
    TW_RETURN_IF_ERROR(dims.Set(dim->first, value, source));
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
  Maker(const Function& function, SymbolicSizes sizes, std::optional<std::string> inputs, uint64_t seed)
      : function_(function), sizes_(std::move(sizes)), inputs_(std::move(inputs)), seed_(seed) {}

  absl::StatusOr<std::vector<interp::Argument>> Make() {
    TW_RETURN_IF_ERROR(ReadFiles());
    VarMap known;
    ForEachVariable(function_, [&](const VarNode* var) {
      const auto dim = sizes_.values().find(var->name);
      if (dim != sizes_.values().end()) known[Var(var)] = Const(var->dtype(), dim->second);
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
  std::string PathOf(const std::string& name) const { return absl::StrCat(*inputs_, "/", name, ".npy"); }

  // NAME.npy of --inputs for each parameter that has one. Integers and shapes say what symbolic extents are.
  absl::Status ReadFiles() {
    for (const Param& param : function_->params) {
      if (!param.buffer && param.var.dtype().is_handle()) {
        return absl::InvalidArgumentError(
            absl::StrCat("parameter ", param.var.name(), " is a pointer without a buffer, which run cannot give"));
      }
      if (!inputs_) continue;
      const std::string name = param.buffer ? param.buffer->name : param.var.name();
      auto array = ReadNpy(PathOf(name), param.buffer ? param.buffer->dtype : param.var.dtype());
      if (absl::IsNotFound(array.status())) continue;
      if (!array.ok()) return array.status();
      const std::vector<Expr> declared = param.buffer ? param.buffer->shape : std::vector<Expr>();
      TW_RETURN_IF_ERROR(sizes_.SetExtents(declared, array->shape(), PathOf(name)));
      if (!param.buffer && !param.var.dtype().is_float()) {
        TW_RETURN_IF_ERROR(sizes_.Set(name, array->GetInt(0), PathOf(name)));
      }
      files_.emplace(name, *std::move(array));
    }
    return CheckSizes();
  }

  // An error where a size is outside of its variable's type.
  absl::Status CheckSizes() const {
    absl::Status status;
    ForEachVariable(function_, [&](const VarNode* var) {
      const auto size = sizes_.values().find(var->name);
      if (size == sizes_.values().end() || var->dtype().bits() == 64 || Fits(size->second, var->dtype())) return;
      status = absl::InvalidArgumentError(
          absl::StrCat(var->name, " is ", size->second, ", which does not fit into ", var->dtype().ToString()));
    });
    return status;
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
    if (const auto dim = sizes_.values().find(var.name()); dim != sizes_.values().end()) {
      return type.is_float() ? interp::Argument(static_cast<double>(dim->second)) : interp::Argument(dim->second);
    }
    if (const auto read = files_.find(var.name()); read != files_.end()) {
      return type.is_float() ? interp::Argument(read->second.Get(0)) : interp::Argument(read->second.GetInt(0));
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
      TW_ASSIGN_OR_RETURN(auto value, Evaluate(extent, sizes_.values(), absl::StrCat("the shape of ", buffer->name)));
      shape.push_back(value);
    }
    if (const auto read = files_.find(buffer->name); read != files_.end()) {
      if (read->second.shape() == shape) return interp::Argument(read->second);
      return absl::InvalidArgumentError(absl::StrCat(PathOf(buffer->name), " has another shape than ", buffer->name));
    }
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
  SymbolicSizes sizes_;
  const std::optional<std::string> inputs_;
  const uint64_t seed_;
  std::map<std::string, NDArray> files_;  // by the name of the parameter
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
