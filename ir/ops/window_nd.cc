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

// The shape of an image, or the place of an element in it, whatever the order of dimensions is.
struct Image {
  Expr batch, channel;
  std::vector<Expr> spatial;
};
Indices Ordered(Layout layout, const Image& image) {
  Indices all = {image.batch};
  if (layout == Layout::kChannelsFirst) all.push_back(image.channel);
  all.insert(all.end(), image.spatial.begin(), image.spatial.end());
  if (layout == Layout::kChannelsLast) all.push_back(image.channel);
  return all;
}
Image ImageOf(Layout layout, const Indices& all) {
  if (layout == Layout::kChannelsFirst) return {all[0], all[1], {all.begin() + 2, all.end()}};
  return {all[0], all.back(), {all.begin() + 1, all.end() - 1}};
}

// The shape of the reduced domain of a pool: that of its result, then one dimension for each kernel extent.
std::vector<Expr> PoolDomain(const Buffer& x, const std::vector<Window>& windows, const std::vector<Expr>& shape,
                             Layout layout) {
  Image result = ImageOf(layout, x->shape);
  result.spatial = shape;
  std::vector<Expr> domain = Ordered(layout, result);
  for (const Window& window : windows) domain.emplace_back(window.kernel);
  return domain;
}

struct Place {
  Indices at;
  Expr inside = True();
};

// The place of the element `at` of a pool's domain in x.
Place PlaceOf(const Buffer& x, const std::vector<Window>& windows, const Indices& at, Layout layout) {
  const auto kernel = at.end() - static_cast<std::ptrdiff_t>(windows.size());
  Image image = ImageOf(layout, {at.begin(), kernel});
  const std::vector<Expr> extents = ImageOf(layout, x->shape).spatial;
  Expr inside = True();
  for (size_t i = 0; i < windows.size(); ++i) {
    Expr& index = image.spatial[i];
    index = Scaled(index, windows[i].stride) + Scaled(kernel[static_cast<std::ptrdiff_t>(i)], windows[i].dilation);
    if (windows[i].padding > 0) {
      index = index - Number(index, windows[i].padding);
      inside = And(inside, index >= Number(index, 0));
    }
    inside = And(inside, index < extents[i]);
  }
  return {Ordered(layout, image), arith::Simplify(inside)};
}

// The position of a window whose kernel element `k` lies at `at`; whether there is one is added to `exists`.
Expr PositionOf(const Window& window, const Expr& at, const Expr& k, const Expr& positions, Expr* exists) {
  const Expr stretched = at + Number(at, window.padding) - Scaled(k, window.dilation);
  const Expr stride = Number(stretched, window.stride), zero = Number(stretched, 0);
  const Expr index = window.stride == 1 ? stretched : FloorDiv(stretched, stride);
  if (window.stride != 1) *exists = And(*exists, FloorMod(stretched, stride) == zero);
  *exists = And(*exists, And(stretched >= zero, index < positions));
  return index;
}

// The shape of a weight, or the place of an element in it: its two dimensions of channels as they follow each other.
struct Filter {
  Expr first, second;
  Indices kernel;
};
Indices Ordered(Layout layout, const Filter& filter) {
  Indices all = filter.kernel;
  all.insert(layout == Layout::kChannelsFirst ? all.begin() : all.end(), {filter.first, filter.second});
  return all;
}
Filter FilterOf(Layout layout, const Indices& all) {
  if (layout == Layout::kChannelsFirst) return {all[0], all[1], {all.begin() + 2, all.end()}};
  return {*(all.end() - 2), all.back(), {all.begin(), all.end() - 2}};
}

// x with zeros around it: `before` elements before the first of each spatial dimension, `extents` in all. x itself if
// nothing is added or converted.
Buffer Padded(FunctionBuilder& f, const Buffer& x, Layout layout, const std::vector<int64_t>& before,
              const std::vector<Expr>& extents, const std::function<Expr(const Expr&)>& convert) {
  Image image = ImageOf(layout, x->shape);
  std::vector<Expr> ends;  // of x in the result; null where the result ends there or before
  arith::Analyzer analyzer;
  bool same = !convert;
  for (size_t i = 0; i < before.size(); ++i) {
    const Expr end = arith::Simplify(image.spatial[i] + Number(image.spatial[i], before[i]));
    ends.push_back(analyzer.CanProveLessEqual(extents[i], end) ? Expr() : end);
    same &= before[i] == 0 && !ends[i];
    image.spatial[i] = extents[i];
  }
  if (same) return x;
  return f.Compute("pad_temp", Ordered(layout, image), [&](const std::vector<Var>& v) {
    Image at = ImageOf(layout, {v.begin(), v.end()});
    Expr inside;
    const auto require = [&](const Expr& condition) { inside = inside ? And(inside, condition) : condition; };
    for (size_t i = 0; i < before.size(); ++i) {
      Expr& index = at.spatial[i];
      if (before[i] > 0) require(Number(index, before[i]) <= index);
      if (ends[i]) require(index < ends[i]);
      if (before[i] > 0) index = index - Number(index, before[i]);
    }
    const Expr element = x.Load(Ordered(layout, at));
    const Expr value = convert ? convert(element) : element;
    return inside ? IfThenElse(inside, value, Const(value.dtype(), 0)) : value;
  });
}

