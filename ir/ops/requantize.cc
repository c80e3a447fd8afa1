#include "ir/ops/requantize.h"

#include "base/check.h"
#include "ir/ops/converted_output.h"
#include "ir/ops/matmul.h"

namespace tilewright::ops {
namespace {

// The requantized elements of `buffer` plus the bias of their last index.
Buffer AddRequantize(FunctionBuilder& f, const Buffer& buffer, const Buffer& bias, const Requantization& how) {
  return f.Compute("requantize", buffer->shape, [&](const std::vector<Var>& v) {
    return Requantize(buffer.Load({v.begin(), v.end()}) + bias(v.back()), how);
  });
}

}  // namespace

Expr Requantize(const Expr& value, const Requantization& how) {
  const DataType f32 = DataType::Float(32);
  TW_CHECK(value.dtype() == DataType::Int(32) || value.dtype() == f32) << value.dtype().ToString();
  const Expr rounded = Call(f32, "nearbyint", {CastTo(f32, value) * ConstFloat(f32, how.scale)});
  const Expr shifted = how.zero_point == 0 ? rounded : rounded + Const(f32, how.zero_point);
  const Expr low = Const(f32, MinValue(how.to)), high = Const(f32, MaxValue(how.to));
  return CastTo(how.to, Min(Max(shifted, low), high));
}

Function MatmulRequantize(Expr m, Expr n, Expr k, const OperandTypes& types, const Requantization& how,
                          bool transposed) {
  FunctionBuilder f;
  Buffer a = f.Input("A", {m, k}, types.input);
  Buffer b = f.Input("B", transposed ? std::vector<Expr>{n, k} : std::vector<Expr>{k, n}, types.weight);
  Buffer bias = f.Input("bias", {n}, types.output);
  Buffer c = AddMatmul(f, a, b, types.output, transposed);
  return f.Build({AddRequantize(f, c, bias, how)});
}

Function ConvRequantize(const ConvShape& shape, const OperandTypes& types, const Requantization& how) {
  FunctionBuilder f;
  Buffer inputs = f.Input("inputs", InputShape(shape), types.input);
  Buffer weight = f.Input("weight", WeightShape(shape), types.weight);
  Buffer bias = f.Input("bias", {shape.out_channels}, types.output);
  Buffer conv = AddConv(f, inputs, weight, shape, types.output);
  return f.Build({AddRequantize(f, conv, bias, how)});
}

Function WithRequantization(const Function& function, const Requantization& how) {
  return WithElementwiseOutput(function, "requantize", [&](const Expr& element) { return Requantize(element, how); });
}

}  // namespace tilewright::ops
