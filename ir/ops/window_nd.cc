#include "ir/ops/window_nd.h"

#include <cmath>

#include "base/check.h"
#include "base/math.h"
#include "ir/arith/analyzer.h"
#include "ir/ops/movement.h"
#include "ir/ops/reduction.h"
#include "ir/ops/scalar_math.h"

namespace tilewright::ops {
namespace {

Expr Number(const Expr& like, int64_t value) { return Const(like.dtype(), value); }

Expr Scaled(const Expr& e, int64_t by) { return by == 1 ? e : e * Number(e, by); }

// The shape of the reduced domain of a pool: batch, channels, positions, then one dimension for each kernel extent.
std::vector<Expr> PoolDomain(const Buffer& x, const std::vector<Span>& spans, const std::vector<Expr>& shape) {
  std::vector<Expr> domain = {x->shape[0], x->shape[1]};
  domain.insert(domain.end(), shape.begin(), shape.end());
  for (const Span& span : spans) domain.emplace_back(span.kernel);
  return domain;
}

struct Place {
  Indices at;
  Expr inside = True();
};

// The place of the element `at` of a pool's domain in x.
Place PlaceOf(const Buffer& x, const std::vector<Span>& spans, const Indices& at) {
  Place place{.at = {at[0], at[1]}};
  const size_t dims = spans.size();
  for (size_t i = 0; i < dims; ++i) {
    const Expr raw = Scaled(at[2 + i], spans[i].stride) + Scaled(at[2 + dims + i], spans[i].dilation);
    const Expr index = spans[i].before == 0 ? raw : raw - Number(raw, spans[i].before);
    if (spans[i].before > 0) place.inside = And(place.inside, index >= Number(index, 0));
    place.inside = And(place.inside, index < x->shape[2 + i]);
    place.at.push_back(index);
  }
  place.inside = arith::Simplify(place.inside);
  return place;
}

// The position of a window whose kernel element `k` lies at `at`; whether there is one is added to `exists`.
Expr PositionOf(const Span& span, const Expr& at, const Expr& k, const Expr& positions, Expr* exists) {
  const Expr stretched = at + Number(at, span.before) - Scaled(k, span.dilation);
  const Expr stride = Number(stretched, span.stride), zero = Number(stretched, 0);
  const Expr index = span.stride == 1 ? stretched : FloorDiv(stretched, stride);
  if (span.stride != 1) *exists = And(*exists, FloorMod(stretched, stride) == zero);
  *exists = And(*exists, And(stretched >= zero, index < positions));
  return index;
}

// x with zeros around it: `before` elements before the first of each spatial dimension, `extents` in all. x itself if
// nothing is added or converted.
Buffer Padded(FunctionBuilder& f, const Buffer& x, const std::vector<int64_t>& before, const std::vector<Expr>& extents,
              const std::function<Expr(const Expr&)>& convert) {
  const size_t dims = before.size();
  std::vector<Expr> shape = {x->shape[0], x->shape[1]};
  std::vector<bool> ends_inside;
  arith::Analyzer analyzer;
  bool same = !convert;
  for (size_t i = 0; i < dims; ++i) {
    const Expr& extent = x->shape[2 + i];
    ends_inside.push_back(analyzer.CanProveLessEqual(extents[i], extent + Number(extent, before[i])));
    same &= before[i] == 0 && ends_inside.back();
    shape.push_back(extents[i]);
  }
  if (same) return x;
  return f.Compute("pad_temp", shape, [&](const std::vector<Var>& v) {
    Expr inside = True();
    Indices at = {v[0], v[1]};
    for (size_t i = 0; i < dims; ++i) {
      const Expr position = v[2 + i], zeros = Number(position, before[i]);
      const Expr index = before[i] == 0 ? position : position - zeros;
      if (before[i] > 0) inside = And(inside, position >= zeros);
      if (!ends_inside[i]) inside = And(inside, index < x->shape[2 + i]);
      at.push_back(index);
    }
    const Expr value = convert ? convert(x.Load(at)) : x.Load(at);
    inside = arith::Simplify(inside);
    return IsTrue(inside) ? value : IfThenElse(inside, value, Const(value.dtype(), 0));
  });
}

std::vector<int> KernelAxes(size_t dims) {
  std::vector<int> axes;
  for (size_t i = 0; i < dims; ++i) axes.push_back(static_cast<int>(2 + dims + i));
  return axes;
}

Buffer Pool(FunctionBuilder& f, const std::string& name, Reduction reduction, const Buffer& x,
            const std::vector<Span>& spans, const std::vector<Expr>& shape, const Expr& fill,
            const ScalarBody& element) {
  return ReduceElements(f, name, reduction, PoolDomain(x, spans, shape), KernelAxes(spans.size()), false,
                        [&](const Indices& at) {
                          Place place = PlaceOf(x, spans, at);
                          const Expr value = element({x.Load(place.at)});
                          return IsTrue(place.inside) ? value : IfThenElse(place.inside, value, fill);
                        });
}

}  // namespace

Expr Positions(const Expr& extent, const Span& span, bool ceil) {
  const Expr stride = Number(extent, span.stride);
  const Expr room = extent + Number(extent, span.before + span.after - span.reach());
  const Expr one = Number(extent, 1);
  if (!ceil) return arith::Simplify(FloorDiv(room, stride) + one);
  const Expr all = FloorDiv(room + Number(extent, span.stride - 1), stride) + one;
  // The last window begins inside of the image or the padding before it.
  const Expr begins = FloorDiv(extent + Number(extent, span.before - 1), stride) + one;
  return arith::Simplify(Min(all, begins));
}

Buffer ConvNd(FunctionBuilder& f, const Buffer& x, const Buffer& weight, const ConvOptions& options,
              const std::function<Expr(const Expr&)>& input,
              const std::function<Expr(const Expr&, const Expr& channel)>& weights) {
  const size_t dims = options.spans.size();
  TW_CHECK(x->ndim() == dims + 2 && weight->ndim() == dims + 2);
  std::vector<Expr> padded_extents, shape = {x->shape[0], weight->shape[0]};
  std::vector<int64_t> before;
  for (size_t i = 0; i < dims; ++i) {
    const Span& span = options.spans[i];
    const Expr& extent = x->shape[2 + i];
    padded_extents.push_back(arith::Simplify(extent + Number(extent, span.before + span.after)));
    before.push_back(span.before);
    shape.push_back(Positions(extent, span));
  }
  const Buffer padded = Padded(f, x, before, padded_extents, input);
  std::vector<ReduceAxis> axes = {ReduceAxis("rc", weight->shape[1])};
  for (size_t i = 0; i < dims; ++i) axes.emplace_back("r" + std::to_string(i), weight->shape[2 + i]);
  return f.Compute("conv", shape, [&](const std::vector<Var>& v) {
    Expr channel = axes[0];
    if (options.groups != 1) {
      const Expr per_group = FloorDiv(weight->shape[0], Number(weight->shape[0], options.groups));
      channel = FloorDiv(v[1], arith::Simplify(per_group)) * weight->shape[1] + axes[0];
    }
    Indices at = {v[0], channel}, weight_at = {v[1], axes[0]};
    for (size_t i = 0; i < dims; ++i) {
      at.push_back(Scaled(v[2 + i], options.spans[i].stride) + Scaled(axes[1 + i], options.spans[i].dilation));
      weight_at.push_back(axes[1 + i]);
    }
    const Expr element = weight.Load(weight_at);
    const Expr right = weights ? weights(element, v[1]) : CastTo(options.type, element);
    return Sum(CastTo(options.type, padded.Load(at)) * right, axes);
  });
}

Buffer ConvTransposeNd(FunctionBuilder& f, const Buffer& x, const Buffer& weight, const ConvOptions& options,
                       const std::vector<Expr>& spatial) {
  const size_t dims = options.spans.size();
  const Expr per_group = weight->shape[1];
  std::vector<Expr> shape = {x->shape[0], arith::Simplify(per_group * Number(per_group, options.groups))};
  shape.insert(shape.end(), spatial.begin(), spatial.end());
  const Expr group_inputs = arith::Simplify(FloorDiv(x->shape[1], Number(x->shape[1], options.groups)));
  std::vector<ReduceAxis> axes = {ReduceAxis("rc", group_inputs)};
  for (size_t i = 0; i < dims; ++i) axes.emplace_back("r" + std::to_string(i), weight->shape[2 + i]);
  // A convolution, with the window turned around, of x with stride - 1 zeros between its elements. Those around it are
  // whole elements of x; `border` is what that is too much.
  std::vector<int64_t> elements, borders;
  std::vector<Expr> extents;
  for (size_t i = 0; i < dims; ++i) {
    const Span& span = options.spans[i];
    const int64_t zeros = span.reach() - 1 - span.before;
    elements.push_back(zeros > 0 ? CeilDiv(zeros, span.stride) : 0);
    borders.push_back(elements[i] * span.stride - zeros);
    const Expr last = spatial[i] + Number(spatial[i], span.reach() - 2 + borders[i]);
    extents.push_back(arith::Simplify(FloorDiv(last, Number(last, span.stride)) + Number(last, 1)));
  }
  const Buffer padded = Padded(f, x, elements, extents, {});
  return f.Compute("conv_transpose", shape, [&](const std::vector<Var>& v) {
    Expr channel = axes[0], out = v[1];
    if (options.groups != 1) {
      channel = FloorDiv(v[1], per_group) * group_inputs + axes[0];
      out = FloorMod(v[1], per_group);
    }
    Indices at = {v[0], channel}, weight_at = {channel, out};
    Expr falls_on_element = True();
    for (size_t i = 0; i < dims; ++i) {
      const Span& span = options.spans[i];
      const Expr offset = Scaled(axes[1 + i], span.dilation), border = Number(v[2 + i], borders[i]);
      const Expr stretched = borders[i] == 0 ? v[2 + i] + offset : v[2 + i] + offset + border;
      const Expr stride = Number(stretched, span.stride);
      if (span.stride != 1) {
        falls_on_element = And(falls_on_element, FloorMod(stretched, stride) == Number(stretched, 0));
      }
      at.push_back(span.stride == 1 ? stretched : FloorDiv(stretched, stride));
      weight_at.push_back(weight->shape[2 + i] - Number(weight->shape[2 + i], 1) - axes[1 + i]);
    }
    const Expr element = padded.Load(at);
    const Expr chosen = IsTrue(falls_on_element)
                            ? element
                            : IfThenElse(arith::Simplify(falls_on_element), element, Const(element.dtype(), 0));
    return Sum(CastTo(options.type, chosen) * CastTo(options.type, weight.Load(weight_at)), axes);
  });
}

Buffer FoldWindows(FunctionBuilder& f, const Buffer& x, const std::vector<Span>& spans,
                   const std::vector<Expr>& spatial, DataType sum) {
  const size_t dims = spans.size();
  std::vector<Expr> kernel, positions, shape = {x->shape[0], x->shape[1]};
  std::vector<ReduceAxis> axes;
  for (size_t i = 0; i < dims; ++i) {
    kernel.push_back(Number(spatial[i], spans[i].kernel));
    positions.push_back(Positions(spatial[i], spans[i]));
    shape[1] = arith::Simplify(FloorDiv(shape[1], Number(shape[1], spans[i].kernel)));
    axes.emplace_back("r" + std::to_string(i), kernel.back());
  }
  shape.insert(shape.end(), spatial.begin(), spatial.end());
  return f.Compute("fold", shape, [&](const std::vector<Var>& v) {
    std::vector<Expr> all_kernel = {shape[1]};
    all_kernel.insert(all_kernel.end(), kernel.begin(), kernel.end());
    Indices row = {v[1]}, column;
    Expr inside = True();
    for (size_t i = 0; i < dims; ++i) {
      row.push_back(axes[i]);
      column.push_back(PositionOf(spans[i], v[2 + i], axes[i], positions[i], &inside));
    }
    inside = arith::Simplify(inside);
    const Expr value = CastTo(sum, x(v[0], Flatten(all_kernel, row), Flatten(positions, column)));
    return Sum(IsTrue(inside) ? value : IfThenElse(inside, value, Const(sum, 0)), axes);
  });
}

Buffer MaxPoolNd(FunctionBuilder& f, const Buffer& x, const std::vector<Span>& spans, const std::vector<Expr>& shape) {
  return Pool(f, "max_pool", Reduction::kMax, x, spans, shape, Lowest(x->dtype),
              [](const std::vector<Expr>& e) { return e[0]; });
}

Buffer MaxPoolPosition(FunctionBuilder& f, const Buffer& x, const Buffer& largest, const std::vector<Span>& spans,
                       bool column_major) {
  const DataType i64 = DataType::Int(64);
  const size_t dims = spans.size();
  const std::vector<Expr> shape(largest->shape.begin() + 2, largest->shape.end());
  const Expr none = GreatestValue(i64);
  return ReduceElements(f, "position", Reduction::kMin, PoolDomain(x, spans, shape), KernelAxes(dims), false,
                        [&](const Indices& at) {
                          Place place = PlaceOf(x, spans, at);
                          Expr image = CastTo(i64, at[0]) * CastTo(i64, x->shape[1]) + CastTo(i64, at[1]);
                          Expr position = Const(i64, 0);
                          for (size_t i = 0; i < dims; ++i) {
                            const size_t d = column_major ? dims - 1 - i : i;
                            image = image * CastTo(i64, x->shape[2 + i]);
                            position = position * CastTo(i64, x->shape[2 + d]) + CastTo(i64, place.at[2 + d]);
                          }
                          const Indices window(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(2 + dims));
                          const Expr here = Select(x.Load(place.at) == largest.Load(window), image + position, none);
                          return IsTrue(place.inside) ? here : IfThenElse(place.inside, here, none);
                        });
}

Buffer AveragePoolNd(FunctionBuilder& f, const Buffer& x, const std::vector<Span>& spans,
                     const std::vector<Expr>& shape, bool count_padding) {
  const DataType type = x->dtype, sum_type = type.bits() < 32 ? DataType::Float(32) : type;
  Buffer sums = Pool(f, "pool_sum", Reduction::kSum, x, spans, shape, Const(sum_type, 0),
                     [&](const std::vector<Expr>& e) { return CastTo(sum_type, e[0]); });
  return f.Compute("average_pool", sums->shape, [&](const std::vector<Var>& v) {
    Expr count = 1;
    for (size_t i = 0; i < spans.size(); ++i) {
      // Offsets k with low <= position * stride - before + k * dilation < high.
      const Span& span = spans[i];
      const Expr extent = x->shape[2 + i];
      const Expr begin = Scaled(v[2 + i], span.stride) - Number(v[2 + i], span.before);
      const Expr low = Number(begin, count_padding ? -span.before : 0);
      const Expr high = count_padding ? extent + Number(extent, span.after) : extent;
      const Expr dilation = Number(begin, span.dilation), up = Number(begin, span.dilation - 1);
      const Expr kernel = Number(begin, span.kernel), zero = Number(begin, 0);
      const Expr first = Max(FloorDiv(low - begin + up, dilation), zero);
      const Expr last = Min(FloorDiv(high - begin + up, dilation), kernel);
      count = arith::Simplify(count * (last - first));
    }
    return CastTo(type, Div(sums.Load({v.begin(), v.end()}), CastTo(sum_type, count)));
  });
}

Buffer LpPoolNd(FunctionBuilder& f, const Buffer& x, const std::vector<Span>& spans, const std::vector<Expr>& shape,
                int64_t p) {
  const DataType type = x->dtype, wide = type.bits() < 32 ? DataType::Float(32) : type;
  const Expr power = ConstFloat(wide, static_cast<double>(p));
  Buffer sums = Pool(f, "pool_sum", Reduction::kSum, x, spans, shape, Const(wide, 0),
                     [&](const std::vector<Expr>& e) { return Power(Call(wide, "abs", {CastTo(wide, e[0])}), power); });
  return Map(f, "lp_pool", {sums}, [&](const std::vector<Expr>& e) {
    const Expr root = p == 2 ? Unary("sqrt", e[0]) : Power(e[0], ConstFloat(wide, 1.0 / static_cast<double>(p)));
    return CastTo(type, root);
  });
}

}  // namespace tilewright::ops
