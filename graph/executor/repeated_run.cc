#include "graph/executor/repeated_run.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/status_macros.h"
#include "graph/executor/bound_plan.h"
#include "graph/host/array.h"

namespace tilewright::graph {
namespace {

// Kernels take arguments that are aligned so, as arrays are that this process makes.
bool IsAligned(const NDArray& array) { return reinterpret_cast<uintptr_t>(array.data()) % kArenaAlignment == 0; }

}  // namespace

bool RepeatedRun::IsLikeBefore(const Arrays& arguments) const {
  if (arguments.size() != shapes_.size()) return false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].shape() != shapes_[i] || !IsAligned(arguments[i])) return false;
    if (arguments[i].dtype() != function_.plan().tensors[i].dtype) return false;
  }
  return true;
}

NDArray RepeatedRun::ResultArray(size_t result) {
  const int tensor = function_.plan().results[result];
  const DataType dtype = function_.plan().tensors[static_cast<size_t>(tensor)].dtype;
  std::vector<Memory>& all = memory_[result];
  auto free = std::ranges::find_if(all, [](const Memory& memory) { return memory.use_count() == 1; });
  if (free == all.end()) free = all.insert(all.end(), UnwrittenBytes(bound_->bytes(tensor)));
  return {dtype, bound_->shape(tensor), *free};
}

absl::StatusOr<Arrays> RepeatedRun::Run(const Arrays& arguments) {
  const ExecutablePlan& plan = function_.plan();
  const bool like_before = !changes_ && IsLikeBefore(arguments);
  if (!like_before) {
    // The first run checks all that later ones rely on. Sizes that change have plans of their own.
    changes_ = changes_ || !shapes_.empty() || arguments.empty() ||
               std::ranges::any_of(plan.steps, [](const PlanStep& step) { return step.in_place.has_value(); });
    for (const NDArray& argument : arguments) shapes_.push_back(argument.shape());
    return function_.Run(arguments, outer_, options_);
  }
  if (bound_ == nullptr) {
    TW_ASSIGN_OR_RETURN(bound_, function_.Bind(arguments, outer_));
    memory_.resize(plan.results.size());
  }
  inputs_.clear();
  outputs_.clear();
  for (const NDArray& argument : arguments) inputs_.push_back(argument.data());
  Arrays results;
  results.reserve(plan.results.size());
  for (size_t r = 0; r < plan.results.size(); ++r) {
    results.push_back(ResultArray(r));
    outputs_.push_back(results.back().data());
  }
  TW_RETURN_IF_ERROR(bound_->Run(inputs_, outputs_, options_));
  return results;
}

void Stacked::Reserve(int64_t capacity) {
  auto memory = UnwrittenBytes(capacity * first_.bytes());
  if (count_ > 0) std::memcpy(memory.get(), memory_.get(), static_cast<size_t>(count_ * first_.bytes()));
  memory_ = std::move(memory);
  capacity_ = capacity;
}

absl::Status Stacked::Add(const NDArray& part) {
  if (count_ == 0) first_ = part;
  if (part.shape() != first_.shape()) {
    return absl::InvalidArgumentError("results of the body's iterations have different shapes");
  }
  if (memory_ == nullptr) {
    Reserve(std::max<int64_t>(capacity_, 1));
  } else if (count_ == capacity_) {
    Reserve(2 * capacity_);
  }
  const int64_t place = reverse_ ? capacity_ - 1 - count_ : count_;
  if (part.bytes() > 0) {
    std::memcpy(memory_.get() + place * part.bytes(), part.data(), static_cast<size_t>(part.bytes()));
  }
  ++count_;
  return absl::OkStatus();
}

std::optional<NDArray> Stacked::Take() const {
  if (count_ == 0) return std::nullopt;
  std::vector<int64_t> shape = first_.shape();
  shape.insert(shape.begin(), count_);
  return NDArray(first_.dtype(), std::move(shape), memory_);
}

}  // namespace tilewright::graph
