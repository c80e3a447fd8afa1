#include "codegen/counters.h"

namespace tilewright {

std::optional<std::string> ExceededLimit(const Counters& counters, const Counters& limits) {
  for (const auto& [name, most] : limits) {
    const auto counter = counters.find(name);
    if (counter == counters.end() || counter->second <= most) continue;
    return std::to_string(counter->second) + " " + name + ", at most " + std::to_string(most) + " are allowed";
  }
  return std::nullopt;
}

}  // namespace tilewright
