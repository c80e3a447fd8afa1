#include "autoschedule/program/choices.h"

#include <algorithm>

#include "absl/strings/str_split.h"
#include "base/check.h"
#include "base/status_macros.h"

namespace tilewright {
namespace {

// Between the labels of a choice's candidates in a trace.
constexpr const char* kBetweenLabels = ", ";

std::vector<std::string> LabelsOf(const Instruction& instruction) {
  const auto* labels = instruction.args[3].As<std::string>();
  if (labels == nullptr) return {};
  return absl::StrSplit(*labels, kBetweenLabels);
}

double Total(const std::vector<Choice::Meaning>& meanings) {
  double total = 0;
  for (const Choice::Meaning& meaning : meanings) total += meaning.weight;
  return total;
}

}  // namespace

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
      const std::vector<std::string> labels = LabelsOf(instruction);
      if (labels.size() == candidates->size()) choice.meanings = {{labels[static_cast<size_t>(*decision)]}};
    }
    given.push_back(std::move(choice));
  }
  return Choices(Mode::kPreferred, std::move(given), 0);
}

std::string_view Choice::label() const {
  const auto place = static_cast<size_t>(std::ranges::find(candidates, value) - candidates.begin());
  return place < meanings.size() ? std::string_view(meanings[place].label) : std::string_view();
}

std::optional<size_t> Choices::Given(const Choice& pick) const {
  for (size_t i = 0; i < given_->size(); ++i) {
    const Choice& given = (*given_)[i];
    const bool fits = given.name.empty() ? i == made_.size() && !given.candidates.empty() : given.name == pick.name;
    if (!fits) continue;
    const std::string_view label = given.label();
    for (size_t place = 0; place < pick.candidates.size(); ++place) {
      const bool same = pick.meanings.empty() || label.empty() ? pick.candidates[place] == given.value
                                                               : pick.meanings[place].label == label;
      if (same) return place;
    }
    return std::nullopt;
  }
  return std::nullopt;
}

size_t Draw(const Choice& choice, Random& random) {
  if (choice.meanings.empty()) return random.Below(choice.candidates.size());
  double left = random.Unit() * Total(choice.meanings);
  for (size_t place = 0; place + 1 < choice.meanings.size(); ++place) {
    left -= choice.meanings[place].weight;
    if (left < 0) return place;
  }
  return choice.meanings.size() - 1;
}

Outcome<Choices::Pick> Choices::Take(Schedule& sch, std::string name, std::vector<int64_t> candidates, size_t preferred,
                                     std::vector<Choice::Meaning> meanings) {
  TW_CHECK(preferred < candidates.size() && (meanings.empty() || meanings.size() == candidates.size())) << name;
  const std::string base = name;
  for (int copy = 2; std::ranges::find(made_, name, &Choice::name) != made_.end(); ++copy) {
    name = base + "#" + std::to_string(copy);
  }
  Choice pick{std::move(name), 0, std::move(candidates), std::move(meanings)};
  const std::optional<size_t> given = Given(pick);
  const size_t index = given ? *given : mode_ == Mode::kDrawn ? Draw(pick, random_) : preferred;
  pick.value = pick.candidates[index];
  std::vector<Value> weights(pick.candidates.size(), 1.0 / static_cast<double>(pick.candidates.size()));
  std::string labels;
  for (size_t i = 0; i < pick.meanings.size(); ++i) {
    weights[i] = pick.meanings[i].weight / Total(pick.meanings);
    labels += (i == 0 ? "" : kBetweenLabels) + pick.meanings[i].label;
  }
  TW_ASSIGN_OR_RETURN(const std::vector<Rv> rv,
                      sch.Apply("sample_categorical",
                                {std::vector<Value>(pick.candidates.begin(), pick.candidates.end()), std::move(weights),
                                 pick.name, pick.meanings.empty() ? Value() : Value(labels)},
                                static_cast<int64_t>(index)));
  made_.push_back(std::move(pick));
  return Pick{IntRv{rv.front()}, made_.back().value};
}

}  // namespace tilewright
