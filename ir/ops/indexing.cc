#include "ir/ops/indexing.h"

#include "base/check.h"
#include "ir/arith/analyzer.h"
#include "ir/ops/scalar_math.h"

namespace tilewright::ops {
namespace {

Buffer InType(FunctionBuilder& f, const std::string& name, const Buffer& x, DataType type) {
  return Map(f, name, {x}, [&](const std::vector<Expr>& e) { return CastTo(type, e[0]); });
}

// The type in which updates are combined: sums and products of narrow floats are rounded once.
DataType CombiningType(ScatterMode mode, DataType type) {
  const bool accumulates = mode == ScatterMode::kAdd || mode == ScatterMode::kMultiply;
  return accumulates && type.is_float() && type.bits() < 32 ? DataType::Float(32) : type;
}

Expr Combine(ScatterMode mode, const Expr& old, const Expr& update) {
  switch (mode) {
    case ScatterMode::kStore:
      return update;
    case ScatterMode::kAdd:
      return old + update;
    case ScatterMode::kMultiply:
      return old * update;
    case ScatterMode::kMax:
      return Larger(old, update);
    case ScatterMode::kMin:
      return Smaller(old, update);
  }
  return update;
}

int64_t LastExtent(const Buffer& indices) {
  const auto extent = AsInt(indices->shape.back());
  TW_CHECK(extent.has_value()) << "the last extent of indices is a constant";
  return *extent;
}

// Runs `store` for every element of a domain, in order: two may store to one place.
void InOrder(FunctionBuilder& f, const std::string& name, const std::vector<Expr>& shape, const Buffer& target,
             const std::function<void(const Indices&)>& store) {
  f.Grid(shape, [&](const std::vector<Var>& loops) {
    f.Block(name, [&](BlockBuilder& block) {
      Indices at;
      for (size_t i = 0; i < loops.size(); ++i) at.push_back(block.Opaque(shape[i], loops[i]));
      store(at);
      block.Writes({BufferRegion::Full(target)});
    });
  });
}

}  // namespace

Expr WrapIndex(const Expr& index, const Expr& extent) {
  const DataType i64 = DataType::Int(64);
  const Expr wide = CastTo(i64, index), n = CastTo(i64, extent);
  const Expr zero = Const(i64, 0);
  const Expr wrapped = Select(wide < zero, wide + n, wide);
  return CastTo(extent.dtype(), Max(Min(wrapped, n - Const(i64, 1)), zero));
}

Buffer Gather(FunctionBuilder& f, const Buffer& x, const Buffer& indices, int axis) {
  const size_t a = static_cast<size_t>(axis), count = indices->ndim();
  std::vector<Expr> shape(x->shape.begin(), x->shape.begin() + axis);
  shape.insert(shape.end(), indices->shape.begin(), indices->shape.end());
  shape.insert(shape.end(), x->shape.begin() + axis + 1, x->shape.end());
  return f.Compute("gather", shape, [&](const std::vector<Var>& v) {
    const auto begin = v.begin() + axis, end = begin + static_cast<std::ptrdiff_t>(count);
    Indices at(v.begin(), begin);
    at.push_back(WrapIndex(indices.Load({begin, end}), x->shape[a]));
    at.insert(at.end(), end, v.end());
    return x.Load(at);
  });
}

Buffer GatherElements(FunctionBuilder& f, const Buffer& x, const Buffer& indices, int axis) {
  const size_t a = static_cast<size_t>(axis);
  return f.Compute("gather_elements", indices->shape, [&](const std::vector<Var>& v) {
    Indices at(v.begin(), v.end());
    at[a] = WrapIndex(indices.Load({v.begin(), v.end()}), x->shape[a]);
    return x.Load(at);
  });
}

Buffer GatherNd(FunctionBuilder& f, const Buffer& x, const Buffer& indices, int batch) {
  const int64_t named = LastExtent(indices);
  const size_t outer = indices->ndim() - 1, first = static_cast<size_t>(batch),
               rest = first + static_cast<size_t>(named);
  std::vector<Expr> shape(indices->shape.begin(), indices->shape.end() - 1);
  shape.insert(shape.end(), x->shape.begin() + static_cast<std::ptrdiff_t>(rest), x->shape.end());
  return f.Compute("gather_nd", shape, [&](const std::vector<Var>& v) {
    const auto slice = v.begin() + static_cast<std::ptrdiff_t>(outer);
    Indices at(v.begin(), v.begin() + batch);
    for (int64_t i = 0; i < named; ++i) {
      Indices where(v.begin(), slice);
      where.emplace_back(i);
      at.push_back(WrapIndex(indices.Load(where), x->shape[first + static_cast<size_t>(i)]));
    }
    at.insert(at.end(), slice, v.end());
    return x.Load(at);
  });
}

Buffer ScatterElements(FunctionBuilder& f, const Buffer& x, const Buffer& indices, const Buffer& updates, int axis,
                       ScatterMode mode) {
  const size_t a = static_cast<size_t>(axis);
  const DataType type = CombiningType(mode, x->dtype);
  Buffer y = InType(f, "scattered", x, type);
  InOrder(f, "scatter", indices->shape, y, [&](const Indices& at) {
    Indices target = at;
    target[a] = WrapIndex(indices.Load(at), x->shape[a]);
    f.Store(y, Combine(mode, y.Load(target), CastTo(type, updates.Load(at))), target);
  });
  return type == x->dtype ? y : InType(f, "rounded", y, x->dtype);
}

Buffer ScatterNd(FunctionBuilder& f, const Buffer& x, const Buffer& indices, const Buffer& updates, ScatterMode mode) {
  const int64_t named = LastExtent(indices);
  const std::ptrdiff_t outer = static_cast<std::ptrdiff_t>(indices->ndim()) - 1;
  const DataType type = CombiningType(mode, x->dtype);
  Buffer y = InType(f, "scattered", x, type);
  InOrder(f, "scatter_nd", updates->shape, y, [&](const Indices& at) {
    Indices target;
    for (int64_t i = 0; i < named; ++i) {
      Indices where(at.begin(), at.begin() + outer);
      where.emplace_back(i);
      target.push_back(WrapIndex(indices.Load(where), x->shape[static_cast<size_t>(i)]));
    }
    target.insert(target.end(), at.begin() + outer, at.end());
    f.Store(y, Combine(mode, y.Load(target), CastTo(type, updates.Load(at))), target);
  });
  return type == x->dtype ? y : InType(f, "rounded", y, x->dtype);
}

Buffer OneHot(FunctionBuilder& f, const Buffer& indices, const Expr& depth, const Buffer& values, int axis) {
  std::vector<Expr> shape = indices->shape;
  shape.insert(shape.begin() + axis, depth);
  const DataType i64 = DataType::Int(64);
  return f.Compute("one_hot", shape, [&](const std::vector<Var>& v) {
    Indices at(v.begin(), v.end());
    const Expr place = CastTo(i64, at[static_cast<size_t>(axis)]);
    at.erase(at.begin() + axis);
    const Expr raw = Convert(i64, indices.Load(at));
    const Expr wanted = Select(raw < Const(i64, 0), raw + CastTo(i64, depth), raw);
    return Select(wanted == place, values(1), values(0));
  });
}

}  // namespace tilewright::ops
