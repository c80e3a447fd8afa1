// What the operators with sliding windows share: window geometry and zero padding.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/builder.h"
#include "ir/ops/window_nd.h"

namespace tilewright::ops {

// How many positions the window has over `extent` elements: (extent + 2 p - d (k - 1) - 1) // s + 1.
Expr WindowCount(const Expr& extent, const Window& window);

// `position * stride + offset * dilation`, without multiplications by one.
Expr WindowIndex(const Var& position, const Var& offset, const Window& window);

// The buffer with `before` and `after` elements of `fill` added on either side of each dimension, computed by a block
// of that name; the buffer itself where nothing is added.
//
//   pad_temp[v0, v1] = T.if_then_else(1 <= v1 and v1 < 57, A[v0, v1 - 1], T.float32(0))
Buffer Pad(FunctionBuilder& f, const Buffer& buffer, const std::vector<int64_t>& before,
           const std::vector<int64_t>& after, const Expr& fill, const std::string& name = "pad_temp");

}  // namespace tilewright::ops
