// Sampling of images at computed places.
#include "base/status_macros.h"
#include "graph/onnx/node.h"
#include "graph/onnx/operators.h"
#include "ir/arith/analyzer.h"
#include "ir/ops/resample.h"
#include "ir/ops/scalar_math.h"

namespace tilewright::graph {
namespace {

namespace ops = tilewright::ops;
using ops::Indices;

// Positions and sums are f64 for elements of f64, otherwise f32.
DataType RealOf(DataType type) { return DataType::Float(type.is_float() && type.bits() == 64 ? 64 : 32); }

Expr Fun(const char* name, const Expr& x) { return tilewright::Call(x.dtype(), name, {x}); }
Expr Real(const Expr& like, double value) { return ConstFloat(like.dtype(), value); }
Expr Last(const Expr& extent, const Expr& like) { return CastTo(like.dtype(), extent) - Real(like, 1); }
// A whole real number as an index inside of `extent`.
Expr Inside(const Expr& at, const Expr& extent) {
  return CastTo(extent.dtype(), Max(Min(at, Last(extent, at)), Real(at, 0)));
}

// --- GridSample: x [n, c, spatial...] at the places of grid [n, positions..., dims], which lie in [-1, 1]. The last
// number of a place is that of the first spatial dimension.
struct Sampler {
  Buffer x;
  ops::Interpolation how;
  std::string padding;
  bool align = false;

  const Expr& Extent(size_t d) const { return x->shape[2 + d]; }
  size_t dims() const { return x->ndim() - 2; }

