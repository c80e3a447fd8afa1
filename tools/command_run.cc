#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <ostream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "codegen/abi/abi_type.h"
#include "codegen/llvm/jit.h"
#include "codegen/runtime/tensor.h"
#include "codegen/runtime/thread_pool.h"
#include "ir/arith/analyzer.h"
#include "ir/functor.h"
#include "ir/interp/interp.h"
#include "ir/ndarray.h"
#include "ir/regions.h"
#include "ir/script/printer.h"
#include "ir/substitute.h"
#include "nlohmann/json.hpp"
#include "target/target.h"
#include "tools/commands.h"
#include "tools/compare_outputs.h"
#include "tools/program_file.h"
#include "tools/scheduled_program.h"

namespace tilewright {
namespace {

using Dims = std::map<std::string, int64_t>;

// Of one parameter; more is refused before it is allocated.
constexpr int64_t kMaxArrayBytes = int64_t{4} << 30;

int Refuse(const CommandArguments& args, std::string_view message) {
  args.err() << args.operands()[0] << ": error: " << message << "\n";
  return kRefused;
}

// n=128 of each --dim.
absl::StatusOr<Dims> ReadDims(const CommandArguments& args) {
  Dims dims;
  for (const std::string& text : args.GetAll("--dim")) {
    const std::vector<std::string> parts = absl::StrSplit(text, '=');
    int64_t value;
    if (parts.size() != 2 || !absl::SimpleAtoi(parts[1], &value) || value < 0) {
      return absl::InvalidArgumentError(absl::StrCat("--dim ", text, " is not NAME=NUMBER"));
    }
    dims[parts[0]] = value;
  }
  return dims;
}

absl::StatusOr<int64_t> Evaluate(const Expr& e, const Dims& dims, const std::string& what) {
  std::string missing;
  for (const auto& dim : dims) {
    // A number that the variable cannot hold would be another one.
    const std::string& name = dim.first;
    const int64_t number = dim.second;
    std::optional<DataType> type;
    PreOrder(e, [&](const Expr& part) {
      const auto* var = dyn_cast<VarNode>(part);
      if (var != nullptr && var->name == name) type = var->dtype();
      return true;
    });
    if (type && type->is_integer() && (number < MinValue(*type) || (number > MaxValue(*type) && type->bits() < 64))) {
      return absl::InvalidArgumentError(
          absl::StrCat("--dim ", name, "=", number, " does not fit into ", type->ToString()));
    }
  }
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

// One argument per parameter: seeded random numbers, or NAME.npy of --inputs.
absl::StatusOr<std::vector<interp::Argument>> MakeArguments(const CommandArguments& args, const Function& function) {
  auto dims = ReadDims(args);
  if (!dims.ok()) return dims.status();
  int64_t seed = 0;
  if (const auto text = args.Get("--seed"); text && !absl::SimpleAtoi(*text, &seed)) {
    return absl::InvalidArgumentError(absl::StrCat("--seed ", *text, " is no number"));
  }
  const auto inputs = args.Get("--inputs");
  if (inputs && !std::filesystem::is_directory(*inputs)) {
    return absl::InvalidArgumentError(absl::StrCat("--inputs ", *inputs, " is no directory"));
  }
  std::vector<interp::Argument> arguments;
  for (const Param& param : function->params) {
    ++seed;
    if (!param.buffer) {
      if (param.var.dtype().is_float()) {
        return absl::InvalidArgumentError(
            absl::StrCat("parameter ", param.var.name(), " is a floating-point scalar, which run cannot give a value"));
      }
      auto value = Evaluate(param.var, *dims, absl::StrCat("parameter ", param.var.name()));
      if (!value.ok()) return value.status();
      arguments.emplace_back(*value);
      continue;
    }
    if (const DataType type = param.buffer->dtype; !type.is_scalar() || type.bytes() <= 0 || type.is_handle()) {
      return absl::InvalidArgumentError(
          absl::StrCat(param.buffer->name, " has elements of type ", type.ToString(), ", which run cannot fill"));
    }
    std::vector<int64_t> shape;
    int64_t bytes = param.buffer->dtype.bytes();
    for (const Expr& extent : param.buffer->shape) {
      auto value = Evaluate(extent, *dims, absl::StrCat("the shape of ", param.buffer->name));
      if (!value.ok()) return value.status();
      if (*value < 0 || __builtin_mul_overflow(bytes, *value, &bytes) || bytes > kMaxArrayBytes) {
        return absl::InvalidArgumentError(
            absl::StrCat(param.buffer->name, " has an extent of ", *value, ": negative, or too large to run"));
      }
      shape.push_back(*value);
    }
    if (inputs) {
      const std::string path = *inputs + "/" + param.buffer->name + ".npy";
      if (auto array = ReadNpy(path, param.buffer->dtype); array.ok() && array->shape() == shape) {
        arguments.emplace_back(*std::move(array));
        continue;
      } else if (array.ok()) {
        return absl::InvalidArgumentError(absl::StrCat(path, " has another shape than ", param.buffer->name));
      } else if (!absl::IsNotFound(array.status())) {
        return array.status();
      }
    }
    NDArray array(param.buffer->dtype, std::move(shape));
    if (param.buffer->dtype.is_float()) {
      FillUniform(array, static_cast<uint64_t>(seed));
    } else {
      FillIntegers(array, static_cast<uint64_t>(seed));
    }
    arguments.emplace_back(std::move(array));
  }
  return arguments;
}

std::vector<interp::Argument> Copy(const std::vector<interp::Argument>& arguments) {
  std::vector<interp::Argument> copy = arguments;
  for (interp::Argument& argument : copy) {
    if (argument.array.data() != nullptr) argument.array = argument.array.Clone();
  }
  return copy;
}

// Whether two functions take the same arguments, which were made for each.
bool SameTypes(const std::vector<interp::Argument>& a, const std::vector<interp::Argument>& b, const Function& f,
               const Function& g) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    const Param &p = f->params[i], &q = g->params[i];
    if (!p.buffer != !q.buffer) return false;
    if (!p.buffer ? p.var.dtype() != q.var.dtype() : p.buffer->dtype != q.buffer->dtype) return false;
    if (a[i].array.shape() != b[i].array.shape()) return false;
  }
  return true;
}

absl::Status RunCompiled(const CommandArguments& args, const Module& module, const Function& function,
                         std::vector<interp::Argument>& arguments) {
  CompileOptions options;
  options.libraries = args.GetAll("--extern");
  auto code = CompileToJit(module, HostTarget(), options);
  if (!code.ok()) return code.status();
  std::vector<runtime::Tensor> tensors;
  std::vector<TwTensor*> pointers;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Param& param = function->params[i];
    const NDArray& array = arguments[i].array;
    const TwDataType type = AbiType(param.buffer ? param.buffer->dtype : param.var.dtype());
    void* data = param.buffer ? array.data() : &arguments[i].integer;
    tensors.push_back(runtime::Tensor::Borrow(data, type, param.buffer ? array.shape() : std::vector<int64_t>()));
  }
  for (runtime::Tensor& tensor : tensors) pointers.push_back(tensor.abi());
  runtime::ThreadPool pool;
  const TwParallelHook hook = pool.hook();
  return (*code)->Run(function->name, pointers, &hook);
}

