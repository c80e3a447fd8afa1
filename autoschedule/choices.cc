#include "autoschedule/choices.h"

#include <algorithm>

#include "ir/check.h"

namespace tilewright {

Outcome<Choices::Pick> Choices::Take(Schedule& sch, std::string name, std::vector<int64_t> candidates,
                                     size_t preferred) {
  TW_CHECK(preferred < candidates.size()) << name;
  const std::string base = name;
  for (int copy = 2; std::ranges::find(made_, name, &Choice::name) != made_.end(); ++copy) {
    name = base + "#" + std::to_string(copy);
  }
  size_t index = preferred;
  const auto given = std::ranges::find(given_, name, &Choice::name);
  const auto place = given == given_.end() ? candidates.end() : std::ranges::find(candidates, given->value);
  if (place != candidates.end()) {
    index = static_cast<size_t>(place - candidates.begin());
  } else if (mode_ == Mode::kDrawn && candidates.size() > 1 && random_.Below(2) == 0) {
    index = (preferred + 1 + random_.Below(candidates.size() - 1)) % candidates.size();
  }
  const std::vector<Value> values(candidates.begin(), candidates.end());
  const std::vector<Value> weights(candidates.size(), 1.0 / static_cast<double>(candidates.size()));
  Outcome<IntRv> rv = sch.SampleCategorical(values, weights, static_cast<int64_t>(index));
  if (!rv.ok()) return rv.refusal();
  const int64_t value = candidates[index];
  made_.push_back({std::move(name), value, std::move(candidates)});
  return Pick{*rv, value};
}

}  // namespace tilewright
