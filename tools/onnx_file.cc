#include "tools/onnx_file.h"

#include <chrono>
#include <filesystem>
#include <memory>
#include <ostream>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "codegen/remote/launcher.h"
#include "graph/device/device.h"
#include "graph/executor/kernel_cache.h"
#include "graph/executor/onnx_model.h"
#include "graph/executor/optimize.h"
#include "graph/ir/basic_ops.h"
#include "graph/onnx/model_inputs.h"
#include "nlohmann/json.hpp"
#include "target/target.h"
#include "tools/array_summary.h"

namespace tilewright {
namespace {

namespace fs = std::filesystem;
using graph::Item;
using graph::OnnxModel;

std::string Describe(const onnx::ValueInfoProto& value) {
  if (!value.type().has_tensor_type()) {
    return absl::StrCat(value.name(), ": ", value.type().has_sequence_type() ? "a sequence" : "no tensor");
  }
  const auto& type = value.type().tensor_type();
  const auto dtype = graph::ElementType(type.elem_type());
  std::vector<std::string> extents;
  for (const auto& dim : type.shape().dim()) {
    extents.push_back(dim.has_dim_value() && dim.dim_value() >= 0
                          ? absl::StrCat(dim.dim_value())
                          : graph::DimensionName(value, static_cast<int>(extents.size())));
  }
  return absl::StrCat(value.name(), ": ", dtype.ok() ? dtype->ToString() : graph::OnnxTypeName(type.elem_type()), "[",
                      type.has_shape() ? absl::StrJoin(extents, ", ") : "?", "]");
}

absl::StatusOr<OnnxModel::Inputs> InputsOf(const CommandArguments& args, const onnx::GraphProto& graph,
                                           const std::map<std::string, int64_t>& dims) {
  int64_t seed = 0;
  if (const auto text = args.Get("--seed"); text && !absl::SimpleAtoi(*text, &seed)) {
    return absl::InvalidArgumentError(absl::StrCat("--seed ", *text, " is not a number"));
  }
  const auto directory = args.Get("--inputs");
  if (directory && !fs::is_directory(*directory)) {
    return absl::InvalidArgumentError(absl::StrCat("--inputs ", *directory, " is not a directory"));
  }
  std::set<std::string> initialized;
  for (const auto& tensor : graph.initializer()) initialized.insert(tensor.name());
  OnnxModel::Inputs inputs;
  for (const auto& input : graph.input()) {
    const auto fail = [&](const absl::Status& status) {
      return absl::InvalidArgumentError(absl::StrCat("input \"", input.name(), "\": ", status.message()));
    };
    if (directory) {
      const auto dtype = graph::ElementType(input.type().tensor_type().elem_type());
      auto array = ReadNpy(graph::ArrayPath(*directory, input.name()), dtype.ok() ? *dtype : DataType());
      if (array.ok()) {
        inputs[input.name()] = {Item::Kind::kTensor, {*std::move(array)}};
        continue;
      }
      if (!absl::IsNotFound(array.status())) return fail(array.status());
    }
    // An input with a default takes it where no file gives another.
    if (initialized.contains(input.name())) continue;
    auto array = graph::RandomInput(input, dims, static_cast<uint64_t>(++seed));
    if (!array.ok()) return fail(array.status());
    inputs[input.name()] = {Item::Kind::kTensor, {*std::move(array)}};
  }
  return inputs;
}

}  // namespace

int RefuseOnnx(const CommandArguments& args, absl::string_view message) {
  args.err() << args.operands()[0] << ": error: " << std::string(message) << "\n";
  return kRefused;
}

absl::StatusOr<std::map<std::string, int64_t>> DimsOf(const CommandArguments& args) {
  std::map<std::string, int64_t> dims;
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

absl::StatusOr<graph::PassContext> PassesOf(const CommandArguments& args) {
  graph::PassContext context;
  if (const auto level = args.Get("--opt-level")) {
    if (!absl::SimpleAtoi(*level, &context.opt_level) || context.opt_level < 0) {
      return absl::InvalidArgumentError(absl::StrCat("--opt-level ", *level, " is not a number from 0 on"));
    }
  }
  for (const std::string& name : args.GetAll("--disable")) context.disabled.insert(name);
  return context;
}

graph::ExecutorOptions ExecutorOptionsOf(const CommandArguments& args, const graph::KernelCache* cache) {
  graph::ExecutorOptions options;
  options.kernels.cache = cache;
  options.kernels.database = args.Get("--db").value_or("");
  auto last = std::make_shared<std::chrono::steady_clock::time_point>(std::chrono::steady_clock::now());
  options.kernels.progress = [&err = args.err(), last](size_t done, size_t all) {
    const auto now = std::chrono::steady_clock::now();
    if (now - *last < std::chrono::seconds(2)) return;
    *last = now;
    err << "compiled " << done << " of " << all << " kernels\n" << std::flush;
  };
  return options;
}

absl::Status ChooseMachine(const CommandArguments& args, graph::ExecutorOptions* options) {
  const std::string engine = args.Get("--engine").value_or("");
  const bool is_cuda = engine == "cuda" || engine == "cuda-emulation";
  const auto target = NamedTarget(args.Get("--target").value_or(is_cuda ? "cuda-sm90a" : "host"));
  if (!target.ok()) return target.status();
  const bool known = engine.empty() || engine == "llvm" || engine == "interp" || is_cuda;
  if (!known || (!engine.empty() && is_cuda != target->is_gpu())) {
    return absl::InvalidArgumentError(absl::StrCat("--engine=", engine, " does not run models on ", target->name));
  }
  options->kernels.target = *target;
  options->interpret = engine == "interp";
  if (target->is_gpu()) {
    options->kernels.use = graph::KernelUse::kDevice;
    options->kernels.emulate = engine == "cuda-emulation";
    auto gpu = options->kernels.emulate ? graph::EmulatedGpu() : graph::Gpu();
    if (!gpu.ok()) return gpu.status();
    options->device = *std::move(gpu);
  } else if (remote::IsForeign(*target) && !options->interpret) {
    options->kernels.use = graph::KernelUse::kExport;
    options->worker = graph::WorkerOptions{.target = *target, .database = options->kernels.database};
  }
  return absl::OkStatus();
}

bool IsOnnxFile(const std::string& path) { return path.ends_with(".onnx"); }

int CheckOnnx(const CommandArguments& args) {
  const auto dims = DimsOf(args);
  if (!dims.ok()) return RefuseOnnx(args, dims.status().message());
  auto file = graph::ModelFile::Open(args.operands()[0]);
  if (!file.ok()) return RefuseOnnx(args, file.status().message());
  graph::OpTable ops;
  graph::AddBasicOps(&ops);
  graph::AddHostOps(&ops);
  const auto model = graph::ImportModel(**file, ops, {.dims = *dims});
  if (!model.ok()) return RefuseOnnx(args, model.status().message());
  const onnx::ModelProto& proto = (*file)->model();
  std::set<std::string> initialized;
  for (const auto& tensor : proto.graph().initializer()) initialized.insert(tensor.name());
  for (const auto& import : proto.opset_import()) {
    args.out() << "opset " << (import.domain().empty() ? "ai.onnx" : import.domain()) << " " << import.version()
               << "\n";
  }
  for (const auto& input : proto.graph().input()) {
    if (!initialized.contains(input.name())) args.out() << "input " << Describe(input) << "\n";
  }
  for (const auto& output : proto.graph().output()) args.out() << "output " << Describe(output) << "\n";
  for (const auto& [name, count] : model->op_counts) args.out() << "operator " << name << ": " << count << "\n";
  // Nodes that only wait for the value of an input are no obstacle: `run` has it.
  graph::ImportedModel refused;
  for (const graph::UnsupportedNode& node : model->unsupported) {
    if (node.needs_values) {
      args.out() << "to be bound by run: " << node.ToString() << "\n";
    } else {
      refused.unsupported.push_back(node);
    }
  }
  const absl::Status status = graph::UnsupportedError(refused);
  if (!status.ok()) return RefuseOnnx(args, status.message());
  if (!model->unsupported.empty()) return kDone;
  auto passes = PassesOf(args);
  if (!passes.ok()) return RefuseOnnx(args, passes.status().message());
  passes->check = true;
  const auto optimized = graph::OptimizeGraph(model->module, ops, *passes);
  if (!optimized.ok()) return RefuseOnnx(args, optimized.status().message());
  args.out() << "calls of programs: " << graph::CountProgramCalls(model->module) << ", at opt_level "
             << passes->opt_level << " " << graph::CountProgramCalls(*optimized) << "\n";
  return kDone;
}

int RunOnnx(const CommandArguments& args) {
  const auto dims = DimsOf(args);
  if (!dims.ok()) return RefuseOnnx(args, dims.status().message());
  auto file = graph::ModelFile::Open(args.operands()[0]);
  if (!file.ok()) return RefuseOnnx(args, file.status().message());
  const auto inputs = InputsOf(args, (*file)->model().graph(), *dims);
  if (!inputs.ok()) return RefuseOnnx(args, inputs.status().message());
  const auto passes = PassesOf(args);
  if (!passes.ok()) return RefuseOnnx(args, passes.status().message());
  const std::unique_ptr<graph::KernelCache> cache = graph::KernelCache::Default();
  graph::ExecutorOptions executor = ExecutorOptionsOf(args, cache.get());
  if (absl::Status status = ChooseMachine(args, &executor); !status.ok()) return RefuseOnnx(args, status.message());
  const auto model = OnnxModel::Load(
      *std::move(file), {.dims = *dims, .inputs = &*inputs, .executor = std::move(executor), .passes = *passes});
  if (!model.ok()) return RefuseOnnx(args, model.status().message());
  const auto results = (*model)->Run(*inputs);
  if (!results.ok()) return RefuseOnnx(args, results.status().message());
  const auto directory = args.Get("--outputs");
  std::error_code error;  // what cannot be made cannot be written either, which is reported
  if (directory) std::filesystem::create_directories(*directory, error);
  nlohmann::json outputs = nlohmann::json::array();
  for (size_t i = 0; i < results->size(); ++i) {
    const OnnxModel::Tensors& result = (*results)[i];
    for (size_t k = 0; k < result.arrays.size(); ++k) {
      std::string name = (*model)->imported().outputs[i].name;
      if (result.kind != Item::Kind::kTensor) absl::StrAppend(&name, "_", k);
      const NDArray& array = result.arrays[k];
      if (directory) {
        const absl::Status status = WriteNpy(array, graph::ArrayPath(*directory, name));
        if (!status.ok()) return RefuseOnnx(args, status.message());
      }
      if (args.Has("--json")) {
        outputs.push_back(ToJson(name, array));
      } else {
        PrintArray(args.out(), name, array);
      }
    }
  }
  if (args.Has("--json")) {
    const nlohmann::json result = {{"model", args.operands()[0]}, {"outputs", std::move(outputs)}};
    args.out() << result.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  }
  return kDone;
}

}  // namespace tilewright