absl::Status RunInterpreted(const CommandArguments& args, const Function& function,
                            const std::vector<interp::Argument>& arguments) {
  interp::CompileOptions options;
  options.check_bounds = true;
  // Functions of the libraries by name; looked up when the program calls them.
  std::vector<void*> libraries;
  for (const std::string& path : args.GetAll("--extern")) {
    libraries.push_back(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL));
    if (libraries.back() == nullptr) return absl::NotFoundError(dlerror());
  }
  PreOrderExprs(function->body, [&](const Expr& e) {
    const auto* call = dyn_cast<CallNode>(e);
    const auto* name = call != nullptr && !call->args.empty() ? dyn_cast<StringImmNode>(call->args[0]) : nullptr;
    if (name == nullptr) return true;
    for (void* library : libraries) {
      if (void* address = dlsym(library, name->value.c_str())) {
        options.environment.externs[name->value] = interp::NativeFunction(address);
      }
    }
    return true;
  });
  auto program = interp::Compile(function, options);
  return program.ok() ? program->Run(arguments) : program.status();
}

absl::Status RunWith(const CommandArguments& args, const std::string& engine, const Module& module,
                     const Function& function, std::vector<interp::Argument>& arguments) {
  return engine == "llvm" ? RunCompiled(args, module, function, arguments) : RunInterpreted(args, function, arguments);
}

