#include "tools/models/onnx_run.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "autoschedule/cost/speed_of_light.h"
#include "autoschedule/program/sizes.h"
#include "base/status_macros.h"
#include "codegen/runtime/timer.h"
#include "graph/executor/kernel_cache.h"
#include "graph/executor/onnx_model.h"
#include "graph/executor/scheduled_kernel.h"
#include "graph/onnx/model_inputs.h"
#include "nlohmann/json.hpp"
#include "target/target.h"
#include "tools/arrays/array_summary.h"
#include "tools/arrays/run_arguments.h"
#include "tools/arrays/symbolic_sizes.h"
#include "tools/models/onnx_file.h"
#include "tools/profile/timing_flags.h"
#include "tools/timings/load_report.h"

namespace tilewright {
namespace {

namespace fs = std::filesystem;
using graph::Arrays;
using graph::Item;
using graph::OnnxModel;

// The files of --inputs by the names of inputs. Adds to `sizes` what they say of symbolic dimensions.
absl::StatusOr<OnnxModel::Inputs> ReadFiles(const std::string& directory, const onnx::GraphProto& graph,
                                            SymbolicSizes* sizes) {
  if (!fs::is_directory(directory)) {
    return absl::InvalidArgumentError(absl::StrCat("--inputs ", directory, " is not a directory"));
  }
  OnnxModel::Inputs inputs;
  for (const auto& input : graph.input()) {
    const std::string path = graph::ArrayPath(directory, input.name());
    const auto dtype = graph::ElementType(input.type().tensor_type().elem_type());
    auto array = ReadNpy(path, dtype.ok() ? *dtype : DataType());
    if (absl::IsNotFound(array.status())) continue;
    absl::Status status = array.status();
    const auto& shape = input.type().tensor_type().shape();
    for (int i = 0; status.ok() && i < shape.dim_size() && i < static_cast<int>(array->shape().size()); ++i) {
      if (shape.dim(i).has_dim_value() && shape.dim(i).dim_value() >= 0) continue;
      status = sizes->Set(graph::DimensionName(input, i), array->shape()[static_cast<size_t>(i)], path);
    }
    if (!status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("input \"", input.name(), "\": ", status.message()));
    }
    inputs[input.name()] = {Item::Kind::kTensor, {*std::move(array)}};
  }
  return inputs;
}

absl::StatusOr<OnnxModel::Inputs> InputsOf(const CommandArguments& args, const onnx::GraphProto& graph,
                                           const std::map<std::string, int64_t>& dims) {
  int64_t seed = 0;
  if (const auto text = args.Get("--seed")) (void)absl::SimpleAtoi(*text, &seed);
  SymbolicSizes sizes;
  for (const auto& [name, size] : dims)
    TW_RETURN_IF_ERROR(sizes.Set(name, size, absl::StrCat("--dim ", name, "=", size)));
  OnnxModel::Inputs inputs;
  if (const auto directory = args.Get("--inputs")) {
    TW_ASSIGN_OR_RETURN(inputs, ReadFiles(*directory, graph, &sizes));
  }
  std::set<std::string> initialized;
  for (const auto& tensor : graph.initializer()) initialized.insert(tensor.name());
  for (const auto& input : graph.input()) {
    // An input with a default takes it where no file gives another.
    if (inputs.contains(input.name()) || initialized.contains(input.name())) continue;
    auto array = graph::RandomInput(input, sizes.values(), static_cast<uint64_t>(++seed));
    if (!array.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("input \"", input.name(), "\": ", array.status().message()));
    }
    inputs[input.name()] = {Item::Kind::kTensor, {*std::move(array)}};
  }
  return inputs;
}

// "k3 matmul_add_relu": the kernel as `explain` numbers it, and its program.
std::string PlaceOf(const graph::ExecutablePlan& plan, const graph::PlanStep& step) {
  return absl::StrCat("k", step.program, " ", plan.programs[static_cast<size_t>(step.program)].program->name);
}

