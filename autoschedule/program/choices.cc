#include "autoschedule/program/choices.h"

#include <algorithm>

#include "base/check.h"

namespace tilewright {

Choices Choices::OfTrace(const Trace& trace) {
  std::vector<Choice> given;
  for (const Instruction& instruction : trace.instructions) {
    if (std::string_view(instruction.primitive->name) != "sample_categorical") continue;
    const auto* candidates = instruction.args[0].As<Value::List>();
    const auto* decision = instruction.decision.As<int64_t>();
    const bool known = candidates != nullptr && decision != nullptr && *decision >= 0 &&
                       static_cast<size_t>(*decision) < candidates->size();
    const auto* value = known ? (*candidates)[static_cast<size_t>(*decision)].As<int64_t>() : nullptr;
    Choice choice;
    if (const auto* name = instruction.args[2].As<std::string>()) choice.name = *name;
    if (value != nullptr) {
      choice.value = *value;
      choice.candidates = {*value};
    }
    given.push_back(std::move(choice));
  }
  return Choices(Mode::kPreferred, std::move(given), 0);
}

const Choice* Choices::Given(const std::string& name) const {
  for (size_t i = 0; i < given_.size(); ++i) {
    const bool fits =
        given_[i].name.empty() ? i == made_.size() && !given_[i].candidates.empty() : given_[i].name == name;
    if (fits) return &given_[i];
  }
  return nullptr;
}

Outcome<Choices::Pick> Choices::Take(Schedule& sch, std::string name, std::vector<int64_t> candidates,
                                     size_t preferred) {
  TW_CHECK(preferred < candidates.size()) << name;
  const std::string base = name;
  for (int copy = 2; std::ranges::find(made_, name, &Choice::name) != made_.end(); ++copy) {
    name = base + "#" + std::to_string(copy);
  }
  size_t index = preferred;
  const Choice* given = Given(name);
  const auto place = given == nullptr ? candidates.end() : std::ranges::find(candidates, given->value);
  if (place != candidates.end()) {
    index = static_cast<size_t>(place - candidates.begin());
  } else if (mode_ == Mode::kDrawn) {
    index = random_.Below(candidates.size());
  }
  const std::vector<Value> values(candidates.begin(), candidates.end());
  const std::vector<Value> weights(candidates.size(), 1.0 / static_cast<double>(candidates.size()));
  Outcome<IntRv> rv = sch.SampleCategorical(values, weights, static_cast<int64_t>(index), name);
  if (!rv.ok()) return rv.refusal();
  const int64_t value = candidates[index];
  made_.push_back({std::move(name), value, std::move(candidates)});
  return Pick{*rv, value};
}

}  // namespace tilewright
