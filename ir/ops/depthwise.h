// Depthwise convolution: each channel is convolved with weights of its own.
#pragma once

#include "ir/ops/operand_types.h"
#include "ir/ops/window_nd.h"

namespace tilewright::ops {

// inputs [batch, height, width, channels], weight [kernel, kernel, 1, channels * multiplier], output [batch, ...,
// channels * multiplier]: output channel c comes from input channel c // multiplier. The block is "depth_conv2d_nhwc".
Function Depthwise(Expr batch, Expr height, Expr width, int64_t channels, const Window& window, int64_t multiplier = 1,
                   const OperandTypes& types = OperandTypes::Float32());

}  // namespace tilewright::ops
