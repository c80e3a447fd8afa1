// Convolutions with channels last: conv1d over [N, L, C], conv2d over [N, H, W, C], conv3d over [N, D, H, W, C].
//
//   Conv({.batch = 1, .spatial = {56, 56}, .in_channels = 64, .out_channels = 64, .windows = Same(3, 2)})
//
// Weights are [kernel..., in_channels / groups, out_channels]. Padding is a block of its own ("pad_temp"), absent where
// nothing is padded; schedules inline it.
#pragma once

#include "ir/builder.h"
#include "ir/ops/operand_types.h"
#include "ir/ops/window_nd.h"

namespace tilewright::ops {

struct ConvShape {
  Expr batch = 1;
  std::vector<Expr> spatial;  // of the input: one to three extents
  int64_t in_channels = 1, out_channels = 1;
  std::vector<Window> windows;  // one per spatial dimension
  int64_t groups = 1;           // divides both numbers of channels
};

// The same window in each of `dims` dimensions.
std::vector<Window> Same(const Window& window, int dims);

// inputs [batch, spatial..., in_channels], weight, output [batch, positions..., out_channels]; the block is
// "conv1d_nlc", "conv2d_nhwc" or "conv3d_ndhwc".
Function Conv(const ConvShape& shape, const OperandTypes& types = OperandTypes::Float32());

// Adds the padding and the convolution of two buffers to a function and returns the result.
Buffer AddConv(FunctionBuilder& f, const Buffer& inputs, const Buffer& weight, const ConvShape& shape, DataType output);

// The shape of the weight.
std::vector<Expr> WeightShape(const ConvShape& shape);
// The shape of the input.
std::vector<Expr> InputShape(const ConvShape& shape);

}  // namespace tilewright::ops
