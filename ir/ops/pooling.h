// Pooling over windows of an image with channels last.
#pragma once

#include "ir/ops/window_nd.h"

namespace tilewright::ops {

// data [batch, height, width, channels]; the largest element of each window, padding not counting. Block "max_pool".
Function MaxPool(Expr batch, Expr height, Expr width, Expr channels, const Window& window,
                 DataType dtype = DataType::Float(32));

// The sum of each window divided by kernel * kernel (padding counts as zeros). Floating-point types. Blocks
// "pool_sum", "average_pool".
Function AveragePool(Expr batch, Expr height, Expr width, Expr channels, const Window& window,
                     DataType dtype = DataType::Float(32));

// The mean over height and width: data [batch, height, width, channels] to [batch, channels].
Function GlobalAveragePool(Expr batch, Expr height, Expr width, Expr channels, DataType dtype = DataType::Float(32));

}  // namespace tilewright::ops
