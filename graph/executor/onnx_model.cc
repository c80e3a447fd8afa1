#include "graph/executor/onnx_model.h"

#include "absl/strings/str_cat.h"
#include "graph/executor/optimize.h"
#include "graph/ir/basic_ops.h"
#include "graph/ir/status_macros.h"

namespace tilewright::graph {

absl::StatusOr<std::unique_ptr<OnnxModel>> OnnxModel::Load(std::unique_ptr<ModelFile> file,
                                                           const LoadOptions& options) {
  std::unique_ptr<OnnxModel> model(new OnnxModel);
  model->file_ = std::move(file);
  AddBasicOps(&model->ops_);
  AddHostOps(&model->ops_);
  ImportOptions import{.dims = options.dims};
  const Inputs none;
  const Inputs& inputs = options.inputs != nullptr ? *options.inputs : none;
  for (const auto& [name, tensors] : inputs) {
    if (tensors.kind == Item::Kind::kTensor) {
      // Larger ones are data.
      if (tensors.arrays[0].size() <= kMaxKnownValues) import.bindable.insert(name);
      continue;
    }
    for (const NDArray& array : tensors.arrays) import.given[name].tensors.push_back({array.dtype(), array.shape()});
    import.given.try_emplace(name);
  }
  // Symbolic extents are at least 1 unless they are said to be 0.
  for (const auto& input : model->file_->model().graph().input()) {
    const auto given = inputs.find(input.name());
    if (given == inputs.end() || given->second.kind != Item::Kind::kTensor) continue;
    const std::vector<int64_t>& shape = given->second.arrays[0].shape();
    const auto& dims = input.type().tensor_type().shape().dim();
    for (int i = 0; i < dims.size() && static_cast<size_t>(i) < shape.size(); ++i) {
      if (shape[static_cast<size_t>(i)] != 0 || dims[i].has_dim_value()) continue;
      import.dims.emplace(dims[i].dim_param().empty() ? absl::StrCat(input.name(), "_", i) : dims[i].dim_param(), 0);
    }
  }
  while (true) {
    TW_VALUE_OR_RETURN(model->imported_, ImportModel(*model->file_, model->ops_, import));
    if (model->imported_.unsupported.empty()) break;
    const size_t before = import.values.size();
    for (const std::string& name : model->imported_.needed_values) {
      auto given = inputs.find(name);
      if (given != inputs.end() && given->second.kind == Item::Kind::kTensor) {
        import.values.emplace(name, given->second.arrays[0]);
      }
    }
    if (import.values.size() == before) return UnsupportedError(model->imported_);
  }
  model->bound_ = std::move(import.values);
  TW_VALUE_OR_RETURN(model->optimized_, OptimizeGraph(model->imported_.module, model->ops_, options.passes,
                                                      options.report, options.executor.kernels.cache));
  ExecutorOptions executor = options.executor;
  executor.release_constants = [file = model->file_.get()] { file->Release(); };
  executor.release_constants();
  TW_VALUE_OR_RETURN(model->executor_, Executor::Compile(model->optimized_, executor));
  return model;
}

absl::StatusOr<std::vector<OnnxModel::Tensors>> OnnxModel::Run(const Inputs& inputs) const {
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
  TW_VALUE_OR_RETURN(const Arrays results, executor_->Run(arguments));
  std::vector<Tensors> outputs;
  for (const ModelValue& output : imported_.outputs) {
    const auto first = results.begin() + static_cast<std::ptrdiff_t>(output.first);
    outputs.push_back({output.kind, Arrays(first, first + static_cast<std::ptrdiff_t>(output.count))});
  }
  return outputs;
}

}  // namespace tilewright::graph
