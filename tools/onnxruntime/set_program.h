// A set of nodes, compiled: what ONNX Runtime calls in their place.
//
//   TW_ASSIGN_OR_RETURN(auto program, SetProgram::Load(model, machine));
//   TW_RETURN_IF_ERROR(program->Run(inputs, place));
//
// One program serves all sizes of symbolic dimensions. Where a run's sizes are not ones that it takes (an extent of 1
// that is broadcast, a dimension of 0), the set is compiled once more for these sizes; the last few are kept.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "codegen/runtime/thread_pool.h"
#include "graph/executor/kernel_cache.h"
#include "graph/executor/onnx_model.h"
#include "onnx/onnx_pb.h"
#include "tools/onnxruntime/graph_reader.h"
#include "tools/onnxruntime/options.h"

namespace tilewright::onnxruntime {

// What the programs of a session share.
struct Machine {
  explicit Machine(const ProviderOptions& options);
  ProviderOptions options;
  std::unique_ptr<graph::KernelCache> cache;  // null: none
  runtime::ThreadPool pool;
};

// An array over memory of somebody else.
NDArray ArrayOver(void* memory, DataType dtype, std::vector<int64_t> shape);

class SetProgram {
 public:
  // Errors say what of the set is not supported.
  static absl::StatusOr<std::shared_ptr<SetProgram>> Load(const SetModel& model, std::shared_ptr<Machine> machine);

  const std::vector<std::string>& inputs() const { return inputs_; }
  const std::vector<std::string>& outputs() const { return outputs_; }

  // Gives the memory of an output, by number, of this shape.
  using Place = std::function<absl::StatusOr<void*>(size_t output, const std::vector<int64_t>& shape)>;
  // May run in several threads at once.
  absl::Status Run(const graph::Arrays& inputs, const Place& place) const;

 private:
  using Extents = std::map<std::string, int64_t>;  // by the names of symbolic dimensions
  using Model = std::shared_ptr<const graph::OnnxModel>;

  SetProgram() = default;
  absl::StatusOr<Model> LoadModel(const Extents& extents) const;
  absl::StatusOr<Model> ModelOfSizes(const Extents& extents) const;
  absl::Status RunModel(const graph::OnnxModel& model, const graph::Arrays& inputs, const Place& place) const;

  std::shared_ptr<Machine> machine_;
  std::vector<std::string> inputs_, outputs_;
  onnx::GraphProto declared_;  // inputs with their types
  std::shared_ptr<const std::string> bytes_;
  Model model_;
  mutable std::mutex mutex_;
  mutable std::vector<std::pair<Extents, Model>> sized_;  // the last used first
};

}  // namespace tilewright::onnxruntime
