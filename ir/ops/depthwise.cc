#include "ir/ops/depthwise.h"

namespace tilewright::ops {

Function Depthwise(Expr batch, Expr height, Expr width, int64_t channels, const Window& window, int64_t multiplier,
                   const OperandTypes& types) {
  FunctionBuilder f;
  Buffer inputs = f.Input("inputs", {batch, height, width, channels}, types.input);
  Buffer weight = f.Input("weight", {window.kernel, window.kernel, 1, channels * multiplier}, types.weight);
  Buffer output = ConvNd(f, inputs, weight,
                         {.windows = {window, window},
                          .groups = channels,
                          .type = types.output,
                          .layout = Layout::kChannelsLast,
                          .block = "depth_conv2d_nhwc"});
  return f.Build({output});
}

}  // namespace tilewright::ops
