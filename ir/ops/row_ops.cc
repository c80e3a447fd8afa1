#include "ir/ops/row_ops.h"

#include "ir/ops/reduction.h"
#include "ir/ops/scalar_math.h"

namespace tilewright::ops {
namespace {

DataType Computing(DataType type) { return type.bits() < 32 ? DataType::Float(32) : type; }

Buffer EachElement(FunctionBuilder& f, const std::string& name, const Buffer& x, const ElementAt& element) {
  return f.Compute(name, x->shape, [&](const std::vector<Var>& v) { return element({v.begin(), v.end()}); });
}

}  // namespace

Indices RowOf(const Indices& at, const std::vector<int>& axes) {
  Indices row = at;
  for (size_t i = axes.size(); i-- > 0;) row.erase(row.begin() + axes[i]);
  return row;
}

Buffer KeepAxes(FunctionBuilder& f, const std::string& name, const Buffer& rows, std::vector<Expr> shape,
                const std::vector<int>& axes, DataType type) {
  for (int axis : axes) shape[static_cast<size_t>(axis)] = 1;
  return f.Compute(name, std::move(shape), [&](const std::vector<Var>& v) {
    return CastTo(type, rows.Load(RowOf({v.begin(), v.end()}, axes)));
  });
}

Buffer SoftmaxOver(FunctionBuilder& f, const Buffer& x, const std::vector<int>& axes, bool logarithm,
                   std::optional<DataType> output) {
  const DataType result = output.value_or(x->dtype);
  const bool narrows = x->dtype.is_float() && x->dtype.bits() > result.bits();
  const DataType type = Computing(narrows ? x->dtype : result);
  // The largest element but for NaN, which makes the differences NaN.
  Buffer largest = ReduceElements(f, "softmax_max", Reduction::kMaxNumber, x->shape, axes, false,
                                  [&](const Indices& at) { return CastTo(type, x.Load(at)); });
  Buffer shifted = EachElement(f, logarithm ? "softmax_shift" : "softmax_exp", x, [&](const Indices& at) {
    const Expr difference = CastTo(type, x.Load(at)) - largest.Load(RowOf(at, axes));
    return logarithm ? difference : Call(type, "exp", {difference});
  });
  Buffer sums = ReduceElements(f, "softmax_sum", Reduction::kSum, x->shape, axes, false, [&](const Indices& at) {
    const Expr value = shifted.Load(at);
    return logarithm ? Call(type, "exp", {value}) : value;
  });
  return EachElement(f, logarithm ? "log_softmax" : "softmax", x, [&](const Indices& at) {
    const Expr value = shifted.Load(at), sum = sums.Load(RowOf(at, axes));
    return CastTo(result, logarithm ? value - Call(type, "log", {sum}) : Div(value, sum));
  });
}

Normalized Normalize(FunctionBuilder& f, const Buffer& x, const std::vector<int>& axes, double epsilon, DataType type) {
  const Expr count = CountOf(x->shape, axes, type);
  Buffer total = ReduceElements(f, "norm_sum", Reduction::kSum, x->shape, axes, false,
                                [&](const Indices& at) { return CastTo(type, x.Load(at)); });
  Buffer mean = Map(f, "norm_mean", {total}, [&](const std::vector<Expr>& e) { return Div(e[0], count); });
  const auto difference = [&](const Indices& at) { return CastTo(type, x.Load(at)) - mean.Load(RowOf(at, axes)); };
  Buffer squares = ReduceElements(f, "norm_squares", Reduction::kSum, x->shape, axes, false, [&](const Indices& at) {
    const Expr value = difference(at);
    return value * value;
  });
  Buffer scale = Map(f, "norm_scale", {squares}, [&](const std::vector<Expr>& e) {
    return Div(ConstFloat(type, 1), Call(type, "sqrt", {Div(e[0], count) + ConstFloat(type, epsilon)}));
  });
  Buffer value =
      EachElement(f, "normalized", x, [&](const Indices& at) { return difference(at) * scale.Load(RowOf(at, axes)); });
  return {value, mean, scale};
}

Buffer ScaleAndShift(FunctionBuilder& f, const std::string& name, const Buffer& x, const std::vector<Buffer>& factors,
                     DataType type) {
  std::vector<Buffer> parts = {x};
  parts.insert(parts.end(), factors.begin(), factors.end());
  return MapTo(f, name, x->shape, parts, [&](const std::vector<Expr>& e) {
    const Expr scaled = e[0] * CastTo(x->dtype, e[1]);
    return CastTo(type, e.size() > 2 ? scaled + CastTo(x->dtype, e[2]) : scaled);
  });
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
