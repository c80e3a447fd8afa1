#include "ir/ops/pooling.h"

namespace tilewright::ops {
namespace {

// `reduce` over each window of `data`.
Buffer Pool(FunctionBuilder& f, const std::string& name, const Buffer& data, const Window& window, const Expr& fill,
            ComputeBody (*reduce)(Expr, std::vector<ReduceAxis>)) {
  const std::vector<int64_t> padding = {0, window.padding, window.padding, 0};
  Buffer padded = Pad(f, data, padding, padding, fill);
  ReduceAxis rh("rh", window.kernel), rw("rw", window.kernel);
  const std::vector<Expr>& in = data->shape;
  return f.Compute(name, {in[0], WindowCount(in[1], window), WindowCount(in[2], window), in[3]},
                   [&](Var n, Var h, Var w, Var c) {
                     return reduce(padded(n, WindowIndex(h, rh, window), WindowIndex(w, rw, window), c), {rh, rw});
                   },
                   {"n", "h", "w", "c"});
}

}  // namespace

Function MaxPool(Expr batch, Expr height, Expr width, Expr channels, const Window& window, DataType dtype) {
  FunctionBuilder f;
  Buffer data = f.Input("data", {batch, height, width, channels}, dtype);
  return f.Build({Pool(f, "max_pool2d_nhwc", data, window, LeastValue(dtype), MaxOver)});
}

Function AveragePool(Expr batch, Expr height, Expr width, Expr channels, const Window& window, DataType dtype) {
  FunctionBuilder f;
  Buffer data = f.Input("data", {batch, height, width, channels}, dtype);
  Buffer sum = Pool(f, "pool_sum", data, window, Const(dtype, 0), Sum);
  const Expr count = Const(dtype, window.kernel * window.kernel);
  Buffer output =
      f.Compute("avg_pool2d_nhwc", sum->shape, [&](Var n, Var h, Var w, Var c) { return Div(sum(n, h, w, c), count); });
  return f.Build({output});
}

Function GlobalAveragePool(Expr batch, Expr height, Expr width, Expr channels, DataType dtype) {
  FunctionBuilder f;
  Buffer data = f.Input("data", {batch, height, width, channels}, dtype);
  ReduceAxis rh("rh", height), rw("rw", width);
  Buffer sum =
      f.Compute("pool_sum", {batch, channels}, [&](Var n, Var c) { return Sum(data(n, rh, rw, c), {rh, rw}); });
  const Expr count = CastTo(dtype, height) * CastTo(dtype, width);
  Buffer output = f.Compute("global_avg_pool", sum->shape, [&](Var n, Var c) { return Div(sum(n, c), count); });
  return f.Build({output});
}

}  // namespace tilewright::ops
