// The walk-through of docs/graph_walkthrough.md: two rewrites, and a small model down to one program for each layer.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/graph_module.h"
#include "graph/ir/op.h"
#include "graph/rewrite/lowering.h"

namespace tilewright::graph {

// The multilayer perceptron for FashionMNIST: 784 pixels, 128 hidden values with relu, 10 classes. Weights are seeded
// random numbers.
GraphModule FashionMnistMlp(const OpTable& ops);

// add(multiply(x, y), y): what the first rewrite is shown on.
absl::StatusOr<GraphModule> MultiplyAddModule(const OpTable& ops);

// The first rewrite as a mutator, call by call, for comparison with the rule graph/rewrite/standard_rules.h.
absl::StatusOr<GraphModule> RewriteByMutator(const GraphModule& module, const OpTable& ops);

// The module after each step, with the name of the file that shows it.
struct Step {
  std::string file;
  GraphModule module;
};
absl::StatusOr<std::vector<Step>> Walkthrough(const OpTable& ops, const LoweringTable& lowerings);

}  // namespace tilewright::graph
