// Which kernels fusion has joined, kept from one load of a model to the next.
//
// Fusion asks for the schedules of some hundred programs, which takes longer than all the rest of a load from the
// cache. What it decides depends on the function, its programs and the target alone, so that it can be kept.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "graph/ir/graph_module.h"
#include "graph/ir/value.h"

namespace tilewright::graph {

// A store of texts by keys, which may lose any of them. Its keys are to name the target and the build of the compiler.
struct DecisionStore {
  std::function<std::optional<std::string>(const std::string& key)> load;
  std::function<void(const std::string& key, const std::string& decision)> store;
};

// Two groups of a block (BlockGraph) that became one, by their numbers.
struct JoinedGroups {
  int producer = 0;
  int consumer = 0;
};
struct FusionDecision {
  // In the order in which they were joined, for each block in the order in which fusion sees them.
  std::vector<std::vector<JoinedGroups>> blocks;
  std::vector<std::string> measured_apart;  // what would have been joined, had it not been measured: a sentence each
};

std::string ToText(const FusionDecision& decision);
// Nothing where the text is not a decision.
std::optional<FusionDecision> ParseDecision(const std::string& text);

// Equal where the function and its programs are, by their structural hashes.
std::string FusionKey(const GraphModule& module, const Function& function);

}  // namespace tilewright::graph
