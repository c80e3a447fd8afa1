#include "graph/ir/graph_module.h"

namespace tilewright::graph {

Function GraphModule::FindFunction(std::string_view name) const {
  const auto it = positions_.find(name);
  return it == positions_.end() ? Function() : entries_[it->second].function;
}

PrimFunc GraphModule::FindProgram(std::string_view name) const {
  const auto it = positions_.find(name);
  return it == positions_.end() ? PrimFunc() : entries_[it->second].program;
}

Function GraphModule::Main() const {
  if (Function main = FindFunction("main")) return main;
  Function only;
  for (const ModuleEntry& entry : entries_) {
    if (!entry.function) continue;
    if (only) return Function();
    only = entry.function;
  }
  return only;
}

void GraphModule::SetEntry(ModuleEntry entry) {
  const auto [it, added] = positions_.try_emplace(entry.name(), entries_.size());
  if (added) {
    entries_.push_back(std::move(entry));
  } else {
    entries_[it->second] = std::move(entry);
  }
}

void GraphModule::Set(Function function) { SetEntry({.function = std::move(function)}); }
void GraphModule::Set(PrimFunc program) { SetEntry({.program = std::move(program)}); }

void GraphModule::Remove(std::string_view name) {
  const auto it = positions_.find(name);
  if (it == positions_.end()) return;
  const size_t position = it->second;
  entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(position));
  positions_.erase(it);
  for (auto& [other, at] : positions_) {
    if (at > position) --at;
  }
}

}  // namespace tilewright::graph