// One position or element of a window in each spatial dimension.
std::string SpatialName(size_t i, size_t dims) {
  return dims <= 3 ? std::string(1, "dhw"[3 - dims + i]) : "x" + std::to_string(i);
}

// What convolutions are: the sum over windows and over the `inputs` channels of a group of what `term` says of a place
// in the result, an input channel and an element of the kernel.
using WindowTerm = std::function<Expr(const Image& at, const Expr& input, const Indices& kernel)>;
Buffer SumOverWindows(FunctionBuilder& f, const ConvOptions& options, const Image& result, const Expr& inputs,
                      const Indices& kernel, const WindowTerm& term) {
  const bool channels_first = options.layout == Layout::kChannelsFirst;
  const size_t dims = kernel.size();
  const ReduceAxis input("rc", inputs);
  std::vector<ReduceAxis> axes;
  std::vector<std::string> names = {"n", "co"};
  for (size_t i = 0; i < dims; ++i) {
    axes.emplace_back("r" + SpatialName(i, dims), kernel[i]);
    names.insert(channels_first ? names.end() : names.end() - 1, SpatialName(i, dims));
  }
  const Indices offsets(axes.begin(), axes.end());
  axes.insert(channels_first ? axes.begin() : axes.end(), input);
  return f.Compute(
      options.block, Ordered(options.layout, result),
      [&](const std::vector<Var>& v) {
        return Sum(term(ImageOf(options.layout, {v.begin(), v.end()}), input, offsets), axes);
      },
      names);
}

std::vector<int> KernelAxes(size_t dims) {
  std::vector<int> axes;
  for (size_t i = 0; i < dims; ++i) axes.push_back(static_cast<int>(2 + dims + i));
  return axes;
}

Buffer Pool(FunctionBuilder& f, const std::string& name, Reduction reduction, const Buffer& x,
            const std::vector<Window>& windows, const std::vector<Expr>& shape, Layout layout, const Expr& fill,
            const ScalarBody& element) {
  return ReduceElements(f, name, reduction, PoolDomain(x, windows, shape, layout), KernelAxes(windows.size()), false,
                        [&](const Indices& at) {
                          Place place = PlaceOf(x, windows, at, layout);
                          const Expr value = element({x.Load(place.at)});
                          return IsTrue(place.inside) ? value : IfThenElse(place.inside, value, fill);
                        });
}

// How many elements `window` covers at `position`, of the `extent` ones of an image and (`count_padding`) its padding.
Expr Covered(const Window& window, const Expr& position, const Expr& extent, bool count_padding) {
  // Offsets k with low <= position * stride - padding + k * dilation < high.
  const Expr begin = Scaled(position, window.stride) - Number(position, window.padding);
  const Expr low = Number(begin, count_padding ? -window.padding : 0);
  const Expr high = count_padding ? extent + Number(extent, window.padding_after()) : extent;
  const Expr dilation = Number(begin, window.dilation), up = Number(begin, window.dilation - 1);
  const Expr first = Max(FloorDiv(low - begin + up, dilation), Number(begin, 0));
  const Expr last = Min(FloorDiv(high - begin + up, dilation), Number(begin, window.kernel));
  return last - first;
}

}  // namespace

Expr Positions(const Expr& extent, const Window& window, bool ceil) {
  const Expr stride = Number(extent, window.stride);
  const Expr room = extent + Number(extent, window.padding + window.padding_after() - window.reach());
  const Expr one = Number(extent, 1);
  if (!ceil) return arith::Simplify(FloorDiv(room, stride) + one);
  const Expr all = FloorDiv(room + Number(extent, window.stride - 1), stride) + one;
  // The last window begins inside of the image or the padding before it.
  const Expr begins = FloorDiv(extent + Number(extent, window.padding - 1), stride) + one;
  return arith::Simplify(Min(all, begins));
}

