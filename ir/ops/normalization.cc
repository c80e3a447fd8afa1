#include "ir/ops/normalization.h"

#include "ir/ops/reduction.h"
#include "ir/ops/row_ops.h"
#include "ir/ops/scalar_math.h"

namespace tilewright::ops {

Function Softmax(Expr rows, Expr columns, const RowTypes& types) {
  FunctionBuilder f;
  Buffer a = f.Input("A", {rows, columns}, types.input);
  return f.Build({SoftmaxOver(f, a, {1}, /*logarithm=*/false, types.output)});
}

Function RowNorm(Expr rows, Expr columns, const RowTypes& types) {
  FunctionBuilder f;
  Buffer a = f.Input("A", {rows, columns}, types.input);
  Buffer squares =
      ReduceElements(f, "squares", Reduction::kSum, {rows, columns}, {1}, /*keep=*/false, [&](const Indices& at) {
        const Expr value = CastTo(types.compute(), a.Load(at));
        return value * value;
      });
  return f.Build({Map(f, "norm", {squares},
                      [&](const std::vector<Expr>& e) { return CastTo(types.output, Unary("sqrt", e[0])); })});
}

Function LayerNorm(Expr rows, Expr columns, double epsilon, const RowTypes& types) {
  FunctionBuilder f;
  const DataType type = types.compute();
  Buffer a = f.Input("A", {rows, columns}, types.input);
  Buffer gamma = f.Input("gamma", {columns}, type), beta = f.Input("beta", {columns}, type);
  const Normalized norm = Normalize(f, a, {1}, epsilon, type);
  return f.Build({ScaleAndShift(f, "layer_norm", norm.value, {gamma, beta}, types.output)});
}

}  // namespace tilewright::ops
