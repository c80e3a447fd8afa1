#include "graph/ir/graph_module.h"

#include "absl/strings/str_cat.h"

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

std::string GraphModule::UniqueName(std::string_view hint) const {
  std::string name(hint);
  for (int i = 1; Contains(name); ++i) name = absl::StrCat(std::string(hint), "_", i);
  return name;
}

}  // namespace tilewright::graph
