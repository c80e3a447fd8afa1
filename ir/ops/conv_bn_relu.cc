#include "ir/ops/conv_bn_relu.h"

namespace tilewright::ops {

Function ConvBnRelu(const ConvShape& shape, const OperandTypes& types) {
  FunctionBuilder f;
  Buffer data = f.Input("data", InputShape(shape), types.input);
  Buffer kernel = f.Input("kernel", WeightShape(shape), types.weight);
  const std::vector<Expr> channels = {shape.out_channels};
  const DataType type = types.output.is_float() ? types.output : DataType::Float(32);
  Buffer bias = f.Input("bias", channels, type);
  Buffer scale = f.Input("bn_scale", channels, type);
  Buffer offset = f.Input("bn_offset", channels, type);
  Buffer conv = AddConv(f, data, kernel, shape, types.output);
  const auto exprs = [](const std::vector<Var>& v) { return Indices(v.begin(), v.end()); };
  Buffer biased = f.Compute("bias_add", conv->shape, [&](const std::vector<Var>& v) {
    return CastTo(type, conv.Load(exprs(v))) + bias(v.back());
  });
  Buffer scaled = f.Compute("bn_mul", conv->shape,
                            [&](const std::vector<Var>& v) { return biased.Load(exprs(v)) * scale(v.back()); });
  Buffer shifted = f.Compute("bn_add", conv->shape,
                             [&](const std::vector<Var>& v) { return scaled.Load(exprs(v)) + offset(v.back()); });
  Buffer output = f.Compute("relu", conv->shape,
                            [&](const std::vector<Var>& v) { return Max(shifted.Load(exprs(v)), Const(type, 0)); });
  return f.Build({output});
}

}  // namespace tilewright::ops