  Expr Unnormalize(const Expr& g, const Expr& extent) const {
    const Expr one = Real(g, 1), two = Real(g, 2), n = CastTo(g.dtype(), extent);
    return align ? Div((g + one) * (n - one), two) : Div((g + one) * n - one, two);
  }
  // A position outside of the image mirrored into it.
  Expr Reflect(const Expr& at, const Expr& extent) const {
    const Expr half = Real(at, 0.5), last = Last(extent, at);
    const Expr low = align ? Real(at, 0) : Real(at, -0.5), high = align ? last : last + half;
    const Expr range = Max(high - low, Real(at, 1e-6));
    const Expr distance = Fun("abs", at - low);
    const Expr turns = Fun("floor", Div(distance, range)), rest = distance - turns * range;
    const Expr odd = turns - Real(at, 2) * Fun("floor", turns * half) > half;
    return Select(odd, high - rest, low + rest);
  }
  // The position that is interpolated at.
  Expr Bound(const Expr& at, const Expr& extent) const {
    if (how == ops::Interpolation::kCubic || padding == "zeros") return at;
    if (padding == "reflection") return Reflect(at, extent);
    return Max(Min(at, Last(extent, at)), Real(at, 0));
  }
  // The element at a whole position, as the padding mode reads it.
  Expr Load(const Indices& outer, const Exprs& at) const {
    Indices index = outer;
    Expr inside = True();
    for (size_t d = 0; d < dims(); ++d) {
      const Expr bound = padding == "reflection" ? Reflect(at[d], Extent(d)) : at[d];
      index.push_back(Inside(Fun("nearbyint", bound), Extent(d)));
      inside = And(inside, And(at[d] >= Real(at[d], 0), at[d] <= Last(Extent(d), at[d])));
    }
    const Expr value = CastTo(at[0].dtype(), x.Load(index));
    return padding == "zeros" ? Select(inside, value, Real(value, 0)) : value;
  }
  // The weighted sum over the dimensions from `whole.size()` on; before them the element at `whole`.
  Expr Interpolate(const Indices& outer, const Exprs& places, const Exprs& whole) const {
    const size_t d = whole.size();
    if (d == dims()) return Load(outer, whole);
    const bool cubic = how == ops::Interpolation::kCubic;
    const Expr floor = Fun("floor", places[d]);
    Expr sum;
    for (int tap = cubic ? -1 : 0; tap <= (cubic ? 2 : 1); ++tap) {
      Exprs next = whole;
      next.push_back(floor + Real(floor, tap));
      const Expr distance = places[d] - next.back();
      const Expr weight = cubic ? ops::CubicWeight(distance, -0.75) : Real(distance, 1) - Fun("abs", distance);
      const Expr term = Interpolate(outer, places, next) * weight;
      sum = sum ? sum + term : term;
    }
    return sum;
  }
  // `places` are those of the grid, one for each spatial dimension.
  Expr At(const Indices& outer, Exprs places) const {
    for (size_t d = 0; d < dims(); ++d) places[d] = Bound(Unnormalize(places[d], Extent(d)), Extent(d));
    if (how != ops::Interpolation::kNearest) return Interpolate(outer, places, {});
    for (Expr& place : places) place = Fun("nearbyint", place);
    return Load(outer, places);
  }
};

absl::StatusOr<ops::Interpolation> InterpolationOf(OnnxNode& n) {
  const std::string mode = n.String("mode", "linear");
  if (mode == "linear" || mode == "bilinear") return ops::Interpolation::kLinear;
  if (mode == "cubic" || mode == "bicubic") return ops::Interpolation::kCubic;
  if (mode == "nearest") return ops::Interpolation::kNearest;
  return n.Error("the mode is \"", mode, "\"");
}

absl::Status ImportGridSample(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 2));
  const Item &x = n.In(0), &grid = n.In(1);
  if (x.rank() < 3 || x.rank() != grid.rank()) return n.Error("operands of ranks ", x.rank(), " and ", grid.rank());
  if (!grid.dtype.is_float()) return n.Error("its grid is ", grid.dtype.ToString(), ", not of floats");
  const size_t dims = x.rank() - 2;
  Exprs grid_shape = grid.shape;
  grid_shape.front() = x.shape[0];
  grid_shape.back() = Extent(static_cast<int64_t>(dims));
  TW_RETURN_IF_ERROR(n.RequireShape(1, grid_shape));
  TW_ASSIGN_OR_RETURN(const ops::Interpolation how, InterpolationOf(n));
  const std::string padding = n.String("padding_mode", "zeros");
  if (padding != "zeros" && padding != "border" && padding != "reflection") {
    return n.Error("the padding_mode is \"", padding, "\"");
  }
  const DataType type = x.dtype;
  return n.Out(n.Program("grid_sample", n.in(), [&](ProgramParts& p) {
    const Sampler sampler{.x = p.in[0], .how = how, .padding = padding, .align = n.Int("align_corners", 0) != 0};
    const Buffer& places = p.in[1];
    Exprs shape = {p.in[0]->shape[0], p.in[0]->shape[1]};
    shape.insert(shape.end(), places->shape.begin() + 1, places->shape.end() - 1);
    return Buffers{p.f.Compute("grid_sample", shape, [&](const std::vector<Symbol>& v) {
      Indices at = {v[0]};
      at.insert(at.end(), v.begin() + 2, v.end());
      at.emplace_back();
      Exprs place;
      for (size_t d = 0; d < dims; ++d) {
        at.back() = Expr(static_cast<int64_t>(dims - 1 - d));
        place.push_back(CastTo(RealOf(type), places.Load(at)));
      }
      return ops::Convert(type, sampler.At({v[0], v[1]}, place));
    })};
  }));
}

// --- AffineGrid: the places that the matrices theta [n, dims, dims + 1] give the elements of an image, as GridSample
// takes them. An extent of one lies at 0 where corners are aligned.
absl::Status ImportAffineGrid(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 2));
  TW_RETURN_IF_ERROR(n.RequireFloat());
  TW_ASSIGN_OR_RETURN(const Exprs size, n.Values(1));
  if (size.size() != 4 && size.size() != 5) return n.Error("its size has ", size.size(), " elements");
  const size_t dims = size.size() - 2;
  TW_RETURN_IF_ERROR(
      n.RequireShape(0, {size[0], Extent(static_cast<int64_t>(dims)), Extent(static_cast<int64_t>(dims) + 1)}));
  const bool align = n.Int("align_corners", 0) != 0;
  const DataType type = n.In(0).dtype, real = RealOf(type);
  return n.Out(n.Program("affine_grid", {n.In(0)}, [&](ProgramParts& p) {
    const Buffer& theta = p.in[0];
    Exprs shape = {theta->shape[0]};
    for (size_t d = 0; d < dims; ++d) shape.push_back(p.local(size[2 + d]));
    shape.emplace_back(static_cast<int64_t>(dims));
    const auto place = [&](const Expr& at, const Expr& extent) {
      const Expr i = CastTo(real, at), m = CastTo(real, extent), one = Real(i, 1), two = Real(i, 2);
      if (!align) return Div(two * i + one, m) - one;
      return Select(m > one, Div(two * i, Max(m - one, one)) - one, Real(i, 0));
    };
    return Buffers{p.f.Compute("affine_grid", shape, [&](const std::vector<Symbol>& v) {
      const auto element = [&](size_t column) {
        return CastTo(real, theta.Load({v[0], v.back(), Expr(static_cast<int64_t>(column))}));
      };
      Expr sum = element(dims);
      for (size_t d = 0; d < dims; ++d) sum = sum + element(dims - 1 - d) * place(v[1 + d], shape[1 + d]);
      return CastTo(type, sum);
    })};
  }));
}