struct Summary {
  double sum = 0, least = INFINITY, largest = -INFINITY;
  std::vector<double> first;
};

Summary Summarize(const NDArray& array) {
  Summary summary;
  for (int64_t i = 0; i < array.size(); ++i) {
    const double value = array.Get(i);
    summary.sum += value;
    summary.least = std::min(summary.least, value);
    summary.largest = std::max(summary.largest, value);
    if (i < 6) summary.first.push_back(value);
  }
  return summary;
}

void PrintArray(std::ostream& out, const std::string& name, const NDArray& array) {
  const Summary summary = Summarize(array);
  out << name << ": " << array.dtype().ToString() << "[" << absl::StrJoin(array.shape(), ", ") << "] sum "
      << summary.sum << " least " << summary.least << " largest " << summary.largest << " first";
  for (double value : summary.first) out << " " << value;
  out << "\n";
}

// JSON has no infinities and no NaN.
nlohmann::json OrNull(double value) { return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(); }

nlohmann::json ToJson(const std::string& name, const NDArray& array) {
  const Summary summary = Summarize(array);
  nlohmann::json first = nlohmann::json::array();
  for (double value : summary.first) first.push_back(OrNull(value));
  return {{"name", name},
          {"dtype", array.dtype().ToString()},
          {"shape", array.shape()},
          {"sum", OrNull(summary.sum)},
          {"least", OrNull(summary.least)},
          {"largest", OrNull(summary.largest)},
          {"first", std::move(first)}};
}

// The program after --script or the best record of --db; as it is where neither is given.
std::optional<Module> ScheduleIfAsked(const CommandArguments& args, const Module& module) {
  if (!args.Has("--script") && !args.Has("--db")) return module;
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const std::optional<Schedule> schedule = ScheduleProgram(args, module, HostTarget(), &intrins);
  if (!schedule) return std::nullopt;
  return WithPackingInPlace(args, *schedule, module, &intrins);
}

