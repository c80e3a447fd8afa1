// Convolution, bias, batch normalization and relu in one program.
#pragma once

#include "ir/ops/conv.h"

namespace tilewright::ops {

// data, kernel, bias [co], bn_scale [co], bn_offset [co]: max((conv + bias) * bn_scale + bn_offset, 0). The blocks
// after the convolution are "bias_add", "bn_mul", "bn_add" and "relu". They compute in the type in which products are
// summed; integer sums become f32 first.
Function ConvBnRelu(const ConvShape& shape, const OperandTypes& types = OperandTypes::Float32());

}  // namespace tilewright::ops
