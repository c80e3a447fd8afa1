// Sliding windows over any number of spatial dimensions, channels first: x is [batch, channels, spatial...].
#pragma once

#include <cstdint>
#include <vector>

#include "ir/builder.h"
#include "ir/ops/broadcast.h"

namespace tilewright::ops {

// One spatial dimension of a window: element p of the output sees the elements p * stride + k * dilation - before of
// the input, for k in [0, kernel).
struct Span {
  int64_t kernel = 1, stride = 1, dilation = 1, before = 0, after = 0;
  // Elements from the first to the last that one window covers.
  int64_t reach() const { return dilation * (kernel - 1) + 1; }
};

// How many positions the window has. `ceil`: positions that reach beyond the padding count too, but not those that
// begin in it.
Expr Positions(const Expr& extent, const Span& span, bool ceil = false);

// weight is [out channels, in channels / groups, kernel...]; sums are taken in `type`. `input` and `weights` convert
// the operands before they are multiplied (a cast by default); padding counts as a converted zero, which is 0.
struct ConvOptions {
  std::vector<Span> spans;
  int64_t groups = 1;
  DataType type;
};
Buffer ConvNd(FunctionBuilder& f, const Buffer& x, const Buffer& weight, const ConvOptions& options,
              const std::function<Expr(const Expr&)>& input = {},
              const std::function<Expr(const Expr&, const Expr& channel)>& weights = {});

// weight is [in channels, out channels / groups, kernel...]; `shape` are the spatial extents of the output. An input
// element e adds to the outputs e * stride + k * dilation - before. A convolution of an input with zeros between its
// elements, like ConvTranspose (ir/ops/conv_transpose.h).
Buffer ConvTransposeNd(FunctionBuilder& f, const Buffer& x, const Buffer& weight, const ConvOptions& options,
                       const std::vector<Expr>& shape);

// Windows of an image added back to it: x is [batch, channels * kernel..., positions], the kernel and the positions
// row-major; the result is [batch, channels, shape...]. `spans` give the positions over `shape`.
Buffer FoldWindows(FunctionBuilder& f, const Buffer& x, const std::vector<Span>& spans, const std::vector<Expr>& shape,
                   DataType sum);

// The largest element of each window; padding does not count. Integer and floating-point types.
Buffer MaxPoolNd(FunctionBuilder& f, const Buffer& x, const std::vector<Span>& spans, const std::vector<Expr>& shape);
// The row-major position in x (int64) of the element that MaxPoolNd gave, the first of equal ones. `column_major`:
// positions within an image count along its first spatial dimension first.
Buffer MaxPoolPosition(FunctionBuilder& f, const Buffer& x, const Buffer& largest, const std::vector<Span>& spans,
                       bool column_major);
// The mean of each window, of the elements inside of the image or (`count_padding`) inside of the padded one.
Buffer AveragePoolNd(FunctionBuilder& f, const Buffer& x, const std::vector<Span>& spans,
                     const std::vector<Expr>& shape, bool count_padding);
// (sum of |x|^p)^(1/p) of each window.
Buffer LpPoolNd(FunctionBuilder& f, const Buffer& x, const std::vector<Span>& spans, const std::vector<Expr>& shape,
                int64_t p);

}  // namespace tilewright::ops