// What a call of a model's kernel cannot take less than, and whether a record of the database schedules the kernel.
struct StepFacts {
  double bound_seconds = 0;
  bool by_record = false;
};

// By step of the plan.
std::vector<StepFacts> FactsOf(const graph::PlannedFunction& function, const Arrays& arguments, const Target& target,
                               const std::string& database) {
  const graph::ExecutablePlan& plan = function.plan();
  const auto shapes = function.ShapesOf(arguments, {});
  if (!shapes.ok()) return std::vector<StepFacts>(plan.steps.size());
  std::map<int, graph::PrimFunc> scheduled;  // by program
  std::set<int> by_record;
  std::vector<StepFacts> facts;
  for (const graph::PlanStep& step : plan.steps) {
    const graph::KernelSource& source = plan.programs[static_cast<size_t>(step.program)];
    const graph::PrimFunc program = graph::CanonicalProgram(source.program);
    auto [runs, is_new] = scheduled.emplace(step.program, program);
    if (is_new && function.kernels()[static_cast<size_t>(step.program)].scheduled) {
      const auto kernel = graph::ScheduleKernel(program, source.constant, target, database);
      if (kernel.ok()) runs->second = kernel->module.Find(graph::kKernelMain);
      if (kernel.ok() && kernel->by_record) by_record.insert(step.program);
    }
    std::map<std::string, int64_t> sizes;
    for (size_t i = 0; i < step.tensors.size(); ++i) {
      const std::vector<int64_t>& shape = (*shapes)[static_cast<size_t>(step.tensors[i])];
      const Buffer& buffer = program->params[i].buffer;
      for (size_t d = 0; buffer && d < shape.size(); ++d) {
        if (const auto* symbol = dyn_cast<VarNode>(buffer->shape[d])) sizes.emplace(symbol->name, shape[d]);
      }
    }
    facts.push_back({BoundSeconds(AtSizes(program, sizes), AtSizes(runs->second, sizes), target),
                     by_record.contains(step.program)});
  }
  return facts;
}

// Runs the model as often as is asked for, into `results`, and takes the time of each call and, with --profile, of its
// kernels.
absl::Status TimeModel(const CommandArguments& args, const graph::Executor& executor, const Arrays& arguments,
                       const Arrays& results, const Target& target, Profile* profile) {
  const graph::PlannedFunction* const planned = executor.planned();
  if (WantsParts(args)) {
    if (planned == nullptr) {
      return absl::UnimplementedError(
          "the order of the model's calls depends on data: it has no plan whose kernels could be timed");
    }
    Target bounded = target;
    bounded.cores = std::min(bounded.cores, executor.num_threads());
    const std::vector<StepFacts> facts = FactsOf(*planned, arguments, bounded, args.Get("--db").value_or(""));
    for (size_t s = 0; s < facts.size(); ++s) {
      const graph::PlanStep& step = planned->plan().steps[s];
      profile->parts.push_back(
          {.name = step.name,
           .place = absl::StrCat(PlaceOf(planned->plan(), step), facts[s].by_record ? ", by a record" : ""),
           .bound_seconds = facts[s].bound_seconds});
      profile->bound_seconds += facts[s].bound_seconds;
    }
  }
  for (size_t i = Repetitions(args); i > 0; --i) {
    std::vector<int64_t> spent, starts;
    const graph::RunOptions options =
        WantsParts(args) ? graph::RunOptions{.step_nanoseconds = &spent, .step_starts = &starts} : graph::RunOptions{};
    const int64_t start = runtime::NowNanoseconds();
    const absl::Status status =
        planned != nullptr ? executor.RunInto(arguments, results, options) : executor.Run(arguments, options).status();
    const int64_t end = runtime::NowNanoseconds();
    TW_RETURN_IF_ERROR(status);
    if (WantsParts(args) && spent.empty()) {
      return absl::UnimplementedError(absl::StrCat("kernels are timed on this machine, not on ", target.name));
    }
    profile->calls.push_back({static_cast<double>(start) * 1e-9, static_cast<double>(end - start) * 1e-9});
    for (size_t s = 0; s < spent.size(); ++s) {
      profile->parts[s].times.push_back({static_cast<double>(starts[s]) * 1e-9, static_cast<double>(spent[s]) * 1e-9});
    }
  }
  return absl::OkStatus();
}

