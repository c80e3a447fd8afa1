// Convolutions whose windows read where another tensor says.
#include <functional>
#include <string>
#include <vector>

#include "base/status_macros.h"
#include "graph/onnx/node.h"
#include "graph/onnx/operators.h"
#include "ir/ops/scalar_math.h"

namespace tilewright::graph {
namespace {

namespace ops = tilewright::ops;
constexpr DataType kF32 = DataType::Float(32), kI64 = DataType::Int(64);

struct Window {
  int64_t kernel = 1, stride = 1, dilation = 1, before = 0;
};

// Zeros around an image on each side: wherever a sample begins, its four neighbours are there.
constexpr int64_t kBorder = 2;

// The places of samples: what depends on an element of the window and on a group of channels, and is the same for all
// channels of the group.
class Places {
 public:
  Places(ProgramParts& p, const Window (&windows)[2], int64_t groups) : p_(p), windows_(windows), groups_(groups) {}

  // The distance of the sample to the element before it, along dimension d; 0 where it is outside of the image.
  Buffer Rest(size_t d) const {
    return Compute("rest", [&](const At& at) {
      const Expr place = Place(at, d);
      return Select(IsInside(at), place - Floor(place), Const(kF32, 0));
    });
  }
  // The number of the first of the four elements around the sample in the image with its border, row by row.
  Buffer First() const {
    return Compute(
        "first", [&](const At& at) { return Bounded(at, 0) * Columns() + CastTo(Columns().dtype(), Bounded(at, 1)); });
  }
  // Elements of a row with the border.
  Expr Columns() const { return Image()->shape[3] + Const(Image()->shape[3].dtype(), 2 * kBorder); }

 private:
  struct At {
    Symbol b, group, tap, i, j;
  };
  const Buffer& Image() const { return p_.in[0]; }
  static Expr Floor(const Expr& e) { return ops::Unary("floor", e); }

  Buffer Compute(const std::string& name, const std::function<Expr(const At&)>& element) const {
    const Buffer& moved = p_.in[2];
    const int64_t taps = windows_[0].kernel * windows_[1].kernel;
    return p_.f.Compute(
        "deform_" + name, {moved->shape[0], Expr(groups_), Expr(taps), moved->shape[2], moved->shape[3]},
        [&](Symbol b, Symbol group, Symbol tap, Symbol i, Symbol j) { return element({b, group, tap, i, j}); });
  }
  Expr Place(const At& at, size_t d) const {
    const Window& w = windows_[d];
    const auto number = [&](int64_t value) { return Const(at.tap.dtype(), value); };
    const Expr width = number(windows_[1].kernel), taps = number(windows_[0].kernel * windows_[1].kernel);
    const Expr at_tap = d == 0 ? FloorDiv(at.tap, width) : FloorMod(at.tap, width);
    const Expr whole = CastTo(kI64, d == 0 ? at.i : at.j) * Const(kI64, w.stride) +
                       CastTo(kI64, at_tap) * Const(kI64, w.dilation) - Const(kI64, w.before);
    const Expr channel =
        (CastTo(at.tap.dtype(), at.group) * taps + at.tap) * number(2) + number(static_cast<int64_t>(d));
    return CastTo(kF32, whole) + CastTo(kF32, p_.in[2](at.b, channel, at.i, at.j));
  }
  Expr IsInside(const At& at) const {
    Expr inside = True();
    for (size_t d = 0; d < 2; ++d) {
      const Expr place = Place(at, d);
      inside = And(inside, And(place > Const(kF32, -1), place < CastTo(kF32, Image()->shape[2 + d])));
    }
    return inside;
  }
  Expr Bounded(const At& at, size_t d) const {
    const Expr extent = CastTo(kF32, Image()->shape[2 + d]), border = Const(kF32, kBorder);
    return CastTo(Image()->shape[2 + d].dtype(), Max(Min(Floor(Place(at, d)), extent) + border, Const(kF32, 0)));
  }

