#include "graph/executor/planned_function.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/executor/bound_plan.h"
#include "graph/executor/bound_run.h"
#include "graph/executor/sized_run.h"

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

// `arguments`: here or elsewhere.
template <class Arguments>
absl::Status CheckArguments(const ExecutablePlan& plan, const Arguments& arguments) {
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
  std::vector<std::vector<int64_t>> shapes;
  for (const NDArray& argument : arguments) shapes.push_back(argument.shape());
  return BindShapes(shapes, outer);
}

absl::StatusOr<std::shared_ptr<const BoundPlan>> PlannedFunction::BindShapes(
    const std::vector<std::vector<int64_t>>& shapes, const SymbolValues& outer) const {
  SizeKey key;
  for (const std::vector<int64_t>& shape : shapes) {
    key.push_back(static_cast<int64_t>(shape.size()));
    key.insert(key.end(), shape.begin(), shape.end());
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
  TW_ASSIGN_OR_RETURN(const std::shared_ptr<BoundPlan> bound, BoundPlan::Make(*this, outer, shapes, std::move(key)));
  if (options_.device != nullptr) {
    TW_ASSIGN_OR_RETURN(std::unique_ptr<BoundRun> run, RunOnDevice(*this, *bound));
    bound->RunElsewhere(std::move(run));
  } else if (options_.worker) {
    TW_ASSIGN_OR_RETURN(std::unique_ptr<BoundRun> run, RunInWorker(*this, *bound));
    bound->RunElsewhere(std::move(run));
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  ++counters_.plans;
  bound_.insert(bound_.begin(), bound);
  if (bound_.size() > kKeptSizes) bound_.pop_back();
  return bound;
}

const SizedRun* PlannedFunction::Sized(const SymbolValues& outer) const {
  const auto in_place = [](const PlanStep& step) { return step.in_place.has_value(); };
  if (options_.device != nullptr || options_.worker || !plan_.loops.empty() || !plan_.reads.empty()) return nullptr;
  if (outer_symbols_.empty() && std::ranges::none_of(plan_.steps, in_place)) return nullptr;
  if (std::ranges::any_of(outer_symbols_, [&](const Symbol& symbol) { return outer.Has(symbol); })) return nullptr;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!asked_for_all_sizes_) {
    asked_for_all_sizes_ = true;
    // A plan without one binds sizes one by one.
    if (auto sized = SizedRun::Make(*this); sized.ok()) {
      sized_ = *std::move(sized);
      ++counters_.plans;
    }
  }
  return sized_.get();
}

void PlannedFunction::Count(const RunCounters& counters) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  counters_.frames += counters.frames;
  counters_.allocated_bytes += counters.allocated_bytes;
  counters_.copied_bytes += counters.copied_bytes;
}

RunCounters PlannedFunction::counters() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return counters_;
}

