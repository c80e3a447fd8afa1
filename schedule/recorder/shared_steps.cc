#include "schedule/recorder/shared_steps.h"

#include <algorithm>

namespace tilewright {
namespace {

bool SameValues(const std::vector<Value>& a, const std::vector<Value>& b) {
  return std::ranges::equal(a, b, SameValue);
}

bool SameProgram(const Module& a, const Module& b) {
  return std::ranges::equal(a.functions(), b.functions(),
                            [](const Function& f, const Function& g) { return f.same_as(g); });
}

// Drops the steps below `step` that were taken once since the last time, and returns how many remain.
size_t Prune(SharedStep& step) {
  std::erase_if(step.next, [](const std::shared_ptr<SharedStep>& next) { return next->taken <= 1; });
  size_t left = step.next.size();
  for (const std::shared_ptr<SharedStep>& next : step.next) {
    next->taken /= 2;
    left += Prune(*next);
  }
  return left;
}

}  // namespace

std::shared_ptr<SharedStep> SharedStep::Find(const Primitive& called, const std::vector<Value>& args,
                                             const Value& decided) const {
  for (const std::shared_ptr<SharedStep>& step : next) {
    if (step->primitive == &called && SameValue(step->decision, decided) && SameValues(step->given, args)) {
      ++step->taken;
      return step;
    }
  }
  return nullptr;
}

const std::shared_ptr<SharedStep>& SharedSteps::Root(const Module& module) {
  if (root_ == nullptr || !SameProgram(root_->module, module)) {
    root_ = std::make_shared<SharedStep>();
    root_->module = module;
    size_ = 0;
  }
  return root_;
}

void SharedSteps::Add(SharedStep& place, std::shared_ptr<SharedStep> step) {
  if (size_ >= most_) size_ = Prune(*root_);
  if (size_ >= most_) return;
  place.next.push_back(std::move(step));
  ++size_;
}

}  // namespace tilewright
