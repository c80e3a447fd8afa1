#include "ir/ops/row_ops.h"

#include "ir/ops/reduction.h"
#include "ir/ops/scalar_math.h"

namespace tilewright::ops {
namespace {

DataType Computing(DataType type) { return type.bits() < 32 ? DataType::Float(32) : type; }

Expr LargerNumber(Expr a, Expr b) { return Max(std::move(a), std::move(b)); }

}  // namespace

Buffer SoftmaxOver(FunctionBuilder& f, const Buffer& x, const std::vector<int>& axes, bool logarithm) {
  const DataType type = Computing(x->dtype);
  const std::vector<Expr>& shape = x->shape;
  std::vector<bool> reduced(shape.size(), false);
  for (int axis : axes) reduced[static_cast<size_t>(axis)] = true;
  // The largest element but for NaN, which makes the differences NaN.
  std::vector<Expr> kept = shape;
  std::vector<ReduceAxis> over;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!reduced[i]) continue;
    kept[i] = 1;
    over.emplace_back("k" + std::to_string(i), shape[i]);
  }
  Buffer largest = f.Compute("softmax_max", kept, [&](const std::vector<Var>& v) -> ComputeBody {
    Indices at(v.begin(), v.end());
    size_t next = 0;
    for (size_t i = 0; i < at.size(); ++i) {
      if (reduced[i]) at[i] = over[next++];
    }
    const Expr value = CastTo(type, x.Load(at));
    return over.empty() ? ComputeBody(value) : ComputeBody(value, over, Lowest(type), LargerNumber);
  });
  Buffer shifted = Map(f, logarithm ? "softmax_shift" : "softmax_exp", {x, largest}, [&](const std::vector<Expr>& e) {
    const Expr difference = CastTo(type, e[0]) - e[1];
    return logarithm ? difference : Call(type, "exp", {difference});
  });
  Buffer sums = ReduceElements(f, "softmax_sum", Reduction::kSum, shape, axes, true, [&](const Indices& at) {
    const Expr value = shifted.Load(at);
    return logarithm ? Call(type, "exp", {value}) : value;
  });
  return Map(f, logarithm ? "log_softmax" : "softmax", {shifted, sums}, [&](const std::vector<Expr>& e) {
    return CastTo(x->dtype, logarithm ? e[0] - Call(type, "log", {e[1]}) : Div(e[0], e[1]));
  });
}

Normalized Normalize(FunctionBuilder& f, const Buffer& x, const std::vector<int>& axes, double epsilon, DataType type) {
  const Expr count = CountOf(x->shape, axes, type);
  Buffer total = ReduceElements(f, "norm_sum", Reduction::kSum, x->shape, axes, true,
                                [&](const Indices& at) { return CastTo(type, x.Load(at)); });
  Buffer mean = Map(f, "norm_mean", {total}, [&](const std::vector<Expr>& e) { return Div(e[0], count); });
  Buffer squares = ReduceElements(f, "norm_squares", Reduction::kSum, x->shape, axes, true, [&](const Indices& at) {
    const Expr difference = CastTo(type, x.Load(at)) - LoadBroadcast(mean, x->shape, at);
    return difference * difference;
  });
  Buffer scale = Map(f, "norm_scale", {squares}, [&](const std::vector<Expr>& e) {
    return Div(ConstFloat(type, 1), Call(type, "sqrt", {Div(e[0], count) + ConstFloat(type, epsilon)}));
  });
  Buffer value = Map(f, "normalized", {x, mean, scale},
                     [&](const std::vector<Expr>& e) { return (CastTo(type, e[0]) - e[1]) * e[2]; });
  return {value, mean, scale};
}

Buffer LocalResponseNorm(FunctionBuilder& f, const Buffer& x, int64_t size, double alpha, double beta, double bias) {
  const DataType type = Computing(x->dtype);
  const int64_t before = (size - 1) / 2;
  ReduceAxis k("k", size);
  Buffer squares = f.Compute("lrn_squares", x->shape, [&](const std::vector<Var>& v) {
    Indices at(v.begin(), v.end());
    at[1] = v[1] + k - Const(k.dtype(), before);
    const Expr value = CastTo(type, x.Load(at));
    const Expr inside = And(at[1] >= Const(at[1].dtype(), 0), at[1] < x->shape[1]);
    return Sum(IfThenElse(inside, value * value, Const(type, 0)), k);
  });
  return Map(f, "lrn", {x, squares}, [&](const std::vector<Expr>& e) {
    const Expr scale = ConstFloat(type, bias) + ConstFloat(type, alpha / static_cast<double>(size)) * e[1];
    return CastTo(x->dtype, Div(CastTo(type, e[0]), Call(type, "pow", {scale, ConstFloat(type, beta)})));
  });
}

}  // namespace tilewright::ops