Buffer ConvNd(FunctionBuilder& f, const Buffer& x, const Buffer& weight, const ConvOptions& options,
              const std::function<Expr(const Expr&)>& input,
              const std::function<Expr(const Expr&, const Expr& channel)>& weights) {
  const Layout layout = options.layout;
  const size_t dims = options.windows.size();
  TW_CHECK(x->ndim() == dims + 2 && weight->ndim() == dims + 2);
  const Image image = ImageOf(layout, x->shape);
  const Filter filter = FilterOf(layout, weight->shape);
  const bool outputs_first = layout == Layout::kChannelsFirst;
  const Expr &inputs = outputs_first ? filter.second : filter.first,
             &outputs = outputs_first ? filter.first : filter.second;
  std::vector<Expr> padded_extents;
  std::vector<int64_t> before;
  Image result = {image.batch, outputs, {}};
  for (size_t i = 0; i < dims; ++i) {
    const Window& window = options.windows[i];
    const Expr& extent = image.spatial[i];
    padded_extents.push_back(arith::Simplify(extent + Number(extent, window.padding + window.padding_after())));
    before.push_back(window.padding);
    result.spatial.push_back(Positions(extent, window));
  }
  const Buffer padded = Padded(f, x, layout, before, padded_extents, input);
  const Expr group_outputs = arith::Simplify(FloorDiv(outputs, Number(outputs, options.groups)));
  const auto term = [&](const Image& at, const Expr& rc, const Indices& offsets) {
    Image source = {at.batch, rc, {}};
    if (options.groups != 1) source.channel = arith::Simplify(FloorDiv(at.channel, group_outputs) * inputs + rc);
    for (size_t i = 0; i < dims; ++i) {
      const Window& window = options.windows[i];
      source.spatial.push_back(Scaled(at.spatial[i], window.stride) + Scaled(offsets[i], window.dilation));
    }
    const Filter place = outputs_first ? Filter{at.channel, rc, offsets} : Filter{rc, at.channel, offsets};
    const Expr element = weight.Load(Ordered(layout, place));
    const Expr right = weights ? weights(element, at.channel) : CastTo(options.type, element);
    return CastTo(options.type, padded.Load(Ordered(layout, source))) * right;
  };
  return SumOverWindows(f, options, result, inputs, filter.kernel, term);
}

Buffer ConvTransposeNd(FunctionBuilder& f, const Buffer& x, const Buffer& weight, const ConvOptions& options,
                       const std::vector<Expr>& spatial) {
  const Layout layout = options.layout;
  const size_t dims = options.windows.size();
  TW_CHECK(x->ndim() == dims + 2 && weight->ndim() == dims + 2);
  const Image image = ImageOf(layout, x->shape);
  const Filter filter = FilterOf(layout, weight->shape);
  const Expr& per_group = filter.second;
  const Image result = {image.batch, arith::Simplify(per_group * Number(per_group, options.groups)), spatial};
  const Expr group_inputs = arith::Simplify(FloorDiv(image.channel, Number(image.channel, options.groups)));
  // A convolution, with the window turned around, of x with stride - 1 zeros between its elements. Those around it are
  // whole elements of x; `border` is what that is too much. Behind x they reach as far as whole strides of the output
  // do, so that outputs can be computed in phases of the stride.
  std::vector<int64_t> elements, borders;
  std::vector<Expr> extents;
  for (size_t i = 0; i < dims; ++i) {
    const Window& window = options.windows[i];
    const int64_t stride = window.stride, zeros = window.reach() - 1 - window.padding;
    elements.push_back(zeros > 0 ? CeilDiv(zeros, stride) : 0);
    borders.push_back(elements[i] * stride - zeros);
    const Expr strides = FloorDiv(spatial[i] + Number(spatial[i], stride - 1), Number(spatial[i], stride));
    extents.push_back(arith::Simplify(strides + Number(strides, elements[i] + CeilDiv(window.padding, stride))));
  }
  const Buffer padded = Padded(f, x, layout, elements, extents, {});
  const auto term = [&](const Image& at, const Expr& rc, const Indices& offsets) {
    Image source = {at.batch, rc, {}};
    Expr out = at.channel, falls_on_element;
    if (options.groups != 1) {
      source.channel = FloorDiv(at.channel, per_group) * group_inputs + rc;
      out = FloorMod(at.channel, per_group);
    }
    Indices turned;
    for (size_t i = 0; i < dims; ++i) {
      const Window& window = options.windows[i];
      Expr index = at.spatial[i] + Scaled(offsets[i], window.dilation);
      if (borders[i] != 0) index = index + Number(index, borders[i]);
      if (window.stride != 1) {
        const Expr stride = Number(index, window.stride);
        const Expr falls = FloorMod(index, stride) == Number(index, 0);
        falls_on_element = falls_on_element ? And(falls_on_element, falls) : falls;
        index = FloorDiv(index, stride);
      }
      source.spatial.push_back(index);
      turned.push_back(Number(offsets[i], window.kernel - 1) - offsets[i]);
    }
    Expr element = padded.Load(Ordered(layout, source));
    if (falls_on_element) element = IfThenElse(falls_on_element, element, Const(element.dtype(), 0));
    const Expr factor = weight.Load(Ordered(layout, Filter{source.channel, out, turned}));
    return CastTo(options.type, element) * CastTo(options.type, factor);
  };
  return SumOverWindows(f, options, result, group_inputs, filter.kernel, term);
}

