// Pooling over windows of an image with channels last.
#pragma once

#include "ir/ops/padding.h"

namespace tilewright::ops {

// data [batch, height, width, channels]; the largest element of each window, padding counting as the least value. Block
// "max_pool2d_nhwc".
Function MaxPool(Expr batch, Expr height, Expr width, Expr channels, const Window& window,
                 DataType dtype = DataType::Float(32));

// The sum of each window divided by kernel * kernel (padding counts as zeros). Floating-point types. Blocks
// "pool_sum", "avg_pool2d_nhwc".
Function AveragePool(Expr batch, Expr height, Expr width, Expr channels, const Window& window,
                     DataType dtype = DataType::Float(32));

// The mean over height and width: data [batch, height, width, channels] to [batch, channels].
Function GlobalAveragePool(Expr batch, Expr height, Expr width, Expr channels, DataType dtype = DataType::Float(32));

}  // namespace tilewright::ops
