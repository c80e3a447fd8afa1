#include "schedule/core/trace.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace tilewright {

void VisitRvs(const Value& value, const std::function<void(Rv)>& visit) {
  if (const Rv* rv = value.As<Rv>()) return visit(*rv);
  if (const auto* list = value.As<Value::List>()) {
    for (const Value& entry : *list) VisitRvs(entry, visit);
  } else if (const auto* dict = value.As<Value::Dict>()) {
    for (const auto& [key, entry] : *dict) VisitRvs(entry, visit);
  }
}

Value MapRvs(const Value& value, const std::function<Value(Rv)>& map) {
  if (const Rv* rv = value.As<Rv>()) return map(*rv);
  if (const auto* list = value.As<Value::List>()) {
    Value::List mapped;
    mapped.reserve(list->size());
    for (const Value& entry : *list) mapped.push_back(MapRvs(entry, map));
    return mapped;
  }
  if (const auto* dict = value.As<Value::Dict>()) {
    Value::Dict mapped;
    for (const auto& [key, entry] : *dict) mapped[key] = MapRvs(entry, map);
    return mapped;
  }
  return value;
}

namespace {

// Without the instructions of roles that `may_go` whose results nothing kept uses.
template <class MayGo>
Trace WithoutUnused(const Trace& trace, const MayGo& may_go) {
  std::vector<SharedInstruction> kept;
  std::unordered_set<int> used;
  for (size_t i = trace.instructions.size(); i-- > 0;) {
    const SharedInstruction& shared = trace.instructions[i];
    const Instruction& instruction = shared;
    const bool needed =
        !may_go(instruction.primitive->role) || std::any_of(instruction.results.begin(), instruction.results.end(),
                                                            [&](Rv rv) { return used.contains(rv.index); });
    if (!needed) continue;
    for (const Value& arg : instruction.args) VisitRvs(arg, [&](Rv rv) { used.insert(rv.index); });
    kept.push_back(shared);
  }
  std::ranges::reverse(kept);
  return {ForkedList(std::move(kept))};
}

}  // namespace

Trace Simplified(const Trace& trace) {
  return WithoutUnused(trace, [](Primitive::Role role) { return role != Primitive::Role::kTransform; });
}

Trace WithoutUnusedQueries(const Trace& trace) {
  return WithoutUnused(trace, [](Primitive::Role role) { return role == Primitive::Role::kQuery; });
}

Trace WithoutPostprocessing(const Trace& trace) {
  Trace kept;
  for (const SharedInstruction& instruction : trace.instructions) {
    if (std::string_view(instruction->primitive->name) == "enter_postproc") break;
    kept.instructions.push_back(instruction);
  }
  return kept;
}

}  // namespace tilewright
