#include "ir/ops/normalization.h"

#include "ir/builder.h"

namespace tilewright::ops {

Function Softmax(Expr rows, Expr columns, const RowTypes& types) {
  FunctionBuilder f;
  const DataType type = types.compute();
  Buffer a = f.Input("A", {rows, columns}, types.input);
  const auto element = [&](const Expr& i, const Expr& j) { return CastTo(type, a(i, j)); };
  ReduceAxis k("k", columns);
  Buffer largest = f.Compute("T_softmax_maxelem", {rows}, [&](Var i) { return MaxOver(element(i, k), k); });
  Buffer exps = f.Compute("T_softmax_exp", {rows, columns},
                          [&](Var i, Var j) { return Call(type, "exp", {element(i, j) - largest(i)}); });
  Buffer sums = f.Compute("T_softmax_expsum", {rows}, [&](Var i) { return Sum(exps(i, k), k); });
  Buffer output = f.Compute("T_softmax_norm", {rows, columns},
                            [&](Var i, Var j) { return CastTo(types.output, Div(exps(i, j), sums(i))); });
  return f.Build({output});
}

Function RowNorm(Expr rows, Expr columns, const RowTypes& types) {
  FunctionBuilder f;
  const DataType type = types.compute();
  Buffer a = f.Input("A", {rows, columns}, types.input);
  ReduceAxis k("k", columns);
  Buffer squares = f.Compute("C", {rows}, [&](Var i) { return Sum(CastTo(type, a(i, k)) * CastTo(type, a(i, k)), k); });
  Buffer output =
      f.Compute("norm", {rows}, [&](Var i) { return CastTo(types.output, Call(type, "sqrt", {squares(i)})); });
  return f.Build({output});
}

Function LayerNorm(Expr rows, Expr columns, double epsilon, const RowTypes& types) {
  FunctionBuilder f;
  const DataType type = types.compute();
  Buffer a = f.Input("A", {rows, columns}, types.input);
  const auto element = [&](const Expr& i, const Expr& j) { return CastTo(type, a(i, j)); };
  Buffer gamma = f.Input("gamma", {columns}, type), beta = f.Input("beta", {columns}, type);
  ReduceAxis k("k", columns);
  const Expr count = CastTo(type, columns);
  Buffer total = f.Compute("total", {rows}, [&](Var i) { return Sum(element(i, k), k); });
  Buffer mean = f.Compute("mean", {rows}, [&](Var i) { return Div(total(i), count); });
  Buffer squares = f.Compute("squares", {rows}, [&](Var i) {
    const Expr difference = element(i, k) - mean(i);
    return Sum(difference * difference, k);
  });
  Buffer scale = f.Compute("inverse_deviation", {rows}, [&](Var i) {
    return Call(type, "rsqrt", {Div(squares(i), count) + ConstFloat(type, epsilon)});
  });
  Buffer output = f.Compute("layer_norm", {rows, columns}, [&](Var i, Var j) {
    return CastTo(types.output, (element(i, j) - mean(i)) * scale(i) * gamma(j) + beta(j));
  });
  return f.Build({output});
}

}  // namespace tilewright::ops
