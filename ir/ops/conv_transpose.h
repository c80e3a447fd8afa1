// Transposed convolution (the gradient of a convolution by its input).
#pragma once

#include "ir/ops/operand_types.h"
#include "ir/ops/window_nd.h"

namespace tilewright::ops {

// inputs [batch, height, width, in_channels], weight [kernel, kernel, in_channels, out_channels], output [batch,
// (height - 1) * stride - 2 padding + kernel, ..., out_channels]. The block is "conv2d_transpose_nhwc". Requires
// padding < kernel and no dilation.
Function ConvTranspose(Expr batch, Expr height, Expr width, int64_t in_channels, int64_t out_channels,
                       const Window& window, const OperandTypes& types = OperandTypes::Float32());

}  // namespace tilewright::ops
