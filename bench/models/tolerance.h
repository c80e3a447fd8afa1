// How far apart the outputs of two implementations of one file may be.
#pragma once

#include "onnx/onnx_pb.h"

namespace tilewright::bench {

// `of_type` is the bound for the model's type, relative to an output's largest magnitude. A file that has activations
// rounded to bytes while it runs (`accuracy_level` 4 of MatMulNBits) allows 1e-2: an activation within one part in 2^23
// of a half may be rounded to either side (docs/numerics.md), and each later layer rounds what the step changed.
double ToleranceOf(const onnx::ModelProto& model, double of_type);

}  // namespace tilewright::bench
