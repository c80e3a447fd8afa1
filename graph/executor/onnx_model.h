// An ONNX model that runs.
//
//   TW_ASSIGN_OR_RETURN(std::unique_ptr<OnnxModel> model, OnnxModel::Load(std::move(file), {.inputs = &inputs}));
//   TW_ASSIGN_OR_RETURN(std::vector<OnnxModel::Tensors> outputs, model->Run(inputs));
//
// Inputs whose elements decide shapes (axes, pads, the target of a Reshape) are bound to the values they are given when
// the model is loaded; Run then takes the same values only. So are the sizes of the inputs where the model cannot be
// imported for every size, as when they decide which branch of an If there is.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "graph/executor/executor.h"
#include "graph/fusion/fuse_kernels.h"
#include "graph/onnx/import.h"
#include "graph/rewrite/pass.h"

namespace tilewright::graph {

class OnnxModel {
 public:
  // A value of the model: one tensor, those of a sequence, or of an optional (none, one, or a sequence's).
  struct Tensors {
    Item::Kind kind = Item::Kind::kTensor;
    Arrays arrays;
  };
  using Inputs = std::map<std::string, Tensors>;

  struct LoadOptions {
    std::map<std::string, int64_t> dims = {};
    SizesByName likely = {};         // that other dimensions probably have: kernels are made for these, right at all
    const Inputs* inputs = nullptr;  // from which values are bound where the model asks for them
    ExecutorOptions executor = {};
    PassContext passes = {};         // how far the graph is optimized; opt_level 0 runs it as it was imported
    FusionReport* report = nullptr;  // receives which kernels there are and why
    bool as_library = false;         // nothing runs beside the kernels: more operators become programs
  };
  // Errors: what is wrong with the model, or all of its nodes that cannot be imported.
  static absl::StatusOr<std::unique_ptr<OnnxModel>> Load(std::unique_ptr<ModelFile> file, const LoadOptions& options);

  const ImportedModel& imported() const { return imported_; }
  // The graph that runs: the imported one after the passes.
  const GraphModule& module() const { return optimized_; }
  const Executor& executor() const { return *executor_; }
  // One result for each output of the model.
  absl::StatusOr<std::vector<Tensors>> Run(const Inputs& inputs) const;
  // The two ends of Run, for callers that run the executor themselves: what it takes, and the outputs in its results.
  absl::StatusOr<Arrays> ArgumentsOf(const Inputs& inputs) const;
  std::vector<Tensors> OutputsOf(const Arrays& results) const;

 private:
  OnnxModel() = default;
  std::unique_ptr<ModelFile> file_;
  OpTable ops_;
  ImportedModel imported_;
  GraphModule optimized_;
  std::map<std::string, NDArray> bound_;
  std::unique_ptr<Executor> executor_;
};

}  // namespace tilewright::graph
