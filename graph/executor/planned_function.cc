#include "graph/executor/planned_function.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/executor/bound_plan.h"
#include "graph/executor/bound_run.h"

namespace tilewright::graph {
namespace {

constexpr size_t kKeptSizes = 8;

// Symbols that the plan's extents, scalars and guards mention.
std::vector<Symbol> SymbolsOf(const ExecutablePlan& plan) {
  std::vector<Expr> all = plan.guards;
  for (const PlanTensor& tensor : plan.tensors) all.insert(all.end(), tensor.shape.begin(), tensor.shape.end());
  for (const PlanStep& step : plan.steps) all.insert(all.end(), step.scalars.begin(), step.scalars.end());
  return FreeSymbols(all);
}

absl::Status CheckArguments(const ExecutablePlan& plan, const Arrays& arguments) {
  if (arguments.size() != plan.params.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(plan.name, " takes ", plan.params.size(), " arguments, not ", arguments.size()));
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    const DataType expected = plan.tensors[i].dtype;
    if (expected == arguments[i].dtype()) continue;
    return absl::InvalidArgumentError(absl::StrCat(plan.params[i]->name, " is ", arguments[i].dtype().ToString(),
                                                   ", expected ", expected.ToString()));
  }
  return absl::OkStatus();
}

}  // namespace

PlannedFunction::~PlannedFunction() = default;

absl::StatusOr<std::unique_ptr<PlannedFunction>> PlannedFunction::Load(ExecutablePlan plan, std::vector<Kernel> kernels,
                                                                       const PlannedFunctionOptions& options,
                                                                       const TwParallelHook* parallel) {
  std::unique_ptr<PlannedFunction> function(new PlannedFunction);
  function->plan_ = std::move(plan);
  function->options_ = options;
  function->outer_symbols_ = SymbolsOf(function->plan_);
  function->kernels_ = std::move(kernels);
  TW_ASSIGN_OR_RETURN(function->constants_,
                      ConstantSection::Make(function->plan_, function->kernels_, parallel, options.release_constants));
  if (options.device != nullptr) {
    const int64_t bytes = function->constants_.bytes();
    TW_ASSIGN_OR_RETURN(function->device_constants_, DeviceMemory::Allocate(options.device, bytes, "constants"));
    TW_RETURN_IF_ERROR(options.device->CopyIn(function->device_constants_.data(), function->constants_.data(), bytes));
  }
  return function;
}

absl::StatusOr<std::shared_ptr<const BoundPlan>> PlannedFunction::Bind(const Arrays& arguments,
                                                                       const SymbolValues& outer) const {
  SizeKey key;
  for (const NDArray& argument : arguments) {
    key.push_back(static_cast<int64_t>(argument.shape().size()));
    key.insert(key.end(), argument.shape().begin(), argument.shape().end());
  }
  for (const Symbol& symbol : outer_symbols_) {
    key.push_back(outer.Has(symbol));
    if (!outer.Has(symbol)) continue;
    TW_ASSIGN_OR_RETURN(const int64_t value, outer.Evaluate(Expr(symbol)));
    key.push_back(value);
  }
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto known = std::find_if(bound_.begin(), bound_.end(), [&](const auto& b) { return b->key() == key; });
    if (known != bound_.end()) {
      std::rotate(bound_.begin(), known, known + 1);
      return bound_.front();
    }
  }
  std::vector<std::vector<int64_t>> shapes;
  for (const NDArray& argument : arguments) shapes.push_back(argument.shape());
  TW_ASSIGN_OR_RETURN(const std::shared_ptr<BoundPlan> bound, BoundPlan::Make(*this, outer, shapes, std::move(key)));
  if (options_.device != nullptr) {
    TW_ASSIGN_OR_RETURN(std::unique_ptr<BoundRun> run, RunOnDevice(*this, *bound));
    bound->RunElsewhere(std::move(run));
  } else if (options_.worker) {
    TW_ASSIGN_OR_RETURN(std::unique_ptr<BoundRun> run, RunInWorker(*this, *bound));
    bound->RunElsewhere(std::move(run));
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  bound_.insert(bound_.begin(), bound);
  if (bound_.size() > kKeptSizes) bound_.pop_back();
  return bound;
}

absl::StatusOr<Arrays> PlannedFunction::Run(const Arrays& arguments, const SymbolValues& outer,
                                            const RunOptions& options) const {
  TW_RETURN_IF_ERROR(CheckArguments(plan_, arguments));
  TW_ASSIGN_OR_RETURN(const std::shared_ptr<const BoundPlan> bound, Bind(arguments, outer));
  Arrays results;
  for (int result : plan_.results) {
    results.emplace_back(plan_.tensors[static_cast<size_t>(result)].dtype, bound->shape(result));
  }
  TW_RETURN_IF_ERROR(RunInto(arguments, results, outer, options));
  return results;
}

absl::Status PlannedFunction::RunInto(const Arrays& arguments, const Arrays& results, const SymbolValues& outer,
                                      const RunOptions& options) const {
  TW_RETURN_IF_ERROR(CheckArguments(plan_, arguments));
  TW_ASSIGN_OR_RETURN(const std::shared_ptr<const BoundPlan> bound, Bind(arguments, outer));
  if (results.size() != plan_.results.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(plan_.name, " has ", plan_.results.size(), " results, not ", results.size()));
  }
  std::vector<void*> inputs, outputs;
  Arrays aligned;  // copies of arguments that are not
  for (const NDArray& argument : arguments) {
    inputs.push_back(argument.data());
    if (reinterpret_cast<uintptr_t>(argument.data()) % kArenaAlignment == 0) continue;
    aligned.push_back(argument.Clone());
    inputs.back() = aligned.back().data();
  }
  for (size_t i = 0; i < results.size(); ++i) {
    const DataType dtype = plan_.tensors[static_cast<size_t>(plan_.results[i])].dtype;
    if (results[i].shape() != bound->shape(plan_.results[i]) || results[i].dtype() != dtype) {
      return absl::InvalidArgumentError(absl::StrCat("result ", i, " has another shape or type than its array"));
    }
    outputs.push_back(results[i].data());
  }
  return bound->Run(inputs, outputs, options);
}

absl::StatusOr<std::vector<std::vector<int64_t>>> PlannedFunction::ShapesOf(const Arrays& arguments,
                                                                            const SymbolValues& outer) const {
  TW_ASSIGN_OR_RETURN(const std::shared_ptr<const BoundPlan> bound, Bind(arguments, outer));
  std::vector<std::vector<int64_t>> shapes;
  for (size_t t = 0; t < plan_.tensors.size(); ++t) shapes.push_back(bound->shape(static_cast<int>(t)));
  return shapes;
}

}  // namespace tilewright::graph
