// A module: graph functions and programs side by side, in order, with distinct names.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "graph/ir/value.h"
#include "ir/function.h"

namespace tilewright::graph {

// One of the two is set.
struct ModuleEntry {
  Function function;
  PrimFunc program;

  const std::string& name() const { return function ? function->name : program->name; }
};

// Copying shares the functions.
class GraphModule {
 public:
  const std::vector<ModuleEntry>& entries() const { return entries_; }
  // Null when there is none of that name and kind.
  Function FindFunction(std::string_view name) const;
  PrimFunc FindProgram(std::string_view name) const;
  bool Contains(std::string_view name) const { return positions_.find(name) != positions_.end(); }
  // "main", else the only graph function, else null.
  Function Main() const;

  // Replaces the entry of the same name (of either kind) or appends.
  void Set(Function function);
  void Set(PrimFunc program);
  // Nothing happens when there is none of that name.
  void Remove(std::string_view name);

  const Attrs& attrs() const { return attrs_; }
  void set_attrs(Attrs attrs) { attrs_ = std::move(attrs); }

 private:
  void SetEntry(ModuleEntry entry);

  std::vector<ModuleEntry> entries_;
  std::map<std::string, size_t, std::less<>> positions_;
  Attrs attrs_;
};

}  // namespace tilewright::graph