Buffer FoldWindows(FunctionBuilder& f, const Buffer& x, const std::vector<Window>& windows,
                   const std::vector<Expr>& spatial, DataType sum) {
  const size_t dims = windows.size();
  std::vector<Expr> kernel, positions, shape = {x->shape[0], x->shape[1]};
  std::vector<ReduceAxis> axes;
  for (size_t i = 0; i < dims; ++i) {
    kernel.push_back(Number(spatial[i], windows[i].kernel));
    positions.push_back(Positions(spatial[i], windows[i]));
    shape[1] = arith::Simplify(FloorDiv(shape[1], Number(shape[1], windows[i].kernel)));
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
      column.push_back(PositionOf(windows[i], v[2 + i], axes[i], positions[i], &inside));
    }
    inside = arith::Simplify(inside);
    const Expr value = CastTo(sum, x(v[0], Flatten(all_kernel, row), Flatten(positions, column)));
    return Sum(IsTrue(inside) ? value : IfThenElse(inside, value, Const(sum, 0)), axes);
  });
}

Buffer MaxPoolNd(FunctionBuilder& f, const Buffer& x, const std::vector<Window>& windows,
                 const std::vector<Expr>& shape, Layout layout) {
  return Pool(f, "max_pool", Reduction::kMax, x, windows, shape, layout, Lowest(x->dtype),
              [](const std::vector<Expr>& e) { return e[0]; });
}

Buffer MaxPoolPosition(FunctionBuilder& f, const Buffer& x, const Buffer& largest, const std::vector<Window>& windows,
                       bool column_major) {
  constexpr Layout kChannelsFirst = Layout::kChannelsFirst;
  const DataType i64 = DataType::Int(64);
  const size_t dims = windows.size();
  const std::vector<Expr> shape(largest->shape.begin() + 2, largest->shape.end());
  const Expr none = GreatestValue(i64);
  return ReduceElements(f, "position", Reduction::kMin, PoolDomain(x, windows, shape, kChannelsFirst), KernelAxes(dims),
                        false, [&](const Indices& at) {
                          Place place = PlaceOf(x, windows, at, kChannelsFirst);
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

Buffer AveragePoolNd(FunctionBuilder& f, const Buffer& x, const std::vector<Window>& windows,
                     const std::vector<Expr>& shape, bool count_padding, Layout layout) {
  const DataType type = x->dtype, sum_type = type.bits() < 32 ? DataType::Float(32) : type;
  Buffer sums = Pool(f, "pool_sum", Reduction::kSum, x, windows, shape, layout, Const(sum_type, 0),
                     [&](const std::vector<Expr>& e) { return CastTo(sum_type, e[0]); });
  const std::vector<Expr> extents = ImageOf(layout, x->shape).spatial;
  return f.Compute("average_pool", sums->shape, [&](const std::vector<Var>& v) {
    const Indices at(v.begin(), v.end());
    const std::vector<Expr> positions = ImageOf(layout, at).spatial;
    arith::Analyzer analyzer;
    for (size_t i = 0; i < v.size(); ++i) analyzer.Bind(v[i], Range{Const(v[i].dtype(), 0), sums->shape[i]});
    Expr count = 1;
    for (size_t i = 0; i < windows.size(); ++i) {
      count = analyzer.Simplify(count * Covered(windows[i], positions[i], extents[i], count_padding));
    }
    return CastTo(type, Div(sums.Load(at), CastTo(sum_type, count)));
  });
}

Buffer LpPoolNd(FunctionBuilder& f, const Buffer& x, const std::vector<Window>& windows, const std::vector<Expr>& shape,
                int64_t p) {
  const DataType type = x->dtype, wide = type.bits() < 32 ? DataType::Float(32) : type;
  const Expr power = ConstFloat(wide, static_cast<double>(p));
  Buffer sums = Pool(f, "pool_sum", Reduction::kSum, x, windows, shape, Layout::kChannelsFirst, Const(wide, 0),
                     [&](const std::vector<Expr>& e) { return Power(Call(wide, "abs", {CastTo(wide, e[0])}), power); });
  return Map(f, "lp_pool", {sums}, [&](const std::vector<Expr>& e) {
    const Expr root = p == 2 ? Unary("sqrt", e[0]) : Power(e[0], ConstFloat(wide, 1.0 / static_cast<double>(p)));
    return CastTo(type, root);
  });
}

}  // namespace tilewright::ops
