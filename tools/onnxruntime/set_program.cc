#include "tools/onnxruntime/set_program.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/memory/memory_plan.h"

namespace tilewright::onnxruntime {
namespace {

using graph::Arrays;
using graph::KernelCache;

constexpr size_t kKeptSizes = 8;  // programs for given sizes, beside the one for all

std::unique_ptr<KernelCache> CacheOf(const std::string& folder) {
  if (folder.empty()) return KernelCache::Default();
  return folder == "off" ? nullptr : std::make_unique<KernelCache>(folder);
}

bool IsAligned(const void* memory) { return reinterpret_cast<uintptr_t>(memory) % graph::kArenaAlignment == 0; }

// What the inputs' shapes say of symbolic dimensions. Nothing where there are none, or two extents have one name.
std::optional<std::map<std::string, int64_t>> ExtentsOf(const onnx::GraphProto& graph, const Arrays& inputs) {
  std::map<std::string, int64_t> extents;
  for (int i = 0; i < graph.input_size(); ++i) {
    const std::vector<int64_t>& shape = inputs[static_cast<size_t>(i)].shape();
    const auto& dims = graph.input(i).type().tensor_type().shape().dim();
    for (int d = 0; d < dims.size() && static_cast<size_t>(d) < shape.size(); ++d) {
      if (dims[d].has_dim_value()) continue;
      const int64_t extent = shape[static_cast<size_t>(d)];
      if (extents.emplace(graph::DimensionName(graph.input(i), d), extent).first->second != extent) return std::nullopt;
    }
  }
  if (extents.empty()) return std::nullopt;
  return extents;
}

}  // namespace

NDArray ArrayOver(void* memory, DataType dtype, std::vector<int64_t> shape) {
  std::shared_ptr<std::byte[]> bytes(static_cast<std::byte*>(memory), [](std::byte*) {});
  return NDArray(dtype, std::move(shape), std::move(bytes));
}

Machine::Machine(const ProviderOptions& given)
    : options(given), cache(CacheOf(given.cache_dir)), pool({.num_threads = given.threads}) {}

absl::StatusOr<std::shared_ptr<SetProgram>> SetProgram::Load(const SetModel& model, std::shared_ptr<Machine> machine) {
  std::shared_ptr<SetProgram> program(new SetProgram);
  program->machine_ = std::move(machine);
  for (const auto& input : model.model.graph().input()) program->inputs_.push_back(input.name());
  for (const auto& output : model.model.graph().output()) program->outputs_.push_back(output.name());
  *program->declared_.mutable_input() = model.model.graph().input();
  program->bytes_ = std::make_shared<const std::string>(model.Bytes());
  TW_ASSIGN_OR_RETURN(program->model_, program->LoadModel({}));
  return program;
}

absl::StatusOr<SetProgram::Model> SetProgram::LoadModel(const Extents& extents) const {
  const absl::Span<const std::byte> bytes(reinterpret_cast<const std::byte*>(bytes_->data()), bytes_->size());
  TW_ASSIGN_OR_RETURN(std::unique_ptr<graph::ModelFile> file, graph::ModelFile::FromBytes(bytes_, bytes, ""));
  graph::OnnxModel::LoadOptions options{.dims = extents, .passes = machine_->options.passes};
  options.executor.kernels.cache = machine_->cache.get();
  options.executor.num_threads = 1;  // loops run in the session's pool
  TW_ASSIGN_OR_RETURN(std::unique_ptr<graph::OnnxModel> model, graph::OnnxModel::Load(std::move(file), options));
  for (const graph::ModelValue& output : model->imported().outputs) {
    if (output.kind == graph::Item::Kind::kTensor && output.count == 1) continue;
    return absl::UnimplementedError(absl::StrCat("\"", output.name, "\" is not a tensor"));
  }
  return Model(std::move(model));
}

absl::StatusOr<SetProgram::Model> SetProgram::ModelOfSizes(const Extents& extents) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto known = std::ranges::find(sized_, extents, &std::pair<Extents, Model>::first);
  if (known != sized_.end()) {
    std::rotate(sized_.begin(), known, known + 1);
    return sized_.front().second;
  }
  TW_ASSIGN_OR_RETURN(Model model, LoadModel(extents));
  sized_.insert(sized_.begin(), {extents, model});
  if (sized_.size() > kKeptSizes) sized_.pop_back();
  return model;
}

absl::Status SetProgram::Run(const Arrays& inputs, const Place& place) const {
  bool placed = false;
  const Place place_once = [&](size_t output, const std::vector<int64_t>& shape) {
    placed = true;
    return place(output, shape);
  };
  const absl::Status status = RunModel(*model_, inputs, place_once);
  if (status.ok() || placed) return status;
  const auto extents = ExtentsOf(declared_, inputs);
  if (!extents) return status;
  const auto sized = ModelOfSizes(*extents);
  return sized.ok() ? RunModel(**sized, inputs, place) : status;
}

absl::Status SetProgram::RunModel(const graph::OnnxModel& model, const Arrays& inputs, const Place& place) const {
  const TwParallelHook hook = machine_->pool.hook();
  const graph::RunOptions options{.parallel = &hook};
  const std::vector<graph::ModelValue>& outputs = model.imported().outputs;
  const graph::PlannedFunction* const plan = model.executor().planned();
  Arrays results;
  std::vector<void*> memory;
  if (plan == nullptr) {
    TW_ASSIGN_OR_RETURN(results, model.executor().Run(inputs, options));
    for (const graph::ModelValue& output : outputs) {
      TW_ASSIGN_OR_RETURN(memory.emplace_back(), place(memory.size(), results[output.first].shape()));
    }
  } else {
    TW_ASSIGN_OR_RETURN(const auto shapes, plan->ResultShapes(inputs, {}));
    for (const graph::ModelValue& output : outputs) {
      const auto& tensor = plan->plan().tensors[static_cast<size_t>(plan->plan().results[output.first])];
      TW_ASSIGN_OR_RETURN(memory.emplace_back(), place(memory.size(), shapes[output.first]));
      results.push_back(IsAligned(memory.back()) ? ArrayOver(memory.back(), tensor.dtype, shapes[output.first])
                                                 : NDArray(tensor.dtype, shapes[output.first]));
    }
    TW_RETURN_IF_ERROR(model.executor().RunInto(inputs, results, options));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const NDArray& result = results[outputs[i].first];
    if (result.data() != memory[i] && result.bytes() > 0) {
      std::memcpy(memory[i], result.data(), static_cast<size_t>(result.bytes()));
    }
  }
  return absl::OkStatus();
}

}  // namespace tilewright::onnxruntime
