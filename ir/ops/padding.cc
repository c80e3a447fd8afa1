#include "ir/ops/padding.h"

#include "base/check.h"

namespace tilewright::ops {
namespace {

Expr Shift(const Expr& e, int64_t by) {
  if (by == 0) return e;
  if (auto value = AsInt(e)) return Const(e.dtype(), *value + by);
  return by < 0 ? e - Const(e.dtype(), -by) : e + Const(e.dtype(), by);
}

Expr Scale(const Expr& e, int64_t by) { return by == 1 ? e : e * Const(e.dtype(), by); }

}  // namespace

Expr WindowCount(const Expr& extent, const Window& window) {
  Expr span = Shift(extent, 2 * window.padding - window.dilation * (window.kernel - 1) - 1);
  if (auto value = AsInt(span)) {
    TW_CHECK(*value >= 0) << "the window does not fit into " << *AsInt(extent) << " elements";
    return Const(extent.dtype(), *value / window.stride + 1);
  }
  return Shift(window.stride == 1 ? span : FloorDiv(span, Const(span.dtype(), window.stride)), 1);
}

Expr WindowIndex(const Var& position, const Var& offset, const Window& window) {
  return Scale(position, window.stride) + Scale(offset, window.dilation);
}

Buffer Pad(FunctionBuilder& f, const Buffer& buffer, const std::vector<int64_t>& before,
           const std::vector<int64_t>& after, const Expr& fill, const std::string& name) {
  std::vector<Expr> shape;
  bool changes = false;
  for (size_t i = 0; i < buffer->ndim(); ++i) {
    shape.push_back(Shift(buffer->shape[i], before[i] + after[i]));
    changes |= before[i] != 0 || after[i] != 0;
  }
  if (!changes) return buffer;
  return f.Compute(name, shape, [&](const std::vector<Var>& v) {
    Expr inside;
    std::vector<Expr> indices;
    const auto require = [&](Expr condition) { inside = inside ? And(inside, condition) : condition; };
    for (size_t i = 0; i < v.size(); ++i) {
      if (before[i] > 0) require(Const(v[i].dtype(), before[i]) <= v[i]);
      if (after[i] > 0) require(v[i] < Shift(buffer->shape[i], before[i]));
      indices.push_back(Shift(v[i], -before[i]));
    }
    return IfThenElse(inside, buffer.Load(indices), fill);
  });
}

}  // namespace tilewright::ops
