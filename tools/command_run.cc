#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <ostream>
#include <span>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "autoschedule/measure/reference/reference_program.h"
#include "base/status_macros.h"
#include "codegen/abi/abi_type.h"
#include "codegen/backend.h"
#include "codegen/runtime/tensor.h"
#include "codegen/runtime/thread_pool.h"
#include "ir/functor.h"
#include "ir/interp/interp.h"
#include "ir/ndarray.h"
#include "ir/regions.h"
#include "nlohmann/json.hpp"
#include "target/target.h"
#include "tools/array_summary.h"
#include "tools/commands.h"
#include "tools/compare_outputs.h"
#include "tools/guarded_memory.h"
#include "tools/onnx_file.h"
#include "tools/program_file.h"
#include "tools/run_arguments.h"
#include "tools/scheduled_program.h"

namespace tilewright {
namespace {

int Refuse(const CommandArguments& args, std::string_view message) {
  args.err() << args.operands()[0] << ": error: " << message << "\n";
  return kRefused;
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

// A function of the module and the arguments that it takes, by their positions among all.
struct Call {
  Function function;
  std::vector<size_t> positions;
};

// What runs for one call of `original`: its scheduled form, and before it the function that packs constant operands,
// where there is one. Parameters of the same name are the same array; those that the packing writes are added.
absl::StatusOr<std::vector<Call>> Calls(const Module& module, const Function& original,
                                        std::vector<interp::Argument>& arguments) {
  std::vector<std::string> names;
  for (const Param& param : original->params) names.push_back(param.buffer ? param.buffer->name : param.var.name());
  std::vector<Call> calls;
  const bool scheduled = !module.Find(original->name).same_as(original);
  for (const Function& function :
       {scheduled ? module.PrepackOf(original->name) : Function(), module.Find(original->name)}) {
    if (!function) continue;
    Call call{function, {}};
    for (const Param& param : function->params) {
      const std::string& of = param.buffer ? param.buffer->name : param.var.name();
      const auto known = std::ranges::find(names, of);
      call.positions.push_back(static_cast<size_t>(known - names.begin()));
      if (known != names.end()) continue;
      std::vector<int64_t> shape;
      for (const Expr& extent : param.buffer->shape) shape.push_back(AsInt(extent).value_or(0));
      TW_ASSIGN_OR_RETURN(auto array, AllocateArray(of, param.buffer->dtype, shape));
      names.push_back(of);
      arguments.emplace_back(std::move(array));
    }
    calls.push_back(std::move(call));
  }
  return calls;
}

// The call's tensors in guarded memory, which receives their contents before it and gives them back.
absl::Status RunCompiled(const CompiledModule& code, const Function& function,
                         std::span<const interp::Argument> arguments) {
  std::vector<GuardedArray> memory;
  std::vector<runtime::Tensor> tensors;
  std::vector<TwTensor*> pointers;
  std::vector<NDArray> arrays;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Param& param = function->params[i];
    arrays.push_back(param.buffer ? arguments[i].array : ScalarArray(param.var.dtype(), arguments[i]));
    const NDArray& array = arrays.back();
    const std::string name = param.buffer ? param.buffer->name : param.var.name();
    TW_ASSIGN_OR_RETURN(auto guarded, GuardedArray::Allocate(name, array.bytes(),
                                                             std::max(64, param.buffer ? param.buffer->alignment : 0)));
    std::memcpy(guarded.data(), array.data(), static_cast<size_t>(array.bytes()));
    tensors.push_back(runtime::Tensor::Borrow(guarded.data(), AbiType(array.dtype()), array.shape()));
    memory.push_back(std::move(guarded));
  }
  for (runtime::Tensor& tensor : tensors) pointers.push_back(tensor.abi());
  runtime::ThreadPool pool;
  const TwParallelHook hook = pool.hook();
  const absl::Status status = code.Run(function->name, pointers, &hook);
  for (size_t i = 0; i < arguments.size(); ++i) {
    std::memcpy(arrays[i].data(), memory[i].data(), static_cast<size_t>(arrays[i].bytes()));
  }
  return status;
}

absl::Status RunInterpreted(const CommandArguments& args, const Function& function,
                            const std::vector<interp::Argument>& arguments) {
  interp::CompileOptions options;
  options.check_bounds = true;
  // Functions of the libraries by name; looked up when the program calls them.
  std::vector<void*> libraries;
  for (const std::string& path : ExternLibraries(args)) {
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

bool IsCuda(std::string_view engine) { return engine == "cuda" || engine == "cuda-emulation"; }

// What an engine compiles for, unless --target says it.
Target TargetOf(const CommandArguments& args, std::string_view engine) {
  return NamedTarget(args.Get("--target").value_or(IsCuda(engine) ? "cuda-sm90a" : "host")).value();
}

// Runs `original`, as the module has it, on the arguments.
absl::Status RunWith(const CommandArguments& args, const std::string& engine, const Module& module,
                     const Function& original, const std::vector<interp::Argument>& arguments) {
  std::vector<interp::Argument> all = arguments;
  TW_ASSIGN_OR_RETURN(const auto calls, Calls(module, original, all));
  std::unique_ptr<CompiledModule> code;
  if (engine != "interp") {
    CompileOptions options;
    options.libraries = ExternLibraries(args);
    options.emulate = engine == "cuda-emulation";
    options.launcher = args.Get("--launcher").value_or("");
    TW_ASSIGN_OR_RETURN(auto compiled, CompileAndLoad(module, TargetOf(args, engine), options));
    code = std::move(compiled);
  }
  const FaultReport report(absl::StrCat(args.operands()[0], ": error: "));
  for (const Call& call : calls) {
    std::vector<interp::Argument> taken;
    for (size_t position : call.positions) taken.push_back(all[position]);
    TW_RETURN_IF_ERROR(code ? RunCompiled(*code, call.function, taken) : RunInterpreted(args, call.function, taken));
  }
  return absl::OkStatus();
}

// The program after --script or the best record of --db; as it is where neither is given.
std::optional<Module> ScheduleIfAsked(const CommandArguments& args, const std::string& engine, const Module& module) {
  if (!args.Has("--script") && !args.Has("--db")) return module;
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const std::optional<Schedule> schedule = ScheduleProgram(args, module, TargetOf(args, engine), &intrins);
  if (!schedule) return std::nullopt;
  return schedule->module();
}

// Whether the function writes each of its parameters, also through views and calls.
std::vector<bool> Written(const Function& function) {
  std::vector<bool> written = WrittenParams(function);
  std::vector<BufferRegion> regions = DetectRegions(function->body).writes;
  PreOrder(function->body, [&](const Stmt& s) {
    if (const auto* realize = dyn_cast<BlockRealizeNode>(s)) {
      regions.insert(regions.end(), realize->block->writes.begin(), realize->block->writes.end());
      for (const BufferRegion& region : DetectRegions(realize->block->body).writes) regions.push_back(region);
    }
    return true;
  });
  for (size_t i = 0; i < written.size(); ++i) {
    const Buffer& buffer = function->params[i].buffer;
    written[i] = written[i] || (buffer && std::ranges::any_of(regions, [&](const BufferRegion& region) {
                                  return region.buffer->data.same_as(buffer->data);
                                }));
  }
  return written;
}

int RunProgram(const CommandArguments& args) {
  if (IsOnnxFile(args.operands()[0])) {
    if (args.Has("--launcher")) return UsageError(args, "run", "--launcher does not run models");
    return RunOnnx(args);
  }
  const std::string engine = args.Get("--engine").value_or("interp");
  if (engine != "interp" && engine != "llvm" && !IsCuda(engine)) {
    return UsageError(args, "run", "--engine is interp, llvm, cuda-emulation or cuda, not " + engine);
  }
  if (const auto target = args.Get("--target")) {
    const auto named = NamedTarget(*target);
    if (!named.ok()) return Refuse(args, std::string(named.status().message()));
    if (engine != "interp" && IsCuda(engine) != target->starts_with("cuda-")) {
      return UsageError(args, "run", "--engine=" + engine + " does not run code for " + *target);
    }
  }
  if (args.Has("--launcher") && engine != "llvm") {
    return UsageError(args, "run", "--launcher starts what runs code of --engine=llvm, not of " + engine);
  }
  if (args.Has("--script") && args.Has("--db")) {
    return UsageError(args, "run", "--script and --db exclude each other");
  }
  const std::optional<Module> source = ReadProgram(args, args.operands()[0]);
  if (!source) return kRefused;
  const std::optional<Module> module = ScheduleIfAsked(args, engine, *source);
  if (!module) return kRefused;
  const auto name = args.Get("--func");
  const Function function = name ? source->Find(*name) : source->Main();
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
    const absl::Status status = RunWith(args, against ? engine : "interp", *reference, same, other);
    if (!status.ok()) return Refuse(args, std::string(status.message()));
    std::vector<Function> alike = {same};
    if (const Function unscheduled = name ? source->Find(*name) : source->Main(); against && unscheduled) {
      alike.push_back(unscheduled);
    }
    tolerances.emplace(alike, before);
  }
  const std::vector<bool> written = Written(function);
  int status = kDone;
  const bool json = args.Has("--json");
  nlohmann::json outputs = nlohmann::json::array();
  for (size_t i = 0; i < function->params.size(); ++i) {
    const Buffer& buffer = function->params[i].buffer;
    if (!buffer || !written[i]) continue;
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
      {"--engine", "interp|llvm|cuda-emulation|cuda",
       "the interpreter (the default), compiled code, code of a GPU in an emulator with all checks, or on a GPU"},
      {"--target", "NAME", "the machine whose code runs; the host, or cuda-sm90a, by default"},
      {"--launcher", "COMMAND",
       "before the worker that runs compiled code of a CPU elsewhere, \"ssh board\" for example"},
      {"--seed", "N", "of the inputs"},
      {"--inputs", "DIR", "takes PARAMETER.npy from there where it exists; of a scalar, of rank 0"},
      {"--outputs", "DIR", "writes OUTPUT.npy for each output of an ONNX model"},
      {"--dim", "NAME=N", "value of a symbolic extent or of a whole scalar parameter", true},
      {"--opt-level", "N", "of an ONNX model's passes: 0 none, 1 what keeps every bit, 2 all (the default)"},
      {"--disable", "PASS", "a pass that an ONNX model does not go through", true},
      {"--compare", "", "also interprets the program; exit status 1 beyond what rounding explains"},
      {"--against", "OTHER", "also runs a program with the same parameters on the same inputs"},
      {"--extern", "LIB.so", "where called C functions are", true},
      {"--json", "", "prints the outputs as JSON"}};
  for (const Flag& flag : SchedulingFlags()) flags.push_back(flag);
  return {.name = "run",
          .operands = "FILE",
          .summary = "executes a program or an ONNX model on seeded random inputs",
          .details = "Prints of every output its type, shape, sum, least, largest and first values.",
          .flags = flags,
          .run = RunProgram};
}

}  // namespace tilewright
