#include "bench/harness/command_line.h"

namespace tilewright::bench {

std::vector<std::string> JoinRepeatedFlag(const std::vector<std::string>& arguments, std::string_view flag) {
  std::vector<std::string> others;
  std::string joined;
  bool seen = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    const size_t dashes = argument.starts_with("--") ? 2 : argument.starts_with("-") ? 1 : 0;
    const std::string_view rest = std::string_view(argument).substr(dashes);
    const bool alone = rest == flag && i + 1 < arguments.size();
    const bool with_value = rest.starts_with(flag) && rest.substr(flag.size()).starts_with('=');
    if (dashes == 0 || (!alone && !with_value)) {
      others.push_back(argument);
      continue;
    }
    if (seen) joined += ';';
    joined += alone ? std::string_view(arguments[++i]) : rest.substr(flag.size() + 1);
    seen = true;
  }
  if (seen) others.push_back("--" + std::string(flag) + "=" + joined);
  return others;
}

}  // namespace tilewright::bench
