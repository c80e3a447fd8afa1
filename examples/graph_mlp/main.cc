// Prints the steps of the walk-through, or writes them to a folder.
//
//   bazel run //examples/graph_mlp                       prints
//   bazel run //examples/graph_mlp -- DIR                writes DIR/1_multiply_add.py, ...
#include <fstream>
#include <iostream>

#include "examples/graph_mlp/mlp.h"
#include "graph/ir/basic_ops.h"
#include "graph/ir/printer.h"
#include "graph/rewrite/basic_lowering.h"

int main(int argc, char** argv) {
  using namespace tilewright::graph;
  OpTable ops;
  AddBasicOps(&ops);
  LoweringTable lowerings;
  AddBasicLowerings(&lowerings);
  const absl::StatusOr<std::vector<Step>> steps = Walkthrough(ops, lowerings);
  if (!steps.ok()) {
    std::cerr << "error: " << steps.status().message() << "\n";
    return 1;
  }
  for (const Step& step : *steps) {
    const std::string text = Print(step.module).text;
    if (argc < 2) {
      std::cout << "==== " << step.file << "\n" << text << "\n";
      continue;
    }
    std::ofstream file(std::string(argv[1]) + "/" + step.file);
    file << text;
    if (!file.good()) {
      std::cerr << "error: cannot write " << step.file << " in " << argv[1] << "\n";
      return 1;
    }
  }
  return 0;
}
