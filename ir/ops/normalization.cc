#include "ir/ops/normalization.h"

#include "ir/builder.h"

namespace tilewright::ops {

Function Softmax(Expr rows, Expr columns, DataType dtype) {
  FunctionBuilder f;
  Buffer a = f.Input("A", {rows, columns}, dtype);
  ReduceAxis k("k", columns);
  Buffer largest = f.Compute("T_softmax_maxelem", {rows}, [&](Var i) { return MaxOver(a(i, k), k); });
  Buffer exps = f.Compute("T_softmax_exp", {rows, columns},
                          [&](Var i, Var j) { return Call(dtype, "exp", {a(i, j) - largest(i)}); });
  Buffer sums = f.Compute("T_softmax_expsum", {rows}, [&](Var i) { return Sum(exps(i, k), k); });
  Buffer output = f.Compute("T_softmax_norm", {rows, columns}, [&](Var i, Var j) { return Div(exps(i, j), sums(i)); });
  return f.Build({output});
}

Function RowNorm(Expr rows, Expr columns, DataType dtype) {
  FunctionBuilder f;
  Buffer a = f.Input("A", {rows, columns}, dtype);
  ReduceAxis k("k", columns);
  Buffer squares = f.Compute("C", {rows}, [&](Var i) { return Sum(a(i, k) * a(i, k), k); });
  Buffer output = f.Compute("norm", {rows}, [&](Var i) { return Call(dtype, "sqrt", {squares(i)}); });
  return f.Build({output});
}

Function LayerNorm(Expr rows, Expr columns, double epsilon, DataType dtype) {
  FunctionBuilder f;
  Buffer a = f.Input("A", {rows, columns}, dtype);
  Buffer gamma = f.Input("gamma", {columns}, dtype), beta = f.Input("beta", {columns}, dtype);
  ReduceAxis k("k", columns);
  const Expr count = CastTo(dtype, columns);
  Buffer total = f.Compute("total", {rows}, [&](Var i) { return Sum(a(i, k), k); });
  Buffer mean = f.Compute("mean", {rows}, [&](Var i) { return Div(total(i), count); });
  Buffer squares = f.Compute("squares", {rows}, [&](Var i) {
    const Expr difference = a(i, k) - mean(i);
    return Sum(difference * difference, k);
  });
  Buffer scale = f.Compute("inverse_deviation", {rows}, [&](Var i) {
    return Call(dtype, "rsqrt", {Div(squares(i), count) + ConstFloat(dtype, epsilon)});
  });
  Buffer output = f.Compute("layer_norm", {rows, columns},
                            [&](Var i, Var j) { return (a(i, j) - mean(i)) * scale(i) * gamma(j) + beta(j); });
  return f.Build({output});
}

}  // namespace tilewright::ops
