// Sliding windows over any number of spatial dimensions: convolutions and pools.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/builder.h"
#include "ir/ops/broadcast.h"

namespace tilewright::ops {

// One spatial dimension of a window: element p of the output sees the elements p * stride + k * dilation - padding of
// the input, for k in [0, kernel).
struct Window {
  int64_t kernel = 1, stride = 1, padding = 0, dilation = 1;
  // Padding behind the last element, where it is not the same.
  std::optional<int64_t> after;

  int64_t padding_after() const { return after.value_or(padding); }
  // Elements from the first to the last that one window covers.
  int64_t reach() const { return dilation * (kernel - 1) + 1; }
};

// How many positions the window has. `ceil`: positions that reach beyond the padding count too, but not those that
// begin in it.
Expr Positions(const Expr& extent, const Window& window, bool ceil = false);

// The order of dimensions. Channels first: images are [batch, channels, spatial...], weights [out, in, kernel...], and
// sums run over the channels first. Channels last: [batch, spatial..., channels] and [kernel..., in, out].
enum class Layout { kChannelsFirst, kChannelsLast };

// Weights have in channels / groups; sums are taken in `type`. `input` and `weights` convert the operands before they
// are multiplied (a cast by default); padding counts as a converted zero, which is 0. It is a block of its own,
// "pad_temp", absent where nothing is padded or converted.
struct ConvOptions {
  std::vector<Window> windows;
  int64_t groups = 1;
  DataType type;
  Layout layout = Layout::kChannelsFirst;
  std::string block = "conv";
};
Buffer ConvNd(FunctionBuilder& f, const Buffer& x, const Buffer& weight, const ConvOptions& options,
              const std::function<Expr(const Expr&)>& input = {},
              const std::function<Expr(const Expr&, const Expr& channel)>& weights = {});

// The gradient of a convolution by its input: an input element e adds to the outputs e * stride + k * dilation -
// padding. `spatial` are the spatial extents of the output; weight is [in channels, out channels / groups, kernel...]
// or [kernel..., in channels, out channels / groups]. A convolution of an input with stride - 1 zeros between its
// elements: those are chosen by an if_then_else in the block, the zeros around the input are "pad_temp".
Buffer ConvTransposeNd(FunctionBuilder& f, const Buffer& x, const Buffer& weight, const ConvOptions& options,
                       const std::vector<Expr>& spatial);

// Windows of an image added back to it: x is [batch, channels * kernel..., positions], the kernel and the positions
// row-major; the result is [batch, channels, shape...]. `windows` give the positions over `shape`.
Buffer FoldWindows(FunctionBuilder& f, const Buffer& x, const std::vector<Window>& windows,
                   const std::vector<Expr>& shape, DataType sum);

// Pools: `shape` are the spatial extents of the result.
//
// The largest element of each window; padding does not count. Integer and floating-point types.
Buffer MaxPoolNd(FunctionBuilder& f, const Buffer& x, const std::vector<Window>& windows,
                 const std::vector<Expr>& shape, Layout layout = Layout::kChannelsFirst);
// The row-major position in x (int64) of the element that MaxPoolNd gave, the first of equal ones; channels first.
// `column_major`: positions within an image count along its first spatial dimension first.
Buffer MaxPoolPosition(FunctionBuilder& f, const Buffer& x, const Buffer& largest, const std::vector<Window>& windows,
                       bool column_major);
// The mean of each window, of the elements inside of the image or (`count_padding`) inside of the padded one.
Buffer AveragePoolNd(FunctionBuilder& f, const Buffer& x, const std::vector<Window>& windows,
                     const std::vector<Expr>& shape, bool count_padding, Layout layout = Layout::kChannelsFirst);
// (sum of |x|^p)^(1/p) of each window.
Buffer LpPoolNd(FunctionBuilder& f, const Buffer& x, const std::vector<Window>& windows, const std::vector<Expr>& shape,
                int64_t p);

}  // namespace tilewright::ops
