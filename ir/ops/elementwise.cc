#include "ir/ops/elementwise.h"

#include <cmath>

#include "ir/builder.h"

namespace tilewright::ops {
namespace {

std::vector<Expr> Exprs(const std::vector<Var>& vars) { return {vars.begin(), vars.end()}; }

}  // namespace

Function Unary(std::vector<Expr> shape, const std::string& name, const std::function<Expr(Expr)>& value,
               DataType dtype) {
  FunctionBuilder f;
  Buffer a = f.Input("A", shape, dtype);
  Buffer output = f.Compute(name, shape, [&](const std::vector<Var>& v) { return value(a.Load(Exprs(v))); });
  return f.Build({output});
}

Function BinaryElementwise(std::vector<Expr> shape, const std::string& name,
                           const std::function<Expr(Expr, Expr)>& value, DataType dtype) {
  FunctionBuilder f;
  Buffer a = f.Input("A", shape, dtype), b = f.Input("B", shape, dtype);
  Buffer output =
      f.Compute(name, shape, [&](const std::vector<Var>& v) { return value(a.Load(Exprs(v)), b.Load(Exprs(v))); });
  return f.Build({output});
}

Function Add(std::vector<Expr> shape, DataType dtype) {
  return BinaryElementwise(std::move(shape), "T_add", [](Expr a, Expr b) { return a + b; }, dtype);
}

Function Relu(std::vector<Expr> shape, DataType dtype) {
  return Unary(std::move(shape), "relu", [&](Expr x) { return Max(x, Const(dtype, 0)); }, dtype);
}

Expr GeluOf(const Expr& x) {
  const DataType dtype = x.dtype();
  const Expr scaled = x * ConstFloat(dtype, std::sqrt(0.5));
  return x * (ConstFloat(dtype, 0.5) + Call(dtype, "erf", {scaled}) * ConstFloat(dtype, 0.5));
}

Function Gelu(std::vector<Expr> shape, DataType dtype) { return Unary(std::move(shape), "gelu", GeluOf, dtype); }

Function Gelu(std::vector<Expr> shape, const RowTypes& types) {
  FunctionBuilder f;
  Buffer a = f.Input("A", shape, types.input);
  Buffer output = f.Compute("gelu", shape, [&](const std::vector<Var>& v) {
    return CastTo(types.output, GeluOf(CastTo(types.compute(), a.Load(Exprs(v)))));
  });
  return f.Build({output});
}

Function BiasAdd(std::vector<Expr> shape, DataType dtype) {
  FunctionBuilder f;
  Buffer a = f.Input("A", shape, dtype), bias = f.Input("bias", {shape.back()}, dtype);
  Buffer output =
      f.Compute("bias_add", shape, [&](const std::vector<Var>& v) { return a.Load(Exprs(v)) + bias(v.back()); });
  return f.Build({output});
}

}  // namespace tilewright::ops