int RunProgram(const CommandArguments& args) {
  const std::string engine = args.Get("--engine").value_or("interp");
  if (engine == "cuda" || engine == "cuda-emulation") return Refuse(args, "the engine " + engine + " is not built yet");
  if (engine != "interp" && engine != "llvm") {
    return UsageError(args, "run", "--engine is interp or llvm, not " + engine);
  }
  if (args.Has("--script") && args.Has("--db")) {
    return UsageError(args, "run", "--script and --db exclude each other");
  }
  const std::optional<Module> source = ReadProgram(args, args.operands()[0]);
  if (!source) return kRefused;
  const std::optional<Module> module = ScheduleIfAsked(args, *source);
  if (!module) return kRefused;
  const auto name = args.Get("--func");
  const Function function = name ? module->Find(*name) : module->Main();
  if (!function) return Refuse(args, name ? "there is no function " + *name : "which function? --func says");
  auto arguments = MakeArguments(args, function);
  if (!arguments.ok()) return Refuse(args, std::string(arguments.status().message()));
  std::vector<interp::Argument> other = Copy(*arguments);
  if (absl::Status status = RunWith(args, engine, *module, function, *arguments); !status.ok()) {
    return Refuse(args, std::string(status.message()));
  }
  const auto against = args.Get("--against");
  std::optional<Tolerances> tolerances;
  if (against || args.Has("--compare")) {
    const std::optional<Module> reference = against ? ReadProgram(args, *against) : source;
    if (!reference) return kRefused;
    const Function same = name ? reference->Find(*name) : reference->Main();
    // The same arguments go to both, so types and extents have to agree too.
    absl::StatusOr<std::vector<interp::Argument>> expected = absl::InvalidArgumentError("");
    if (same) expected = MakeArguments(args, same);
    if (!expected.ok() || !SameTypes(*expected, *arguments, same, function)) {
      return Refuse(args, "the other program has no function with the same parameters");
    }
    const std::vector<interp::Argument> before = Copy(other);
    const absl::Status status =
        against ? RunWith(args, engine, *reference, same, other) : RunInterpreted(args, same, other);
    if (!status.ok()) return Refuse(args, std::string(status.message()));
    std::vector<Function> alike = {same};
    if (const Function unscheduled = name ? source->Find(*name) : source->Main(); against && unscheduled) {
      alike.push_back(unscheduled);
    }
    tolerances.emplace(alike, before);
  }
  std::vector<BufferRegion> written = DetectRegions(function->body).writes;
  PreOrder(function->body, [&](const Stmt& s) {
    if (const auto* realize = dyn_cast<BlockRealizeNode>(s)) {
      written.insert(written.end(), realize->block->writes.begin(), realize->block->writes.end());
      for (const BufferRegion& region : DetectRegions(realize->block->body).writes) written.push_back(region);
    }
    return true;
  });
  int status = kDone;
  const bool json = args.Has("--json");
  nlohmann::json outputs = nlohmann::json::array();
  for (size_t i = 0; i < function->params.size(); ++i) {
    const Buffer& buffer = function->params[i].buffer;
    if (!buffer || !Mentions(written, buffer)) continue;
    const NDArray& array = (*arguments)[i].array;
    if (json) {
      outputs.push_back(ToJson(buffer->name, array));
    } else {
      PrintArray(args.out(), buffer->name, array);
    }
    if (!tolerances) continue;
    const auto [error, of_tolerance, failure] = tolerances->Compare(i, buffer->name, array, other[i].array);
    const bool good = failure.empty();
    if (json) {
      outputs.back()["error"] = {{"max_abs", OrNull(error.max_abs)},
                                 {"max_rel", OrNull(error.max_rel)},
                                 {"of_tolerance", OrNull(of_tolerance)},
                                 {"good", good}};
      if (!good) outputs.back()["error"]["failure"] = failure;
    } else {
      args.out() << buffer->name << ": largest error absolute " << error.max_abs << " relative " << error.max_rel;
      if (good) {
        args.out() << ", " << absl::StrFormat("%.1f", 100 * of_tolerance) << "% of the tolerance\n";
      } else {
        args.out() << ", tolerance EXCEEDED: " << failure << "\n";
      }
    }
    if (!good) status = kRefused;
  }
  if (json) {
    const nlohmann::json result = {{"function", function->name}, {"engine", engine}, {"outputs", std::move(outputs)}};
    args.out() << result.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  }
  return status;
}

}  // namespace

Command RunCommand() {
  std::vector<Flag> flags = {
      {"--func", "NAME", "the function; main, or the only one, by default"},
      {"--engine", "interp|llvm", "the interpreter (the default) or compiled code"},
      {"--seed", "N", "of the inputs"},
      {"--inputs", "DIR", "takes PARAMETER.npy from there where it exists"},
      {"--dim", "NAME=N", "value of a symbolic extent or of a scalar parameter", true},
      {"--compare", "", "also interprets the program; exit status 1 beyond what rounding explains"},
      {"--against", "OTHER", "also runs a program with the same parameters on the same inputs"},
      {"--extern", "LIB.so", "where called C functions are", true},
      {"--json", "", "prints the outputs as JSON"}};
  for (const Flag& flag : SchedulingFlags()) flags.push_back(flag);
  return {.name = "run",
          .operands = "FILE",
          .summary = "executes a program on seeded random inputs",
          .details = "Prints of every output its type, shape, sum, least, largest and first values.",
          .flags = flags,
          .run = RunProgram};
}

}  // namespace tilewright
