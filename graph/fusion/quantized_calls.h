// Calls of programs together with the calls that make floats of integers for them.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/ir/graph_module.h"
#include "graph/ir/value.h"
#include "graph/rewrite/fuse_programs.h"

namespace tilewright::graph {

// One program for several calls, and what it reads: variables of the old function, then constants.
struct ComposedCall {
  Composed composed;
  std::vector<Var> params;
};

// The calls of a function that move elements or dequantize (IsDequantization), as they are met.
class Dequantizations {
 public:
  void Note(const GraphModule& module, const Binding& binding);
  // A call with those that make its arguments, directly or through up to `steps` calls, and that `wanted` accepts.
  std::optional<ComposedCall> Compose(const GraphModule& module, const Binding& binding, int steps,
                                      const std::function<bool(const CallTirNode&)>& wanted) const;

 private:
  using Found = std::map<size_t, Binding>;
  void Collect(const CallTirNode& call, int steps, const std::function<bool(const CallTirNode&)>& wanted,
               Found& found) const;

  std::unordered_map<const VarNode*, std::pair<size_t, Binding>> calls_;  // numbered in their order
};

}  // namespace tilewright::graph
