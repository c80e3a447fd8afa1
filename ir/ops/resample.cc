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

// The elements that a position of the result is made of: `count` from the first one on, with weights of their distances
// from the source.
class Taps {
 public:
  Taps(const Resampled& d, const Expr& extent, const ResampleOptions& options)
      : d_(d), extent_(extent), options_(options), stretch_(options.antialias && d.scale < 1 ? 1 / d.scale : 1) {}

  int64_t count() const {
    return static_cast<int64_t>(std::ceil(2 * static_cast<double>(Reach(options_.how)) * stretch_)) +
           (stretch_ != 1 ? 1 : 0);
  }
  Expr Element(const Expr& position, const Expr& tap) const {
    return Inside(First(Source(position)) + CastTo(kF32, tap), extent_);
  }
  // The sum of the weights, by position; nothing where it is 1.
  Buffer Total(FunctionBuilder& f) const {
    if (!options_.exclude_outside && stretch_ == 1) return Buffer();
    ReduceAxis k("tap", count());
    return f.Compute("weights", {d_.extent}, [&](Var p) { return Sum(RawWeight(p, k), k); });
  }
  Expr Weight(const Expr& position, const Expr& tap, const Buffer& total) const {
    const Expr raw = RawWeight(position, tap);
    return total ? Div(raw, total(position)) : raw;
  }

 private:
  Expr Source(const Expr& position) const { return d_.source(CastTo(kF32, position)); }
  Expr First(const Expr& source) const {
    const double before = static_cast<double>(Reach(options_.how)) * stretch_;
    return stretch_ == 1 ? Floor(source) - Real(before - 1) : tilewright::Call(kF32, "ceil", {source - Real(before)});
  }
  Expr RawWeight(const Expr& position, const Expr& tap) const {
    const Expr source = Source(position), element = First(source) + CastTo(kF32, tap);
    const Expr raw = WeightAt((element - source) * Real(1 / stretch_), options_);
    if (!options_.exclude_outside) return raw;
    return Select(And(element >= Real(0), element < CastTo(kF32, extent_)), raw, Real(0));
  }

  const Resampled& d_;
  const Expr& extent_;
  const ResampleOptions& options_;
  double stretch_;  // an output reads as many times as many elements
};

Buffer ResampleOne(FunctionBuilder& f, const Buffer& x, const Resampled& d, const ResampleOptions& options) {
  const size_t axis = static_cast<size_t>(d.axis);
  std::vector<Expr> shape = x->shape;
  const Expr extent = shape[axis];
  shape[axis] = d.extent;
  if (options.how == Interpolation::kNearest) {
    return f.Compute("nearest", shape, [&](const std::vector<Var>& v) {
      Indices at(v.begin(), v.end());
      if (d.repeats > 0) {
        at[axis] = FloorDiv(at[axis], Const(at[axis].dtype(), d.repeats));
        return x.Load(at);
      }
      const auto& nearest = d.nearest ? d.nearest : options.nearest;
      at[axis] = Inside(nearest(d.source(CastTo(kF32, at[axis]))), extent);
      return x.Load(at);
    });
  }
  const DataType sum = x->dtype.bits() == 64 && x->dtype.is_float() ? x->dtype : kF32;
  const Taps taps(d, extent, options);
  ReduceAxis k("tap", taps.count());
  if (d.table) {
    return f.Compute("resample", shape, [&](const std::vector<Var>& v) {
      Indices at(v.begin(), v.end());
      const Expr element = CastTo(extent.dtype(), d.table->elements(k, v[axis]));
      at[axis] = Max(Min(element, extent - Const(extent.dtype(), 1)), Const(extent.dtype(), 0));
      return Sum(CastTo(sum, x.Load(at)) * CastTo(sum, d.table->weights(k, v[axis])), k);
    });
  }
  const Buffer total = taps.Total(f);
  return f.Compute("resample", shape, [&](const std::vector<Var>& v) {
    Indices at(v.begin(), v.end());
    at[axis] = taps.Element(v[axis], k);
    return Sum(CastTo(sum, x.Load(at)) * CastTo(sum, taps.Weight(v[axis], k, total)), k);
  });
}

}  // namespace

ResampleTable ResampleTableOf(FunctionBuilder& f, const Resampled& dimension, const Expr& extent,
                              const ResampleOptions& options) {
  const Taps taps(dimension, extent, options);
  const std::vector<Expr> shape = {Expr(taps.count()), dimension.extent};
  const Buffer total = taps.Total(f);
  ResampleTable table;
  table.elements = f.Compute("elements", shape, [&](const std::vector<Var>& v) {
    return CastTo(DataType::Int(32), taps.Element(v[1], v[0]));
  });
  table.weights =
      f.Compute("weights", shape, [&](const std::vector<Var>& v) { return taps.Weight(v[1], v[0], total); });
  return table;
}

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
