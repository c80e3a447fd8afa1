#include "bench/models/own_model.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "autoschedule/cost/speed_of_light.h"
#include "autoschedule/program/sizes.h"
#include "base/status_macros.h"
#include "bench/models/bound_to.h"
#include "codegen/runtime/timer.h"
#include "graph/device/device.h"
#include "graph/executor/kernel_cache.h"
#include "target/target.h"

namespace tilewright::bench {

using graph::Arrays;
using graph::OnnxModel;

absl::StatusOr<std::unique_ptr<OwnModel>> OwnModel::Load(const ModelCase& model,
                                                         const std::vector<OnnxModel::Inputs>& sets,
                                                         const Target& target, int opt_level,
                                                         const std::string& database, runtime::ThreadPool& pool,
                                                         const std::vector<int>& cpus) {
  std::unique_ptr<OwnModel> own(new OwnModel);
  const BoundTo bound(cpus);
  const int64_t start = runtime::NowNanoseconds();
  const std::unique_ptr<graph::KernelCache> cache = graph::KernelCache::Default();
  TW_ASSIGN_OR_RETURN(auto file, graph::ModelFile::Open(model.file));
  // This machine has the cores that the pool's threads run on, not the one that the caller is bound to.
  own->target_ = target.name == HostTarget().name ? HostTarget() : target;
  graph::ExecutorOptions executor = {.kernels = {.target = own->target_, .database = database, .cache = cache.get()},
                                     .num_threads = pool.num_threads()};
  if (target.is_gpu()) {
    executor.kernels.use = graph::KernelUse::kDevice;
    TW_ASSIGN_OR_RETURN(executor.device, graph::Gpu());
  }
  graph::PassContext passes;
  passes.opt_level = opt_level;
  TW_ASSIGN_OR_RETURN(
      auto loaded,
      OnnxModel::Load(std::move(file),
                      {.dims = model.dims, .inputs = &sets[0], .executor = executor, .passes = std::move(passes)}));
  own->model_ = std::move(loaded);
  own->hook_ = pool.hook();
  own->load_ms_ = static_cast<double>(runtime::NowNanoseconds() - start) * 1e-6;
  for (const OnnxModel::Inputs& inputs : sets) {
    Arrays arguments;
    for (const graph::ModelValue& input : own->model_->imported().inputs) {
      if (!input.bound) arguments.push_back(inputs.at(input.name).arrays[0]);
    }
    own->arguments_.push_back(std::move(arguments));
    TW_ASSIGN_OR_RETURN(auto first, own->Outputs(own->results_.size()));
    own->results_.push_back(std::move(first));
    if (executor.device == nullptr || own->model_->executor().planned() == nullptr) continue;
    graph::PlacedArrays there;
    for (const NDArray& argument : own->arguments_.back()) {
      TW_ASSIGN_OR_RETURN(graph::PlacedArray placed, graph::PlacedArray::On(executor.device, argument));
      there.push_back(std::move(placed));
    }
    own->inputs_.push_back(std::move(there));
  }
  own->outputs_.resize(own->inputs_.size());
  return own;
}

void OwnModel::Run(int set) {
  const Arrays& arguments = arguments_[static_cast<size_t>(set)];
  Arrays& into = results_[static_cast<size_t>(set)];
  const graph::RunOptions options = {.parallel = &hook_};
  const graph::PlannedFunction* planned = model_->executor().planned();
  if (!inputs_.empty()) {
    outputs_[static_cast<size_t>(set)].clear();
    auto outputs = planned->RunThere(inputs_[static_cast<size_t>(set)], {});
    status_.Update(outputs.status());
    if (outputs.ok()) outputs_[static_cast<size_t>(set)] = *std::move(outputs);
    return;
  }
  if (planned != nullptr) {
    status_.Update(planned->RunInto(arguments, into, {}, options));
    return;
  }
  auto results = model_->executor().Run(arguments, options);
  status_.Update(results.status());
  if (results.ok()) into = *std::move(results);
}

void OwnModel::SpoilOutput(int set) {
  for (const NDArray& result : results_[static_cast<size_t>(set)])
    std::memset(result.data(), 0xff, static_cast<size_t>(result.bytes()));
}

absl::Status OwnModel::CopyOutput(int, runtime::Tensor&) {
  return absl::UnimplementedError("models have several outputs: Outputs()");
}

absl::StatusOr<Arrays> OwnModel::Outputs(size_t set) const {
  return model_->executor().Run(arguments_[set], {.parallel = &hook_});
}

absl::StatusOr<Arrays> OwnModel::results(size_t set) const {
  if (!status_.ok()) return status_;
  return inputs_.empty() ? absl::StatusOr<Arrays>(results_[set]) : graph::Here(outputs_[set]);
}

double OwnModel::Flops() const {
  const graph::PlannedFunction* planned = model_->executor().planned();
  if (planned == nullptr) return 0;
  const auto shapes = planned->ShapesOf(arguments_[0], {});
  if (!shapes.ok()) return 0;
  double flops = 0;
  for (const graph::PlanStep& step : planned->plan().steps) {
    const Function& program = planned->plan().programs[static_cast<size_t>(step.program)].program;
    std::map<std::string, int64_t> sizes;
    for (size_t i = 0; i < step.tensors.size(); ++i) {
      const std::vector<int64_t>& shape = (*shapes)[static_cast<size_t>(step.tensors[i])];
      const std::vector<Expr>& extents = program->params[i].buffer->shape;
      for (size_t d = 0; d < extents.size(); ++d) {
        if (const auto* symbol = dyn_cast<VarNode>(extents[d])) sizes[symbol->name] = shape[d];
      }
    }
    flops += 2 * SpeedOfLightOf(AtSizes(program, sizes), target_).multiply_adds;
  }
  return flops;
}

int64_t OwnModel::Bytes() const {
  int64_t bytes = 0;
  for (const NDArray& argument : arguments_[0]) bytes += argument.bytes();
  for (const NDArray& result : results_[0]) bytes += result.bytes();
  if (const graph::PlannedFunction* planned = model_->executor().planned()) {
    for (const graph::Constant& constant : planned->plan().constants) bytes += constant->bytes.size();
  }
  return bytes;
}

int OwnModel::kernels() const {
  const graph::PlannedFunction* planned = model_->executor().planned();
  return planned == nullptr ? 0 : static_cast<int>(planned->plan().steps.size());
}

std::vector<KernelTime> OwnModel::Profile() const {
  constexpr int kRuns = 10;
  const graph::PlannedFunction* planned = model_->executor().planned();
  if (planned == nullptr || !inputs_.empty()) return {};
  Arrays results = results_[0];
  std::vector<int64_t> least, once;
  for (int run = 0; run < kRuns; ++run) {
    if (!planned->RunInto(arguments_[0], results, {}, {.parallel = &hook_, .step_nanoseconds = &once}).ok()) return {};
    if (least.empty()) least = once;
    for (size_t i = 0; i < once.size(); ++i) least[i] = std::min(least[i], once[i]);
  }
  std::vector<KernelTime> times;
  for (size_t i = 0; i < least.size(); ++i) {
    const graph::PlanStep& step = planned->plan().steps[i];
    times.push_back({step.name, step.program, static_cast<double>(least[i]) * 1e-6});
  }
  return times;
}

}  // namespace tilewright::bench
