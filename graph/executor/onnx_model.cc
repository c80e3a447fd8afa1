#include "graph/executor/onnx_model.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "autoschedule/sketch/scheduled_programs.h"
#include "base/phases.h"
#include "base/status_macros.h"
#include "graph/executor/library_programs.h"
#include "graph/executor/optimize.h"
#include "graph/ir/basic_ops.h"

namespace tilewright::graph {
namespace {

// What the shapes of the inputs say about symbolic dimensions; nothing about those of which they say different things.
std::map<std::string, int64_t> ExtentsOf(const onnx::GraphProto& graph, const OnnxModel::Inputs& inputs) {
  std::map<std::string, int64_t> extents;
  std::set<std::string> contradictory;
  for (const auto& input : graph.input()) {
    const auto given = inputs.find(input.name());
    if (given == inputs.end() || given->second.kind != Item::Kind::kTensor) continue;
    const std::vector<int64_t>& shape = given->second.arrays[0].shape();
    const auto& dims = input.type().tensor_type().shape().dim();
    for (int i = 0; i < dims.size() && static_cast<size_t>(i) < shape.size(); ++i) {
      if (dims[i].has_dim_value() && dims[i].dim_value() >= 0) continue;
      const int64_t extent = shape[static_cast<size_t>(i)];
      const auto [known, is_new] = extents.emplace(DimensionName(input, i), extent);
      if (known->second != extent) contradictory.insert(known->first);
    }
  }
  for (const std::string& name : contradictory) extents.erase(name);
  return extents;
}

// What importing a model needs to know of the inputs that it is to run on.
ImportOptions ImportOptionsFor(const onnx::GraphProto& graph, const OnnxModel::Inputs& inputs,
                               const OnnxModel::LoadOptions& options) {
  ImportOptions import{.dims = options.dims};
  for (const auto& [name, tensors] : inputs) {
    if (tensors.kind == Item::Kind::kTensor) {
      // Larger ones are data.
      if (tensors.arrays[0].size() <= kMaxKnownValues) import.bindable.insert(name);
      continue;
    }
    for (const NDArray& array : tensors.arrays) import.given[name].tensors.push_back({array.dtype(), array.shape()});
    import.given.try_emplace(name);
  }
  std::set<std::string> defaults;
  for (const auto& tensor : graph.initializer()) defaults.insert(tensor.name());
  for (const auto& [name, tensors] : inputs) {
    if (tensors.kind != Item::Kind::kTensor) continue;
    import.ranks[name] = tensors.arrays[0].shape().size();
    if (defaults.contains(name)) import.replaced.insert(name);
  }
  return import;
}

}  // namespace

absl::StatusOr<std::unique_ptr<OnnxModel>> OnnxModel::Load(std::unique_ptr<ModelFile> file,
                                                           const LoadOptions& options) {
  std::unique_ptr<OnnxModel> model(new OnnxModel);
  model->file_ = std::move(file);
  AddBasicOps(&model->ops_);
  AddHostOps(&model->ops_);
  const Inputs none;
  const Inputs& inputs = options.inputs != nullptr ? *options.inputs : none;
  const onnx::GraphProto& graph = model->file_->model().graph();
  ImportOptions import = ImportOptionsFor(graph, inputs, options);
  const std::map<std::string, int64_t> extents = ExtentsOf(graph, inputs);
  // Symbolic extents are at least 1 unless they are said to be 0.
  for (const auto& [name, extent] : extents) {
    if (extent == 0) import.dims.emplace(name, 0);
  }
  import.unroll = options.as_library;
  while (true) {
    const Phase phase("import");
    TW_ASSIGN_OR_RETURN(model->imported_, ImportModel(*model->file_, model->ops_, import));
    if (model->imported_.unsupported.empty()) break;
    const size_t before = import.values.size() + import.dims.size();
    for (const std::string& name : model->imported_.needed_values) {
      auto given = inputs.find(name);
      if (given != inputs.end() && given->second.kind == Item::Kind::kTensor) {
        import.values.emplace(name, given->second.arrays[0]);
      }
    }
    // What cannot be imported at every size may be at those that are given.
    if (import.values.size() + import.dims.size() == before) import.dims.insert(extents.begin(), extents.end());
    if (import.values.size() + import.dims.size() == before) return UnsupportedError(model->imported_);
  }
  model->bound_ = std::move(import.values);
  TW_ASSIGN_OR_RETURN(const KernelOptions kernels, WithMachine(options.executor.kernels));
  LoweringTable lowerings;
  if (options.as_library) AddLibraryPrograms(&lowerings);
  // What fusion asks about is compiled later.
  ExecutorOptions executor = options.executor;
  executor.kernels = kernels;
  executor.kernels.scheduled = std::make_shared<ScheduledPrograms>(kernels.target);
  TW_ASSIGN_OR_RETURN(model->optimized_, OptimizeGraph(model->imported_.module, model->ops_, options.passes,
                                                       {.target = kernels.target,
                                                        .report = options.report,
                                                        .cache = kernels.cache,
                                                        .scheduled = executor.kernels.scheduled.get(),
                                                        .sizes = options.likely,
                                                        .lowerings = &lowerings,
                                                        .database = kernels.database}));
  executor.release_constants = [file = model->file_.get()] { file->Release(); };
  executor.release_constants();
  executor.for_library = options.as_library;
  TW_ASSIGN_OR_RETURN(model->executor_, Executor::Compile(model->optimized_, executor));
  return model;
}

absl::StatusOr<Arrays> OnnxModel::ArgumentsOf(const Inputs& inputs) const {
  Arrays arguments;
  for (const ModelValue& input : imported_.inputs) {
    auto given = inputs.find(input.name);
    if (given == inputs.end()) return absl::InvalidArgumentError(absl::StrCat("input \"", input.name, "\" is missing"));
    const Arrays& arrays = given->second.arrays;
    if (input.bound) {
      if (arrays.size() != 1 || !BitEqual(arrays[0], bound_.at(input.name))) {
        return absl::InvalidArgumentError(
            absl::StrCat("input \"", input.name, "\" decides shapes and was loaded with another value"));
      }
      continue;
    }
    if (arrays.size() != input.count) {
      return absl::InvalidArgumentError(
          absl::StrCat("input \"", input.name, "\" has ", arrays.size(), " tensors, expected ", input.count));
    }
    arguments.insert(arguments.end(), arrays.begin(), arrays.end());
  }
  return arguments;
}

std::vector<OnnxModel::Tensors> OnnxModel::OutputsOf(const Arrays& results) const {
  std::vector<Tensors> outputs;
  for (const ModelValue& output : imported_.outputs) {
    const auto first = results.begin() + static_cast<std::ptrdiff_t>(output.first);
    outputs.push_back({output.kind, Arrays(first, first + static_cast<std::ptrdiff_t>(output.count))});
  }
  return outputs;
}

absl::StatusOr<std::vector<OnnxModel::Tensors>> OnnxModel::Run(const Inputs& inputs) const {
  TW_ASSIGN_OR_RETURN(const Arrays arguments, ArgumentsOf(inputs));
  TW_ASSIGN_OR_RETURN(const Arrays results, executor_->Run(arguments));
  return OutputsOf(results);
}

}  // namespace tilewright::graph
