// Functions of a model: which one a node calls, and its body with the node's attributes.
#pragma once

#include <string>
#include <vector>

#include "onnx/onnx_pb.h"

namespace tilewright::graph {

// The function that a node calls: equal in name, domain and overload. Null where there is none.
const onnx::FunctionProto* FindFunction(const onnx::ModelProto& model, const onnx::NodeProto& node);

// The nodes of a function with references to its attributes replaced, in bodies too: by what the node gives, or by the
// function's default. An attribute that has neither is left out.
std::vector<onnx::NodeProto> InstantiateNodes(const onnx::FunctionProto& function, const onnx::NodeProto& node);

}  // namespace tilewright::graph
