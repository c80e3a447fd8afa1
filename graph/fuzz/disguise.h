// The same model said in another way.
#pragma once

#include <random>

#include "onnx/onnx_pb.h"

namespace tilewright::graph {

// Nodes become calls of functions (with default values and overloads, fields of newer files), stand in another order,
// and constants become inputs with defaults. What the model computes stays.
onnx::ModelProto Disguised(const onnx::ModelProto& model, std::mt19937_64& numbers);

}  // namespace tilewright::graph
