#include "ir/ops/conv_transpose.h"

#include "base/check.h"
#include "ir/arith/analyzer.h"

namespace tilewright::ops {

Function ConvTranspose(Expr batch, Expr height, Expr width, int64_t in_channels, int64_t out_channels,
                       const Window& window, const OperandTypes& types) {
  TW_CHECK(window.padding < window.kernel && window.dilation == 1);
  FunctionBuilder f;
  Buffer inputs = f.Input("inputs", {batch, height, width, in_channels}, types.input);
  Buffer weight = f.Input("weight", {window.kernel, window.kernel, in_channels, out_channels}, types.weight);
  const int64_t more = window.kernel - 2 * window.padding - window.stride;
  const auto output = [&](const Expr& extent) {
    return arith::Simplify(extent * Const(extent.dtype(), window.stride) + Const(extent.dtype(), more));
  };
  Buffer result = ConvTransposeNd(f, inputs, weight,
                                  {.windows = {window, window},
                                   .type = types.output,
                                   .layout = Layout::kChannelsLast,
                                   .block = "conv2d_transpose_nhwc"},
                                  {output(height), output(width)});
  return f.Build({result});
}

}  // namespace tilewright::ops
