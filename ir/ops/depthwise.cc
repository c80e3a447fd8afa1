#include "ir/ops/depthwise.h"

namespace tilewright::ops {

Function Depthwise(Expr batch, Expr height, Expr width, int64_t channels, const Window& window, int64_t multiplier,
                   const OperandTypes& types) {
  FunctionBuilder f;
  Buffer inputs = f.Input("inputs", {batch, height, width, channels}, types.input);
  Buffer weight = f.Input("weight", {window.kernel, window.kernel, channels, multiplier}, types.weight);
  const std::vector<int64_t> padding = {0, window.padding, window.padding, 0};
  Buffer padded = Pad(f, inputs, padding, padding, Const(types.input, 0));
  ReduceAxis rh("rh", window.kernel), rw("rw", window.kernel);
  Buffer output = f.Compute(
      "depth_conv2d_nhwc", {batch, WindowCount(height, window), WindowCount(width, window), channels * multiplier},
      [&](Var n, Var h, Var w, Var c) {
        const Expr channel = multiplier == 1 ? Expr(c) : FloorDiv(c, Expr(multiplier));
        const Expr copy = multiplier == 1 ? Expr(0) : FloorMod(c, Expr(multiplier));
        const Expr input = padded(n, WindowIndex(h, rh, window), WindowIndex(w, rw, window), channel);
        return Sum(CastTo(types.output, input) * CastTo(types.output, weight(rh, rw, channel, copy)), {rh, rw});
      },
      {"n", "h", "w", "c"});
  return f.Build({output});
}

}  // namespace tilewright::ops
