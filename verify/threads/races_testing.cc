#include "verify/threads/races_testing.h"

#include "ir/script/parse_or_die.h"
#include "verify/structure/bindings.h"
#include "verify/structure/spatial_iterators.h"
#include "verify/threads/races.h"

namespace tilewright::testing {

std::vector<std::string> Races(std::string_view text) {
  const Function function = ParseFunctionOrDie(text);
  LazyExactRun exact(function);
  RaceFacts facts;
  CheckBindings(function, &facts.repeating);
  CheckSpatialIterators(function, &facts.repeats_writes);
  std::vector<std::string> reasons;
  for (const Diagnostic& diagnostic : CheckRaces(function, &exact, facts)) reasons.push_back(diagnostic.reason);
  return reasons;
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

}  // namespace tilewright::testing
