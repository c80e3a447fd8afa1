// Random graph modules for fuzzing, the same for the same seed: elementwise operators, matrix products, movement,
// reductions, tuples, constants of all types, branches, calls of programs and of private functions, symbols, guards.
#pragma once

#include <cstdint>

#include "graph/ir/graph_module.h"
#include "graph/ir/op.h"

namespace tilewright::graph {

struct RandomGraphOptions {
  int bindings = 12;      // about as many in "main"
  bool branches = true;   // If
  bool programs = true;   // calls of programs
  bool functions = true;  // calls of graph functions
};

// `ops` holds the basic operators. The module is well formed; "main" takes float32 tensors and one bool scalar.
GraphModule RandomGraph(uint64_t seed, const OpTable& ops, const RandomGraphOptions& options = {});

}  // namespace tilewright::graph
