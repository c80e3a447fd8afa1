#include "ir/ops/resample.h"

#include <cmath>

#include "ir/ops/scalar_math.h"

namespace tilewright::ops {
namespace {

constexpr DataType kF32 = DataType::Float(32);

Expr Real(double value) { return ConstFloat(kF32, value); }
Expr Floor(const Expr& x) { return tilewright::Call(kF32, "floor", {x}); }
Expr Abs(const Expr& x) { return tilewright::Call(kF32, "abs", {x}); }

// A whole f32 as an index inside of `extent`.
Expr Inside(const Expr& x, const Expr& extent) {
  const Expr last = CastTo(kF32, extent) - Real(1);
  return CastTo(extent.dtype(), Max(Min(x, last), Real(0)));
}

// How far the filter reaches, without stretching.
int64_t Reach(Interpolation how) { return how == Interpolation::kCubic ? 2 : 1; }

Expr WeightAt(const Expr& distance, const ResampleOptions& options) {
  if (options.how == Interpolation::kCubic) return CubicWeight(distance, options.cubic_a);
  return Max(Real(0), Real(1) - Abs(distance));
}

Buffer ResampleOne(FunctionBuilder& f, const Buffer& x, const Resampled& d, const ResampleOptions& options) {
  const size_t axis = static_cast<size_t>(d.axis);
  std::vector<Expr> shape = x->shape;
  const Expr extent = shape[axis];
  shape[axis] = d.extent;
  if (options.how == Interpolation::kNearest) {
    return f.Compute("nearest", shape, [&](const std::vector<Var>& v) {
      Indices at(v.begin(), v.end());
      const auto& nearest = d.nearest ? d.nearest : options.nearest;
      at[axis] = Inside(nearest(d.source(CastTo(kF32, at[axis]))), extent);
      return x.Load(at);
    });
  }
  const DataType sum = x->dtype.bits() == 64 && x->dtype.is_float() ? x->dtype : kF32;
  // Elements first, first + 1, ... are read with the weight of their distance from the source.
  const double stretch = options.antialias && d.scale < 1 ? 1 / d.scale : 1;
  const auto taps =
      static_cast<int64_t>(std::ceil(2 * static_cast<double>(Reach(options.how)) * stretch)) + (stretch != 1 ? 1 : 0);
  const double before = static_cast<double>(Reach(options.how)) * stretch;
  const auto source = [&](const Expr& at) { return d.source(CastTo(kF32, at)); };
  const auto first = [&](const Expr& position) {
    return stretch == 1 ? Floor(position) - Real(before - 1)
                        : tilewright::Call(kF32, "ceil", {position - Real(before)});
  };
  const auto weight = [&](const Expr& position, const Expr& element) {
    const Expr raw = WeightAt((element - position) * Real(1 / stretch), options);
    if (!options.exclude_outside) return raw;
    return Select(And(element >= Real(0), element < CastTo(kF32, extent)), raw, Real(0));
  };
  const bool normalizes = options.exclude_outside || stretch != 1;
  ReduceAxis k("tap", taps), total_k("tap", taps);
  Buffer total;
  if (normalizes) {
    total = f.Compute("weights", {d.extent}, [&](Var p) {
      const Expr position = source(p);
      return Sum(weight(position, first(position) + CastTo(kF32, total_k)), total_k);
    });
  }
  Buffer y = f.Compute("resample", shape, [&](const std::vector<Var>& v) {
    Indices at(v.begin(), v.end());
    const Expr position = source(v[axis]);
    const Expr element = first(position) + CastTo(kF32, k);
    at[axis] = Inside(element, extent);
    Expr w = weight(position, element);
    if (normalizes) w = Div(w, total(v[axis]));
    return Sum(CastTo(sum, x.Load(at)) * CastTo(sum, w), k);
  });
  return y;
}

}  // namespace

Expr CubicWeight(const Expr& t, double a) {
  const Expr d = Abs(t);
  const Expr inner = ((Real(a + 2) * d - Real(a + 3)) * d) * d + Real(1);
  const Expr outer = ((Real(a) * d - Real(5 * a)) * d + Real(8 * a)) * d - Real(4 * a);
  return Select(d <= Real(1), inner, Select(d < Real(2), outer, Real(0)));
}

Buffer Resample(FunctionBuilder& f, const Buffer& x, const std::vector<Resampled>& dimensions,
                const ResampleOptions& options) {
  Buffer y = x;
  for (const Resampled& dimension : dimensions) y = ResampleOne(f, y, dimension, options);
  if (y->dtype == x->dtype) return y;
  return Map(f, "converted", {y}, [&](const std::vector<Expr>& e) { return Convert(x->dtype, e[0]); });
}

}  // namespace tilewright::ops
