#include "tools/programs/execute_program.h"

#include <dlfcn.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <span>

#include "absl/strings/str_cat.h"
#include "autoschedule/measure/reference/reference_program.h"
#include "base/status_macros.h"
#include "codegen/backend.h"
#include "codegen/runtime/thread_pool.h"
#include "ir/arith/analyzer.h"
#include "ir/functor.h"
#include "ir/ndarray.h"
#include "ir/regions.h"
#include "tools/arrays/compare_outputs.h"
#include "tools/arrays/guarded_memory.h"
#include "tools/arrays/run_arguments.h"
#include "tools/programs/prepared_call.h"
#include "tools/programs/time_calls.h"

namespace tilewright {
namespace {

// A function of the module and the arguments that it takes, by their positions among all.
struct Step {
  Function function;
  std::vector<size_t> positions;
};

// The values that symbols of a function's parameters have for these arguments, by name.
Extents ExtentsOf(const Function& function, const std::vector<interp::Argument>& arguments) {
  Extents values;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Param& param = function->params[i];
    if (!param.buffer) {
      if (param.var.dtype().is_integer()) values.emplace(param.var.name(), arguments[i].integer);
      continue;
    }
    for (size_t d = 0; d < param.buffer->shape.size(); ++d) {
      const auto* symbol = dyn_cast<VarNode>(param.buffer->shape[d]);
      if (symbol != nullptr) values.emplace(symbol->name, arguments[i].array.shape()[d]);
    }
  }
  return values;
}

std::optional<int64_t> ValueOf(const Expr& extent, const Extents& values) {
  return AsInt(arith::Simplify(RewriteExpr(extent, [&](const Expr& part) -> Expr {
    const auto* var = dyn_cast<VarNode>(part);
    const auto known = var == nullptr ? values.end() : values.find(var->name);
    return known == values.end() ? part : Const(var->dtype(), known->second);
  })));
}

// What runs for one call of `original`: its scheduled form, and before it the function that packs constant operands,
// where there is one. Parameters of the same name are the same array; those that the packing writes are added.
absl::StatusOr<std::vector<Step>> StepsOf(const Module& module, const Function& original,
                                          std::vector<interp::Argument>& arguments) {
  std::vector<std::string> names;
  for (const Param& param : original->params) names.push_back(param.buffer ? param.buffer->name : param.var.name());
  const Extents extents = ExtentsOf(original, arguments);
  std::vector<Step> steps;
  const bool scheduled = !module.Find(original->name).same_as(original);
  for (const Function& function :
       {scheduled ? module.PrepackOf(original->name) : Function(), module.Find(original->name)}) {
    if (!function) continue;
    Step step{function, {}};
    for (const Param& param : function->params) {
      const std::string& of = param.buffer ? param.buffer->name : param.var.name();
      const auto known = std::ranges::find(names, of);
      step.positions.push_back(static_cast<size_t>(known - names.begin()));
      if (known != names.end()) continue;
      std::vector<int64_t> shape;
      for (const Expr& extent : param.buffer->shape) {
        const auto value = ValueOf(extent, extents);
        if (!value) return absl::UnimplementedError(absl::StrCat("the extents of ", of, " are not known"));
        shape.push_back(*value);
      }
      TW_ASSIGN_OR_RETURN(auto array, AllocateArray(of, param.buffer->dtype, shape));
      names.push_back(of);
      arguments.emplace_back(std::move(array));
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

PreparedCall::Options CallOptionsOf(const Engine& engine) {
  return {.threads = engine.max_threads, .workspace = !engine.is_cuda()};
}

absl::Status RunCompiled(const Engine& engine, const CompiledModule& code, const Function& function,
                         std::span<const interp::Argument> arguments) {
  TW_ASSIGN_OR_RETURN(const auto call, PreparedCall::Make(code, function, arguments, CallOptionsOf(engine)));
  call->CopyIn();
  const absl::Status status = call->Run();
  call->CopyOut();
  return status;
}

absl::Status RunInterpreted(const Engine& engine, const Function& function,
                            const std::vector<interp::Argument>& arguments) {
  interp::CompileOptions options;
  options.check_bounds = true;
  // Functions of the libraries by name; looked up when the program calls them.
  std::vector<void*> libraries;
  for (const std::string& path : engine.libraries) {
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

std::vector<interp::Argument> Taken(const Step& step, const std::vector<interp::Argument>& all) {
  std::vector<interp::Argument> taken;
  for (const size_t position : step.positions) taken.push_back(all[position]);
  return taken;
}

}  // namespace

int Engine::threads() const {
  if (name != "llvm") return 1;
  return runtime::ThreadPool(runtime::ThreadPoolOptions{.num_threads = max_threads}).num_threads();
}

CompileOptions CompileOptionsOf(const Engine& engine) {
  CompileOptions options;
  options.libraries = engine.libraries;
  options.emulate = engine.name == "cuda-emulation";
  options.launcher = engine.launcher;
  return options;
}

absl::Status Execute(const Engine& engine, const Module& module, const Function& original,
                     const std::vector<interp::Argument>& arguments, Timing* timing) {
  std::vector<interp::Argument> all = arguments;
  TW_ASSIGN_OR_RETURN(const std::vector<Step> steps, StepsOf(module, original, all));
  std::unique_ptr<CompiledModule> code;
  if (engine.compiles()) {
    TW_ASSIGN_OR_RETURN(code, CompileAndLoad(module, engine.target, CompileOptionsOf(engine)));
  }
  const FaultReport report(absl::StrCat(engine.file, ": error: "));
  // What timed calls are given: calls may change their arguments.
  const std::vector<interp::Argument> before = timing != nullptr ? Copy(all) : std::vector<interp::Argument>();
  for (const Step& step : steps) {
    const std::vector<interp::Argument> taken = Taken(step, all);
    TW_RETURN_IF_ERROR(code ? RunCompiled(engine, *code, step.function, taken)
                            : RunInterpreted(engine, step.function, taken));
  }
  if (timing == nullptr) return absl::OkStatus();
  std::vector<interp::Argument> again = before;
  for (size_t p = arguments.size(); p < again.size(); ++p) again[p] = all[p];  // packed
  const Extents extents = ExtentsOf(original, arguments);
  return TimeCalls(engine, *code, module, {original, steps.back().function, Taken(steps.back(), again), extents},
                   timing);
}

std::vector<interp::Argument> Copy(const std::vector<interp::Argument>& arguments) {
  std::vector<interp::Argument> copy = arguments;
  for (interp::Argument& argument : copy) {
    if (argument.array.data() != nullptr) argument.array = argument.array.Clone();
  }
  return copy;
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

}  // namespace tilewright
