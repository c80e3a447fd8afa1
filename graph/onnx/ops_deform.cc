// Convolutions whose windows read where another tensor says.
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

// The element of an image at a real place: of its four neighbours by their distance; 0 is around the image.
Expr Interpolated(const Buffer& x, const Expr& batch, const Expr& channel, const Expr& row, const Expr& column) {
  Expr sum = Const(kF32, 0);
  const auto floor = [](const Expr& e) { return ops::Unary("floor", e); };
  const Expr r = floor(row), c = floor(column), one = Const(kF32, 1);
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) {
      const Expr y = i == 0 ? r : r + one, z = j == 0 ? c : c + one;
      const Expr weight = (i == 0 ? one - (row - r) : row - r) * (j == 0 ? one - (column - c) : column - c);
      const Expr rows = CastTo(kF32, x->shape[2]), columns = CastTo(kF32, x->shape[3]), zero = Const(kF32, 0);
      const Expr inside = And(And(y >= zero, y < rows), And(z >= zero, z < columns));
      const auto index = [&](const Expr& e, const Expr& extent, size_t d) {
        return CastTo(x->shape[d].dtype(), Max(Min(e, extent - one), zero));
      };
      const Expr value = CastTo(kF32, x(batch, channel, index(y, rows, 2), index(z, columns, 3)));
      sum = sum + Select(inside, weight * value, zero);
    }
  }
  return sum;
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
  const int64_t of_group = (*extents)[1], filters = (*extents)[0] / groups, sharing = *channels / offset_groups;
  return n.Out(n.Program("deform_conv", n.in(), [&](ProgramParts& p) {
    const Buffer &in = p.in[0], &w = p.in[1], &moved = p.in[2];
    const Buffer bias = has_bias ? p.in[3] : Buffer(), mask = has_mask ? p.in.back() : Buffer();
    const std::vector<Expr> image = {moved->shape[2], moved->shape[3]};
    Buffer columns = p.f.Compute(
        "deform_columns", {in->shape[0], Expr(*channels), Expr(taps), image[0], image[1]},
        [&](Symbol b, Symbol c, Symbol tap, Symbol i, Symbol j) {
          const auto number = [&](int64_t value) { return Const(tap.dtype(), value); };
          const Expr first = offset_groups == 1 ? tap : FloorDiv(c, Const(c.dtype(), sharing)) * number(taps) + tap;
          const auto place = [&](size_t d, const Expr& output, const Expr& at_tap) {
            const Expr whole = CastTo(kI64, output) * Const(kI64, windows[d].stride) +
                               CastTo(kI64, at_tap) * Const(kI64, windows[d].dilation) - Const(kI64, windows[d].before);
            return CastTo(kF32, whole) +
                   CastTo(kF32, moved(b, first * number(2) + number(static_cast<int64_t>(d)), i, j));
          };
          const Expr width = number(windows[1].kernel);
          const Expr value =
              Interpolated(in, b, c, place(0, i, FloorDiv(tap, width)), place(1, j, FloorMod(tap, width)));
          return mask ? value * CastTo(kF32, mask(b, first, i, j)) : value;
        });
    tilewright::ReduceAxis c("c", Expr(of_group)), tap("tap", Expr(taps));
    const std::vector<Expr> shape = {in->shape[0], w->shape[0], image[0], image[1]};
    Buffer sums = p.f.Compute("deform_conv", shape, [&](Symbol b, Symbol filter, Symbol i, Symbol j) {
      const Expr channel = FloorDiv(filter, Expr(filters)) * Expr(of_group) + c;
      const Expr width = Const(tap.dtype(), windows[1].kernel);
      const Expr factor = w(filter, c, FloorDiv(tap, width), FloorMod(tap, width));
      return tilewright::Sum(columns(b, channel, tap, i, j) * CastTo(kF32, factor), {c, tap});
    });
    if (!bias && x.dtype == kF32) return Buffers{sums};
    return Buffers{p.f.Compute("bias_add", shape, [&](Symbol b, Symbol filter, Symbol i, Symbol j) {
      const Expr sum = sums(b, filter, i, j);
      return CastTo(x.dtype, bias ? sum + CastTo(kF32, bias(filter)) : sum);
    })};
  }));
}

}  // namespace

OnnxOperators DeformOperators() { return {{"DeformConv", 19, ImportDeformConv, {.elements = Elements::kFloats}}}; }

}  // namespace tilewright::graph
