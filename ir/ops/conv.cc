#include "ir/ops/conv.h"

#include "base/check.h"

namespace tilewright::ops {

std::vector<Window> Same(const Window& window, int dims) {
  return std::vector<Window>(static_cast<size_t>(dims), window);
}

std::vector<Expr> InputShape(const ConvShape& shape) {
  std::vector<Expr> extents = {shape.batch};
  extents.insert(extents.end(), shape.spatial.begin(), shape.spatial.end());
  extents.emplace_back(shape.in_channels);
  return extents;
}

std::vector<Expr> WeightShape(const ConvShape& shape) {
  std::vector<Expr> extents;
  for (const Window& window : shape.windows) extents.emplace_back(window.kernel);
  extents.emplace_back(shape.in_channels / shape.groups);
  extents.emplace_back(shape.out_channels);
  return extents;
}

Buffer AddConv(FunctionBuilder& f, const Buffer& inputs, const Buffer& weight, const ConvShape& shape,
               DataType output) {
  const size_t dims = shape.spatial.size();
  TW_CHECK(dims >= 1 && dims <= 3 && shape.windows.size() == dims);
  TW_CHECK(shape.in_channels % shape.groups == 0 && shape.out_channels % shape.groups == 0);
  constexpr const char* kBlocks[] = {"conv1d_nlc", "conv2d_nhwc", "conv3d_ndhwc"};
  return ConvNd(f, inputs, weight,
                {.windows = shape.windows,
                 .groups = shape.groups,
                 .type = output,
                 .layout = Layout::kChannelsLast,
                 .block = kBlocks[dims - 1]});
}

Function Conv(const ConvShape& shape, const OperandTypes& types) {
  FunctionBuilder f;
  Buffer inputs = f.Input("inputs", InputShape(shape), types.input);
  Buffer weight = f.Input("weight", WeightShape(shape), types.weight);
  Buffer output = AddConv(f, inputs, weight, shape, types.output);
  return f.Build({output});
}

}  // namespace tilewright::ops
