// A model whose floats are of another type, as exporters write one that was converted before: `model.half()`.
//
//   ConvertFloats(onnx::TensorProto::FLOAT16, &model.proto);
#pragma once

#include <cstdint>

#include "onnx/onnx_pb.h"

namespace tilewright::bench {

// Inputs, outputs, weights and casts of f32 become those of `type`, FLOAT16 or BFLOAT16; numbers that the type does not
// reach become its greatest. Operators stay as they are: what they sum they sum as the importer defines them.
void ConvertFloats(int32_t type, onnx::ModelProto* model);

}  // namespace tilewright::bench
