// What nodes read, and the order in which they are imported.
#pragma once

#include <string>
#include <vector>

#include "onnx/onnx_pb.h"

namespace tilewright::graph {

using Nodes = std::vector<const onnx::NodeProto*>;
Nodes NodesOf(const onnx::GraphProto& graph);

// Names from outside that a graph uses, in order of first use.
std::vector<std::string> CapturesOf(const onnx::GraphProto& graph);

// The nodes, each behind those that it reads. ONNX asks for that order; files that have another one are shared, and
// runtimes sort them. What is in order already stays; nodes of a cycle stay as they are.
Nodes Sorted(const Nodes& nodes);

}  // namespace tilewright::graph