// --- RoiAlign: means (or maxima) of samples of x in the cells of each region. Dimension 0 is the height, 1 the width.
struct Regions {
  double spatial_scale = 1;
  bool half_pixel = true;
  int64_t cells[2] = {1, 1};
  DataType real;

  // The start of region r, and the extent of one of its cells.
  Expr Start(const Buffer& rois, const Expr& r, int d) const { return Corner(rois, r, 1 - d); }
  Expr Cell(const Buffer& rois, const Expr& r, int d) const {
    const Expr size = Corner(rois, r, 3 - d) - Corner(rois, r, 1 - d);
    const Expr least = half_pixel ? size : Max(size, Real(size, 1));
    return Div(least, Real(size, static_cast<double>(cells[d])));
  }

 private:
  Expr Corner(const Buffer& rois, const Expr& r, int which) const {
    const Expr given = CastTo(real, rois(r, Expr(which)));
    return given * Real(given, spatial_scale) - Real(given, half_pixel ? 0.5 : 0);
  }
};

// The mean of the four elements around a place, by distance; or (`largest`) the largest of the weighted four. Places of
// more than one element outside of the image give 0.
Expr SampleAt(const Buffer& x, const Expr& b, const Expr& c, const Expr (&place)[2], bool largest) {
  const Expr zero = Real(place[0], 0), one = Real(place[0], 1);
  Expr outside = Not(True()), near[2], index[2][2];
  for (int d = 0; d < 2; ++d) {
    const Expr extent = x->shape[static_cast<size_t>(2 + d)];
    outside = Or(outside, Or(place[d]<Real(zero, -1), place[d]> CastTo(zero.dtype(), extent)));
    const Expr inside = Min(Max(place[d], zero), Last(extent, zero)), floor = Fun("floor", inside);
    index[d][0] = Inside(floor, extent);
    index[d][1] = Inside(floor + one, extent);
    near[d] = inside - floor;
  }
  Expr sum;
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) {
      const Expr element = CastTo(zero.dtype(), x(b, c, index[0][i], index[1][j]));
      const Expr term = element * (i == 0 ? one - near[0] : near[0]) * (j == 0 ? one - near[1] : near[1]);
      sum = !sum ? term : largest ? Max(sum, term) : sum + term;
    }
  }
  return Select(outside, zero, sum);
}

// How many samples the cells of each region have in each dimension (int64 [regions, 2]), and the most of all regions.
absl::StatusOr<Items> SampleCounts(OnnxNode& n, const Regions& regions) {
  const DataType i64 = DataType::Int(64);
  return n.Program("roi_sample_counts", {n.In(1)}, [&](ProgramParts& p) {
    const Buffer& rois = p.in[0];
    Buffer counts = p.f.Compute("roi_counts", {rois->shape[0], Expr(2)}, [&](Symbol r, Symbol d) {
      const Expr size = Select(d == Const(d.dtype(), 0), regions.Cell(rois, r, 0), regions.Cell(rois, r, 1));
      return Max(ops::Convert(i64, Fun("ceil", size)), Const(i64, 0));
    });
    tilewright::ReduceAxis r("r", rois->shape[0]);
    Buffer most = p.f.Compute("roi_most", {Expr(2)}, [&](Symbol d) { return tilewright::MaxOver(counts(r, d), r); });
    return Buffers{counts,
                   ops::Map(p.f, "roi_extents", {most}, [&](const Exprs& e) { return Max(e[0], Const(i64, 0)); })};
  });
}

