// Dimensions of inputs that may have no element.
//
//   past_key_values.0.key: float32[batch, 8, past, 64]     of which a model only asks for the extents, and to which it
//                                                          joins more along `past`
//
// A prompt has no past: a model that is imported for symbolic sizes serves it with those that have one. Every other
// symbolic dimension is at least 1.
#pragma once

#include <set>
#include <string>

#include "onnx/onnx_pb.h"

namespace tilewright::graph {

// Names of symbolic dimensions (DimensionName).
std::set<std::string> DimensionsThatMayBeEmpty(const onnx::GraphProto& graph);

}  // namespace tilewright::graph