absl::Status PlannedFunction::Reserve(const std::vector<std::vector<int64_t>>& shapes) const {
  const SizedRun* sized = Sized({});
  if (sized == nullptr) return absl::FailedPreconditionError(absl::StrCat(plan_.name, " has no plan for all sizes"));
  RunCounters counters;
  TW_ASSIGN_OR_RETURN(std::unique_ptr<SizedRun::Frame> frame, sized->Prepare(ShapeList(shapes), &counters));
  if (frame == nullptr) return absl::InvalidArgumentError(absl::StrCat(plan_.name, " takes no such shapes"));
  sized->GiveBack(std::move(frame));
  Count(counters);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::vector<int64_t>>> PlannedFunction::ResultShapes(const Arrays& arguments,
                                                                                const SymbolValues& outer) const {
  TW_RETURN_IF_ERROR(CheckArguments(plan_, arguments));
  std::vector<std::vector<int64_t>> shapes;
  const SizedRun* const sized = Sized(outer);
  std::unique_ptr<SizedRun::Frame> frame;
  RunCounters counters;
  if (sized != nullptr) {
    TW_ASSIGN_OR_RETURN(frame, sized->Prepare(ShapeList(arguments), &counters));
  }
  if (frame != nullptr) {
    for (size_t r = 0; r < plan_.results.size(); ++r) shapes.push_back(sized->ResultShape(*frame, r));
    sized->GiveBack(std::move(frame));
    Count(counters);
  } else {
    TW_ASSIGN_OR_RETURN(const std::shared_ptr<const BoundPlan> bound, Bind(arguments, outer));
    for (int result : plan_.results) shapes.push_back(bound->shape(result));
  }
  return shapes;
}

absl::StatusOr<Arrays> PlannedFunction::Run(const Arrays& arguments, const SymbolValues& outer,
                                            const RunOptions& options) const {
  TW_ASSIGN_OR_RETURN(std::vector<std::vector<int64_t>> shapes, ResultShapes(arguments, outer));
  Arrays results;
  for (size_t r = 0; r < plan_.results.size(); ++r) {
    results.emplace_back(plan_.tensors[static_cast<size_t>(plan_.results[r])].dtype, std::move(shapes[r]));
  }
  TW_RETURN_IF_ERROR(RunInto(arguments, results, outer, options));
  return results;
}

absl::Status PlannedFunction::RunInto(const Arrays& arguments, const Arrays& results, const SymbolValues& outer,
                                      const RunOptions& options) const {
  TW_RETURN_IF_ERROR(CheckArguments(plan_, arguments));
  if (results.size() != plan_.results.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(plan_.name, " has ", plan_.results.size(), " results, not ", results.size()));
  }
  const auto is_aligned = [](const NDArray& array) {
    return reinterpret_cast<uintptr_t>(array.data()) % kArenaAlignment == 0;
  };
  if (!std::ranges::all_of(arguments, is_aligned)) {
    Arrays aligned;
    RunCounters counters;
    for (const NDArray& argument : arguments) {
      aligned.push_back(is_aligned(argument) ? argument : argument.Clone());
      if (!is_aligned(argument)) counters.copied_bytes += argument.bytes();
    }
    Count(counters);
    return RunInto(aligned, results, outer, options);
  }
  if (const SizedRun* const sized = Sized(outer); sized != nullptr) {
    RunCounters counters;
    TW_ASSIGN_OR_RETURN(std::unique_ptr<SizedRun::Frame> frame, sized->Prepare(ShapeList(arguments), &counters));
    if (frame != nullptr) {
      const absl::Status status = sized->Run(*frame, arguments, results, options, &counters);
      sized->GiveBack(std::move(frame));
      Count(counters);
      return status;
    }
  }
  TW_ASSIGN_OR_RETURN(const std::shared_ptr<const BoundPlan> bound, Bind(arguments, outer));
  return RunBound(*bound, arguments, results, options);
}

absl::Status PlannedFunction::RunBound(const BoundPlan& bound, const Arrays& arguments, const Arrays& results,
                                       const RunOptions& options) const {
  std::vector<void*> inputs, outputs;
  for (const NDArray& argument : arguments) inputs.push_back(argument.data());
  for (size_t i = 0; i < results.size(); ++i) {
    const DataType dtype = plan_.tensors[static_cast<size_t>(plan_.results[i])].dtype;
    if (results[i].shape() != bound.shape(plan_.results[i]) || results[i].dtype() != dtype) {
      return absl::InvalidArgumentError(absl::StrCat("result ", i, " has another shape or type than its array"));
    }
    outputs.push_back(results[i].data());
  }
  return bound.Run(inputs, outputs, options);
}

absl::StatusOr<PlacedArrays> PlannedFunction::RunThere(const PlacedArrays& arguments, const SymbolValues& outer) const {
  TW_RETURN_IF_ERROR(CheckArguments(plan_, arguments));
  if (options_.device == nullptr) return absl::FailedPreconditionError(absl::StrCat(plan_.name, " has no device"));
  std::vector<std::vector<int64_t>> shapes;
  for (const PlacedArray& argument : arguments) shapes.push_back(argument.shape());
  TW_ASSIGN_OR_RETURN(const std::shared_ptr<const BoundPlan> bound, BindShapes(shapes, outer));
  return bound->RunThere(arguments);
}

absl::StatusOr<std::vector<std::vector<int64_t>>> PlannedFunction::ShapesOf(const Arrays& arguments,
                                                                            const SymbolValues& outer) const {
  TW_ASSIGN_OR_RETURN(const std::shared_ptr<const BoundPlan> bound, Bind(arguments, outer));
  std::vector<std::vector<int64_t>> shapes;
  for (size_t t = 0; t < plan_.tensors.size(); ++t) shapes.push_back(bound->shape(static_cast<int>(t)));
  return shapes;
}

}  // namespace tilewright::graph
