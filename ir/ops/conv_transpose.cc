#include "ir/ops/conv_transpose.h"

#include "base/check.h"
#include "base/math.h"

namespace tilewright::ops {
namespace {

// (extent - 1) * stride - 2 padding + kernel
Expr OutputExtent(const Expr& extent, const Window& window) {
  const int64_t constant = window.kernel - 2 * window.padding - window.stride;
  if (auto value = AsInt(extent)) return Const(extent.dtype(), *value * window.stride + constant);
  return extent * Const(extent.dtype(), window.stride) + Const(extent.dtype(), constant);
}

}  // namespace

Function ConvTranspose(Expr batch, Expr height, Expr width, int64_t in_channels, int64_t out_channels,
                       const Window& window, const OperandTypes& types) {
  TW_CHECK(window.padding < window.kernel && window.dilation == 1);
  FunctionBuilder f;
  Buffer inputs = f.Input("inputs", {batch, height, width, in_channels}, types.input);
  Buffer weight = f.Input("weight", {window.kernel, window.kernel, in_channels, out_channels}, types.weight);
  // Zeros before the first element of the stretched input, rounded up to whole elements of the input; `border` is what
  // that is too much.
  const int64_t stride = window.stride, before = window.kernel - 1 - window.padding;
  const int64_t elements = CeilDiv(before, stride);
  const int64_t border = elements * stride - before;
  const std::vector<int64_t> padding = {0, elements, elements, 0};
  Buffer padded = Pad(f, inputs, padding, padding, Const(types.input, 0));
  ReduceAxis rh("rh", window.kernel), rw("rw", window.kernel), rc("rc", in_channels);

  const auto position = [&](const Var& v, const Var& offset) {
    return border == 0 ? v + offset : v + offset + Expr(border);
  };
  const auto stretched = [&](const Expr& n, const Expr& h, const Expr& w, const Expr& c) {
    if (stride == 1) return padded(n, h, w, c);
    const Expr by = Expr(stride);
    return IfThenElse(And(FloorMod(h, by) == 0, FloorMod(w, by) == 0), padded(n, FloorDiv(h, by), FloorDiv(w, by), c),
                      Const(types.input, 0));
  };
  Buffer output = f.Compute(
      "conv2d_transpose_nhwc", {batch, OutputExtent(height, window), OutputExtent(width, window), out_channels},
      [&](Var n, Var h, Var w, Var co) {
        const Expr last = Expr(window.kernel - 1);
        const Expr input = stretched(n, position(h, rh), position(w, rw), rc);
        return Sum(CastTo(types.output, input) * CastTo(types.output, weight(last - rh, last - rw, rc, co)),
                   {rh, rw, rc});
      },
      {"n", "h", "w", "co"});
  return f.Build({output});
}

}  // namespace tilewright::ops
