#include "ir/ops/pooling.h"

#include "ir/ops/reduction.h"

namespace tilewright::ops {
namespace {

std::vector<Expr> PositionsOf(const Buffer& data, const Window& window) {
  return {Positions(data->shape[1], window), Positions(data->shape[2], window)};
}

}  // namespace

Function MaxPool(Expr batch, Expr height, Expr width, Expr channels, const Window& window, DataType dtype) {
  FunctionBuilder f;
  Buffer data = f.Input("data", {batch, height, width, channels}, dtype);
  return f.Build({MaxPoolNd(f, data, {window, window}, PositionsOf(data, window), Layout::kChannelsLast)});
}

Function AveragePool(Expr batch, Expr height, Expr width, Expr channels, const Window& window, DataType dtype) {
  FunctionBuilder f;
  Buffer data = f.Input("data", {batch, height, width, channels}, dtype);
  return f.Build({AveragePoolNd(f, data, {window, window}, PositionsOf(data, window), /*count_padding=*/true,
                                Layout::kChannelsLast)});
}

Function GlobalAveragePool(Expr batch, Expr height, Expr width, Expr channels, DataType dtype) {
  FunctionBuilder f;
  Buffer data = f.Input("data", {batch, height, width, channels}, dtype);
  return f.Build({Mean(f, "mean", data, {1, 2}, /*keep=*/false)});
}

}  // namespace tilewright::ops
