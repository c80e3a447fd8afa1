// Which nodes of a graph Tilewright runs: those that it imports, in sets that can be one node each (node_sets.h).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tools/onnxruntime/graph_reader.h"
#include "tools/onnxruntime/set_program.h"

namespace tilewright::onnxruntime {

struct Offer {
  std::vector<size_t> nodes;  // of the graph, by number
  std::shared_ptr<SetProgram> program;
};

// Receives each node that is left to ONNX Runtime, and why.
using Refusals = std::function<void(const onnx::NodeProto& node, const std::string& reason)>;

// Sets of at least options.min_nodes nodes, compiled: what is offered runs.
std::vector<Offer> OffersOf(const GivenGraph& graph, const std::shared_ptr<Machine>& machine, const Refusals& refused);

}  // namespace tilewright::onnxruntime
