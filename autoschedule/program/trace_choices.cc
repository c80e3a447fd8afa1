#include "autoschedule/program/trace_choices.h"

#include <cstdint>
#include <string_view>

#include "absl/strings/str_split.h"

namespace tilewright {

std::vector<std::string> SketchesIn(const Trace& trace) {
  std::vector<std::string> names;
  for (const Instruction& instruction : trace.instructions) {
    if (std::string_view(instruction.primitive->name) != "sample_categorical") continue;
    const auto *choice = instruction.args[2].As<std::string>(), *labels = instruction.args[3].As<std::string>();
    const auto* taken = instruction.decision.As<int64_t>();
    if (choice == nullptr || labels == nullptr || taken == nullptr || !choice->ends_with(".sketch")) continue;
    const std::vector<std::string> all = absl::StrSplit(*labels, ", ");
    if (*taken >= 0 && *taken < std::ssize(all)) names.push_back(all[static_cast<size_t>(*taken)]);
  }
  return names;
}

}  // namespace tilewright