// Prints the outputs, or adds them to `json` where it is not null; writes them to --outputs.
absl::Status ReportOutputs(const CommandArguments& args, const OnnxModel& model, const Arrays& results,
                           nlohmann::json* json) {
  const auto directory = args.Get("--outputs");
  std::error_code error;  // what cannot be made cannot be written either, which is reported
  if (directory) fs::create_directories(*directory, error);
  const std::vector<OnnxModel::Tensors> outputs = model.OutputsOf(results);
  for (size_t i = 0; i < outputs.size(); ++i) {
    for (size_t k = 0; k < outputs[i].arrays.size(); ++k) {
      std::string name = model.imported().outputs[i].name;
      if (outputs[i].kind != Item::Kind::kTensor) absl::StrAppend(&name, "_", k);
      const NDArray& array = outputs[i].arrays[k];
      if (directory) TW_RETURN_IF_ERROR(WriteNpy(array, graph::ArrayPath(*directory, name)));
      if (json != nullptr) {
        json->push_back(ToJson(name, array));
      } else {
        PrintArray(args.out(), name, array);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

int RunOnnx(const CommandArguments& args) {
  int status = kDone;
  std::unique_ptr<graph::ModelFile> file = OpenModel(args, &status);
  if (file == nullptr) return status;
  const std::unique_ptr<graph::KernelCache> cache = graph::KernelCache::Default();
  graph::ExecutorOptions executor = ExecutorOptionsOf(args, cache.get());
  if ((status = ChooseMachine(args, &executor)) != kDone) return status;
  executor.num_threads = ThreadsOf(args);
  const Target target = executor.kernels.target;
  const std::map<std::string, int64_t> dims = DimsOf(args);
  const auto inputs = InputsOf(args, file->model().graph(), dims);
  if (!inputs.ok()) return RefuseOnnx(args, inputs.status().message());
  std::optional<LoadReport> timings;
  if (args.Has("--timings")) timings.emplace();
  graph::FusionReport apart{.anew = false};
  const auto model = OnnxModel::Load(
      std::move(file),
      {.dims = dims, .inputs = &*inputs, .executor = std::move(executor), .passes = PassesOf(args), .report = &apart});
  if (!model.ok()) return RefuseOnnx(args, model.status().message());
  if (timings) timings->Finish();
  args.err() << MeasuredApart(args, apart);
  WarnOfSlowKernels(args, (*model)->executor());
  const auto arguments = (*model)->ArgumentsOf(*inputs);
  if (!arguments.ok()) return RefuseOnnx(args, arguments.status().message());
  const auto results = (*model)->executor().Run(*arguments);
  if (!results.ok()) return RefuseOnnx(args, results.status().message());
  Profile profile;
  absl::Status done = TimeModel(args, (*model)->executor(), *arguments, *results, target, &profile);
  if (done.ok()) done = WriteTraceEvents(args, profile, fs::path(args.operands()[0]).filename().string());
  const bool json = args.Has("--json");
  nlohmann::json outputs = nlohmann::json::array();
  if (done.ok()) done = ReportOutputs(args, **model, *results, json ? &outputs : nullptr);
  if (!done.ok()) return RefuseOnnx(args, done.message());
  if (!json) {
    PrintTiming(args, profile.calls, profile);
    if (timings) args.out() << timings->ToText();
    return kDone;
  }
  nlohmann::json result = {{"model", args.operands()[0]},
                           {"engine", EngineOf(args, FileKind::kModel)},
                           {"target", target.name},
                           {"threads", (*model)->executor().num_threads()},
                           {"outputs", std::move(outputs)}};
  AddTiming(args, profile.calls, profile, &result);
  if (timings) result["load"] = timings->ToJson();
  args.out() << result.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  return kDone;
}

}  // namespace tilewright