absl::Status ImportRoiAlign(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 3));
  if (n.In(0).rank() != 4 || n.In(1).rank() != 2 || n.In(2).rank() != 1) return n.Error("operands of other ranks");
  TW_RETURN_IF_ERROR(n.RequireShape(1, {n.In(2).shape[0], Extent(4)}));
  const int64_t height = n.Int("output_height", 1), width = n.Int("output_width", 1);
  const int64_t ratio = n.Int("sampling_ratio", 0);
  if (height < 1 || width < 1) return n.Error("an output without elements");
  if (ratio < 0) return n.Error("sampling_ratio is ", ratio);
  const std::string transformation =
      n.String("coordinate_transformation_mode", n.opset() < 16 ? "output_half_pixel" : "half_pixel");
  const DataType type = n.In(0).dtype;
  const Regions regions{.spatial_scale = n.Float("spatial_scale", 1),
                        .half_pixel = transformation == "half_pixel",
                        .cells = {height, width},
                        .real = RealOf(type)};
  const bool largest = n.String("mode", "avg") == "max";
  Items inputs = {n.In(0), n.In(1), n.In(2)};
  Exprs samples = {Extent(ratio), Extent(ratio)};
  if (ratio == 0) {
    // Each region has its own numbers of samples; loops run to the most.
    TW_ASSIGN_OR_RETURN(const Items counts, SampleCounts(n, regions));
    TW_ASSIGN_OR_RETURN(const Items most, n.emit().Operator("host.read_values", {counts[1].value}));
    inputs.push_back(counts[0]);
    samples = *most[0].values;
  }
  return n.Out(n.Program("roi_align", inputs, [&](ProgramParts& p) {
    const Buffer &x = p.in[0], &rois = p.in[1], &batch = p.in[2];
    const auto count = [&](const Expr& r, int d) {
      return ratio == 0 ? p.in[3](r, Expr(d)) : Const(DataType::Int(64), ratio);
    };
    const tilewright::ReduceAxis k[2] = {{"ky", p.local(samples[0])}, {"kx", p.local(samples[1])}};
    const auto sample = [&](const Expr& r, const Expr& c, const Expr(&cell)[2]) {
      Expr place[2], counts = True();
      for (int d = 0; d < 2; ++d) {
        const Expr extent = regions.Cell(rois, r, d);
        const Expr step = Div(CastTo(regions.real, k[d]) + Real(extent, 0.5), CastTo(regions.real, count(r, d)));
        place[d] = regions.Start(rois, r, d) + CastTo(regions.real, cell[d]) * extent + step * extent;
        if (ratio == 0) counts = And(counts, CastTo(DataType::Int(64), k[d]) < count(r, d));
      }
      const Expr last = CastTo(batch->dtype, x->shape[0]) - Const(batch->dtype, 1);
      const Expr image = CastTo(x->shape[0].dtype(), Max(Min(batch(r), last), Const(batch->dtype, 0)));
      const Expr value = SampleAt(x, image, c, place, largest);
      return ratio == 0 ? Select(counts, value, largest ? LeastValue(regions.real) : Real(value, 0)) : value;
    };
    const Exprs shape = {rois->shape[0], x->shape[1], Expr(height), Expr(width)};
    Buffer folded = p.f.Compute("roi_samples", shape, [&](Symbol r, Symbol c, Symbol i, Symbol j) {
      const Expr value = sample(r, c, {i, j});
      return largest ? tilewright::MaxOver(value, {k[0], k[1]}) : tilewright::Sum(value, {k[0], k[1]});
    });
    return Buffers{p.f.Compute("roi_align", shape, [&](Symbol r, Symbol c, Symbol i, Symbol j) {
      const Expr value = folded(r, c, i, j);
      if (ratio > 0) return CastTo(type, largest ? value : Div(value, Real(value, static_cast<double>(ratio * ratio))));
      const Expr all = count(r, 0) * count(r, 1), one = Const(all.dtype(), 1);
      return CastTo(
          type, largest ? Select(all < one, Real(value, 0), value) : Div(value, CastTo(regions.real, Max(all, one))));
    })};
  }));
}

}  // namespace

OnnxOperators SamplingOperators() {
  return {
      {"AffineGrid", 20, ImportAffineGrid, {.elements = Elements::kFloats, .integers = Inputs({1})}},
      {"GridSample", 16, ImportGridSample},
      {"GridSample", 1, ImportGridSample, {}, kMicrosoft},
      {"RoiAlign", 10, ImportRoiAlign, {.integers = Inputs({2})}},
  };
}

}  // namespace tilewright::graph
