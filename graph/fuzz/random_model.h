// Random ONNX models, the same for the same seed: operators of all kinds on random shapes and types, values with
// several readers, several outputs, constants that are shared.
//
// Results are comparable: values carry bounds, so that nothing overflows and no denominator comes near zero, and
// whether every schedule computes the same bits, so that what jumps (rounding, comparisons, positions of the largest
// element) is only asked of those.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "ir/ndarray.h"
#include "onnx/onnx_pb.h"

namespace tilewright::graph {

struct RandomModel {
  onnx::ModelProto model;
  std::map<std::string, NDArray> inputs;
};

// About as many nodes as `nodes`, opset 17.
RandomModel MakeRandomModel(uint64_t seed, int nodes);

}  // namespace tilewright::graph