  ProgramParts& p_;
  const Window (&windows_)[2];
  const int64_t groups_;
};

// An image with channels last and zeros around it, its rows one after the other.
Buffer WithBorder(ProgramParts& p, const Buffer& x, const Expr& columns) {
  const auto number = [&](int64_t value) { return Const(columns.dtype(), value); };
  const Expr rows = CastTo(columns.dtype(), x->shape[2]), zero = number(0);
  const Expr elements = (rows + number(2 * kBorder)) * columns;
  return p.f.Compute("deform_image", {x->shape[0], elements, x->shape[1]}, [&](Symbol b, Symbol at, Symbol c) {
    const Expr row = FloorDiv(at, columns) - number(kBorder), column = FloorMod(at, columns) - number(kBorder);
    const Expr inside =
        And(And(row >= zero, row < rows), And(column >= zero, column < CastTo(columns.dtype(), x->shape[3])));
    return IfThenElse(inside, x(b, c, row, column), Const(x->dtype, 0));
  });
}

// What all windows sample, [batch, positions..., element of the window, channel]: sums of four neighbours by their
// distance.
Buffer Samples(ProgramParts& p, const Window (&windows)[2], int64_t groups, bool has_mask) {
  const Places places(p, windows, groups);
  const Buffer first = places.First(), rows = places.Rest(0), columns = places.Rest(1);
  const Expr width = places.Columns();
  const Buffer image = WithBorder(p, p.in[0], width), &moved = p.in[2];
  const int64_t taps = windows[0].kernel * windows[1].kernel, channels = *AsInt(p.in[0]->shape[1]);
  return p.f.Compute(
      "deform_samples", {moved->shape[0], moved->shape[2], moved->shape[3], Expr(taps), Expr(channels)},
      [&](Symbol b, Symbol i, Symbol j, Symbol tap, Symbol c) {
        const Expr group = FloorDiv(c, Const(c.dtype(), channels / groups));
        const Expr r = rows(b, group, tap, i, j), s = columns(b, group, tap, i, j), one = Const(kF32, 1);
        const Expr last = image->shape[1] - width - Const(width.dtype(), 2), zero = Const(width.dtype(), 0);
        const Expr at = Max(Min(first(b, group, tap, i, j), last), zero);
        const auto neighbour = [&](const Expr& weight, const Expr& distance) {
          return weight * CastTo(kF32, image(b, at + distance, c));
        };
        const Expr sum = neighbour((one - r) * (one - s), zero) + neighbour((one - r) * s, Const(width.dtype(), 1)) +
                         neighbour(r * (one - s), width) + neighbour(r * s, width + Const(width.dtype(), 1));
        return has_mask ? sum * CastTo(kF32, p.in.back()(b, group * Expr(taps) + tap, i, j)) : sum;
      });
}

// Inputs are x, weights, offsets (row and column for each element of a window), a bias, a factor for each element.
absl::Status ImportDeformConv(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 3));
  TW_RETURN_IF_ERROR(n.RequireSameType(0, 5));
  const Item &x = n.In(0), &weight = n.In(1), &offsets = n.In(2);
  if (x.rank() != 4 || weight.rank() != 4 || offsets.rank() != 4) return n.Unsupported("images of another rank than 4");
  const auto extents = ConstantExtents(weight.shape);
  const auto channels = AsInt(x.shape[1]);
  if (!extents || !channels) return n.Unsupported("channels or weights of symbolic extents");
  const int64_t groups = n.Int("group", 1), offset_groups = n.Int("offset_group", 1);
  if (groups < 1 || offset_groups < 1 || *channels % offset_groups != 0 || *channels != (*extents)[1] * groups ||
      (*extents)[0] % groups != 0) {
    return n.Error("its channels do not fit the groups");
  }
  const Int64s strides = n.Ints("strides").value_or(Int64s{1, 1}),
               dilations = n.Ints("dilations").value_or(Int64s{1, 1});
  const Int64s pads = n.Ints("pads").value_or(Int64s(4, 0));
  if (strides.size() != 2 || dilations.size() != 2 || pads.size() != 4)
    return n.Error("strides, dilations or pads of another number");
  Window windows[2];
  Exprs positions;
  for (size_t d = 0; d < 2; ++d) {
    windows[d] = {(*extents)[2 + d], strides[d], dilations[d], pads[d]};
    const Window& w = windows[d];
    if (w.stride < 1 || w.dilation < 1 || w.kernel < 1) return n.Error("a stride, dilation or kernel below 1");
    const Expr padded = x.shape[2 + d] + Extent(pads[d] + pads[2 + d] - w.dilation * (w.kernel - 1) - 1);
    positions.push_back(n.emit().Simplify(FloorDiv(padded, Extent(w.stride)) + Extent(1)));
  }
  const int64_t taps = windows[0].kernel * windows[1].kernel;
  TW_RETURN_IF_ERROR(n.RequireShape(2, {x.shape[0], Extent(offset_groups * taps * 2), positions[0], positions[1]}));
  TW_RETURN_IF_ERROR(n.RequireShape(3, {weight.shape[0]}));
  TW_RETURN_IF_ERROR(n.RequireShape(4, {x.shape[0], Extent(offset_groups * taps), positions[0], positions[1]}));
  const bool has_bias = n.Has(3), has_mask = n.Has(4);
  const int64_t of_group = (*extents)[1], filters = (*extents)[0] / groups;
  Items operands = {x, weight, offsets};
  if (has_mask) operands.push_back(n.In(4));
  TW_ASSIGN_OR_RETURN(const Items sums, n.Program("deform_conv", operands, [&](ProgramParts& p) {
    const Buffer samples = Samples(p, windows, offset_groups, has_mask), &w = p.in[1];
    tilewright::ReduceAxis tap("tap", Expr(taps)), c("c", Expr(of_group));
    const std::vector<Expr> shape = {samples->shape[0], samples->shape[1], samples->shape[2], w->shape[0]};
    return Buffers{p.f.Compute("deform_conv", shape, [&](Symbol b, Symbol i, Symbol j, Symbol filter) {
      const Expr channel = FloorDiv(filter, Expr(filters)) * Expr(of_group) + c;
      const Expr width = Const(tap.dtype(), windows[1].kernel);
      const Expr factor = w(filter, c, FloorDiv(tap, width), FloorMod(tap, width));
      return tilewright::Sum(samples(b, i, j, tap, channel) * CastTo(kF32, factor), {tap, c});
    })};
  }));
  Items in = sums;
  if (has_bias) in.push_back(n.In(3));
  return n.Out(n.Program("deform_output", in, [&](ProgramParts& p) {
    const Buffer& sum = p.in[0];
    const std::vector<Expr> shape = {sum->shape[0], sum->shape[3], sum->shape[1], sum->shape[2]};
    return Buffers{p.f.Compute("deform_output", shape, [&](Symbol b, Symbol filter, Symbol i, Symbol j) {
      const Expr value = sum(b, i, j, filter);
      return CastTo(x.dtype, has_bias ? value + CastTo(kF32, p.in[1](filter)) : value);
    })};
  }));
}

}  // namespace

OnnxOperators DeformOperators() { return {{"DeformConv", 19, ImportDeformConv, {.elements = Elements::kFloats}}}; }

}  // namespace tilewright::graph
