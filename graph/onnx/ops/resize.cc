// Resize and Upsample.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/status_macros.h"
#include "graph/onnx/node.h"
#include "graph/onnx/operators.h"
#include "ir/ops/resample.h"
#include "ir/ops/scalar_math.h"

namespace tilewright::graph {
namespace {

namespace ops = tilewright::ops;
constexpr DataType kF32 = DataType::Float(32);

Expr Real(double value) { return ConstFloat(kF32, value); }
Expr Fun(const char* name, const Expr& x) { return tilewright::Call(kF32, name, {x}); }

// How positions of the output map to those of the input.
struct Transformation {
  std::string mode;
  double scale =
      1;         // output extent / input extent, as given; 0: of the extents, which are not known before the model runs
  Expr in, out;  // the extents, in the program
  double roi_start = 0, roi_end = 1;

  Expr operator()(const Expr& p) const {
    const Expr n = CastTo(kF32, in), m = CastTo(kF32, out);
    const Expr s = scale == 0 ? Div(m, n) : Real(scale), half = Real(0.5), one = Real(1);
    // An output of one position has a place of its own.
    const auto single = [&](const Expr& place, const Expr& otherwise) -> Expr {
      if (AsInt(out)) return IsInt(out, 1) ? place : otherwise;
      return Select(out == Const(out.dtype(), 1), place, otherwise);
    };
    if (mode == "asymmetric") return Div(p, s);
    if (mode == "align_corners") {
      return single(Real(0) * p, Div(p * (n - one), Max(m - one, one)));
    }
    if (mode == "pytorch_half_pixel") return single(Real(0) * p, Div(p + half, s) - half);
    if (mode == "tf_half_pixel_for_nn") return Div(p + half, s);
    if (mode == "tf_crop_and_resize") {
      const Expr start = Real(roi_start), end = Real(roi_end);
      return single(half * (start + end) * (n - one),
                    start * (n - one) + Div(p * (end - start) * (n - one), Max(m - one, one)));
    }
    if (mode == "half_pixel_symmetric" && scale != 0) {
      // The center stays where it is, however much of the output's exact extent was cut off.
      return half * (n - Div(m, s)) + Div(p + half, s) - half;
    }
    return Div(p + half, s) - half;
  }
};

std::function<Expr(const Expr&)> NearestOf(const std::string& mode) {
  if (mode == "floor") return [](const Expr& x) { return Fun("floor", x); };
  if (mode == "ceil") return [](const Expr& x) { return Fun("ceil", x); };
  if (mode == "round_prefer_ceil") return [](const Expr& x) { return Fun("floor", x + Real(0.5)); };
  return [](const Expr& x) { return Fun("ceil", x - Real(0.5)); };
}

// How often each element is repeated where an image is enlarged by a whole number and the nearest element is wanted:
// position p reads element p / scale, rounded down. 0: otherwise.
int64_t RepeatsOf(const Transformation& t, const std::string& nearest, const Expr& in, const Expr& out) {
  const auto from = AsInt(in), to = AsInt(out);
  // Positions are exact in f32, and quotients are rounded to no other whole number.
  constexpr int64_t kMost = int64_t{1} << 20;
  if (!from || !to || *to >= kMost || *from > *to || !(t.scale >= 2 && t.scale <= kMost)) return 0;
  const auto scale = static_cast<int64_t>(t.scale);
  if (static_cast<double>(scale) != t.scale || *to != *from * scale) return 0;
  const bool rounds = nearest == "round_prefer_floor" || nearest == "round_prefer_ceil";
  const bool repeats = t.mode == "asymmetric" || t.mode == "tf_half_pixel_for_nn" ? nearest == "floor"
                       : t.mode == "half_pixel" || t.mode == "pytorch_half_pixel" ? rounds
                                                                                  : false;
  return repeats ? scale : 0;
}

struct ResizeTarget {
  Exprs shape;                 // of the output
  std::vector<double> scales;  // one a dimension
  std::vector<bool> changes;
};

// A quotient of small integers that is this number in f32. The greatest whole number below an extent times the quotient
// is the same as that below the extent times the number, rounded to f32.
std::optional<std::pair<int64_t, int64_t>> RatioOf(double scale) {
  constexpr int64_t kMost = 4096;
  for (int64_t divisor = 1; divisor <= kMost; ++divisor) {
    const double dividend = std::round(scale * static_cast<double>(divisor));
    if (static_cast<float>(dividend / static_cast<double>(divisor)) == static_cast<float>(scale)) {
      return std::pair(static_cast<int64_t>(dividend), divisor);
    }
  }
  return std::nullopt;
}

// The extent that a number of elements is rounded down to.
absl::StatusOr<Expr> SizeOf(OnnxNode& n, double elements) {
  if (!(elements >= 0 && elements < 0x1p62)) return n.Error("a size of ", elements);
  return Extent(static_cast<int64_t>(elements));
}

// The target of the sizes that an input holds.
absl::StatusOr<ResizeTarget> TargetOfSizes(OnnxNode& n, const std::vector<int>& axes, size_t sizes_input,
                                           ResizeTarget target) {
  const Item& x = n.In(0);
  TW_ASSIGN_OR_RETURN(const Exprs sizes, n.Values(sizes_input));
  if (sizes.size() != axes.size()) return n.Error(sizes.size(), " sizes for ", axes.size(), " dimensions");
  const std::string policy = n.String("keep_aspect_ratio_policy", "stretch");
  std::vector<double> ratios;
  for (size_t i = 0; i < axes.size(); ++i) {
    const size_t a = static_cast<size_t>(axes[i]);
    const auto in = AsInt(x.shape[a]), out = AsInt(sizes[i]);
    target.shape[a] = sizes[i];
    target.changes[a] = !ops::SameExtent(sizes[i], x.shape[a]);
    if (!target.changes[a]) {
      ratios.push_back(1);
      continue;
    }
    if (!in || !out) {
      if (policy != "stretch" || n.Int("antialias", 0) != 0) return n.Unsupported("a size of a symbolic extent");
      target.scales[a] = 0;
      continue;
    }
    if (*in == 0) return n.Error("a dimension without elements is resized");
    target.scales[a] = static_cast<double>(static_cast<float>(*out) / static_cast<float>(*in));
    ratios.push_back(static_cast<double>(*out) / static_cast<double>(*in));
  }
  if (policy == "stretch" || ratios.empty()) return target;
  const bool larger = policy == "not_smaller";
  const double ratio =
      larger ? *std::max_element(ratios.begin(), ratios.end()) : *std::min_element(ratios.begin(), ratios.end());
  for (int axis : axes) {
    const size_t a = static_cast<size_t>(axis);
    const auto in = AsInt(x.shape[a]);
    if (!in) return n.Unsupported("a size of a symbolic extent");
    TW_ASSIGN_OR_RETURN(target.shape[a], SizeOf(n, ratio * static_cast<double>(*in) + 0.5));
    target.scales[a] = ratio;
    target.changes[a] = true;
  }
  return target;
}

absl::StatusOr<ResizeTarget> TargetOf(OnnxNode& n, const std::vector<int>& axes, std::optional<size_t> sizes_input,
                                      size_t scales_input) {
  const Item& x = n.In(0);
  ResizeTarget target{
      .shape = x.shape, .scales = std::vector<double>(x.rank(), 1), .changes = std::vector<bool>(x.rank(), false)};
  if (sizes_input) return TargetOfSizes(n, axes, *sizes_input, std::move(target));
  std::vector<double> scales = n.Floats("scales");
  if (scales.empty()) {
    TW_ASSIGN_OR_RETURN(scales, n.Reals(scales_input));
  }
  if (scales.size() != axes.size()) return n.Error(scales.size(), " scales for ", axes.size(), " dimensions");
  for (size_t i = 0; i < axes.size(); ++i) {
    const size_t a = static_cast<size_t>(axes[i]);
    if (!(scales[i] > 0 && scales[i] < 1e6)) return n.Error("a scale of ", scales[i]);
    target.scales[a] = scales[i];
    target.changes[a] = scales[i] != 1;
    if (!target.changes[a]) continue;
    if (const auto in = AsInt(x.shape[a])) {
      const float size = static_cast<float>(*in) * static_cast<float>(scales[i]);
      TW_ASSIGN_OR_RETURN(target.shape[a], SizeOf(n, static_cast<double>(size)));
    } else if (const auto ratio = RatioOf(scales[i])) {
      target.shape[a] = n.emit().Simplify(FloorDiv(x.shape[a] * Extent(ratio->first), Extent(ratio->second)));
    } else {
      return n.Unsupported("a scale of ", scales[i], " of a symbolic extent");
    }
  }
  return target;
}

absl::StatusOr<ops::ResampleOptions> OptionsOf(OnnxNode& n, const std::string& nearest) {
  const std::string mode = n.String("mode", "nearest");
  ops::ResampleOptions options;
  if (mode == "linear" || mode == "bilinear") {
    options.how = ops::Interpolation::kLinear;
  } else if (mode == "cubic") {
    options.how = ops::Interpolation::kCubic;
  } else if (mode != "nearest") {
    return n.Error("the mode is \"", mode, "\"");
  }
  options.nearest = NearestOf(nearest);
  options.cubic_a = n.Float("cubic_coeff_a", -0.75);
  options.exclude_outside = n.Int("exclude_outside", 0) != 0;
  options.antialias = n.Int("antialias", 0) != 0;
  return options;
}

// An image with `extrapolation` where positions lie outside of the one that it was made of, in the dimensions of `all`.
Buffer Cropped(FunctionBuilder& f, const Buffer& y, const std::vector<std::pair<size_t, Transformation>>& all,
               double extrapolation) {
  return f.Compute("crop", y->shape, [&](const std::vector<Symbol>& v) {
    Expr inside = True();
    for (const auto& [d, t] : all) {
      const Expr position = t(CastTo(kF32, v[d]));
      inside = And(inside, And(position >= Real(0), position <= CastTo(kF32, t.in) - Real(1)));
    }
    return Select(inside, y.Load({v.begin(), v.end()}), ops::Convert(y->dtype, Real(extrapolation)));
  });
}

// The dimensions that are resized, or that a crop may cut.
std::vector<size_t> ResizedDimensions(const ResizeTarget& target, const std::vector<int>& axes, bool crops) {
  std::vector<size_t> resized;
  for (size_t d = 0; d < target.changes.size(); ++d) {
    const bool given = std::ranges::find(axes, static_cast<int>(d)) != axes.end();
    if (given && (target.changes[d] || crops)) resized.push_back(d);
  }
  return resized;
}

absl::Status ResizeTo(OnnxNode& n, const ResizeTarget& target, const std::string& transformation,
                      const std::vector<double>& roi, const std::vector<int>& axes) {
  const Item& x = n.In(0);
  const std::string nearest = n.String("nearest_mode", n.opset() < 11 ? "floor" : "round_prefer_floor");
  TW_ASSIGN_OR_RETURN(const ops::ResampleOptions options, OptionsOf(n, nearest));
  const double extrapolation = n.Float("extrapolation_value", 0);
  const bool crops = transformation == "tf_crop_and_resize";
  const std::vector<size_t> resized = ResizedDimensions(target, axes, crops);
  // The extents are a program's, so that bounds can be proven where they are symbolic.
  const auto dimension = [&](size_t d, const Expr& in, const Expr& out) {
    Transformation t{.mode = transformation, .scale = target.scales[d], .in = in, .out = out};
    const auto index = static_cast<size_t>(std::ranges::find(axes, static_cast<int>(d)) - axes.begin());
    if (roi.size() == 2 * axes.size()) {
      t.roi_start = roi[index];
      t.roi_end = roi[axes.size() + index];
    }
    ops::Resampled one{.axis = static_cast<int>(d), .extent = out, .source = t, .scale = target.scales[d]};
    // Before opset 11 the specification does not say which element is the nearest; runtimes take the next one of a
    // smaller image.
    if (n.opset() < 11 && target.scales[d] < 1) one.nearest = NearestOf("ceil");
    if (!crops) one.repeats = RepeatsOf(t, nearest, x.shape[d], target.shape[d]);
    return std::pair(one, t);
  };
  // What each position is made of is the same for all rows: constants where the extents are.
  Items operands = {x};
  std::vector<bool> has_table;
  for (const size_t d : resized) {
    const auto in = AsInt(x.shape[d]), out = AsInt(target.shape[d]);
    has_table.push_back(options.how != ops::Interpolation::kNearest && in && out && *in > 0 && *out > 0);
    if (!has_table.back()) continue;
    TW_ASSIGN_OR_RETURN(const Items table, n.Program("resize_table", {}, [&](ProgramParts& p) {
      const Expr extent(*in);
      const ops::ResampleTable made =
          ops::ResampleTableOf(p.f, dimension(d, extent, Expr(*out)).first, extent, options);
      return Buffers{made.elements, made.weights};
    }));
    operands.insert(operands.end(), table.begin(), table.end());
  }
  return n.Out(n.Program("resize", operands, [&](ProgramParts& p) {
    std::vector<ops::Resampled> dimensions;
    std::vector<std::pair<size_t, Transformation>> all;
    size_t operand = 1;
    for (size_t i = 0; i < resized.size(); ++i) {
      const size_t d = resized[i];
      auto [one, t] = dimension(d, p.in[0]->shape[d], p.local(target.shape[d]));
      if (has_table[i]) {
        one.table = ops::ResampleTable{p.in[operand], p.in[operand + 1]};
        operand += 2;
      }
      dimensions.push_back(std::move(one));
      all.emplace_back(d, std::move(t));
    }
    Buffer y = ops::Resample(p.f, p.in[0], dimensions, options);
    if (!crops) {
      if (y.same_as(p.in[0])) y = ops::Map(p.f, "copy", {y}, [](const Exprs& e) { return e[0]; });
      return Buffers{y};
    }
    return Buffers{Cropped(p.f, y, all, extrapolation)};
  }));
}

absl::Status ImportResize(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 1));
  const Item& x = n.In(0);
  Int64s given(x.rank());
  std::iota(given.begin(), given.end(), 0);
  if (const auto axes = n.Ints("axes"); axes && !axes->empty()) given = *axes;
  std::vector<int> axes;
  for (int64_t axis : given) {
    TW_ASSIGN_OR_RETURN(const int one, n.Axis(axis, x.rank()));
    axes.push_back(one);
  }
  const bool old = n.opset() < 11;
  // An empty tensor of scales stands for none.
  const bool has_sizes = !old && n.Has(3);
  TW_ASSIGN_OR_RETURN(const ResizeTarget target,
                      TargetOf(n, axes, has_sizes ? std::optional<size_t>(3) : std::nullopt, old ? 1 : 2));
  const std::string transformation = n.String("coordinate_transformation_mode", old ? "asymmetric" : "half_pixel");
  std::vector<double> roi;
  if (transformation == "tf_crop_and_resize") {
    TW_ASSIGN_OR_RETURN(roi, n.Reals(1));
    if (roi.size() != 2 * axes.size()) return n.Error("its roi has ", roi.size(), " elements");
  }
  return ResizeTo(n, target, transformation, roi, axes);
}

absl::Status ImportUpsample(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 1));
  std::vector<int> axes(n.In(0).rank());
  std::iota(axes.begin(), axes.end(), 0);
  TW_ASSIGN_OR_RETURN(const ResizeTarget target, TargetOf(n, axes, std::nullopt, 1));
  return ResizeTo(n, target, "asymmetric", {}, axes);
}

}  // namespace

OnnxOperators ResizeOperators() {
  return {
      {"Resize", 10, ImportResize, {.integers = Inputs({3})}},
      {"Upsample", 7, ImportUpsample},
  };
}

}  // namespace tilewright::graph
