#include "ir/ops/reduction.h"

#include <algorithm>

#include "ir/ops/scalar_math.h"

namespace tilewright::ops {
namespace {

// Narrow floats are summed in f32.
DataType SumType(DataType type) { return type.is_float() && type.bits() < 32 ? DataType::Float(32) : type; }

Expr AddTo(Expr a, Expr b) { return std::move(a) + std::move(b); }
Expr MultiplyBy(Expr a, Expr b) { return std::move(a) * std::move(b); }
Expr LargerOf(Expr a, Expr b) { return Larger(a, b); }
Expr SmallerOf(Expr a, Expr b) { return Smaller(a, b); }
Expr LargerNumber(Expr a, Expr b) { return Max(std::move(a), std::move(b)); }

ComputeBody Fold(Reduction reduction, const Expr& value, std::vector<ReduceAxis> axes) {
  const DataType type = value.dtype();
  switch (reduction) {
    case Reduction::kSum:
      return {value, std::move(axes), Const(type, 0), AddTo};
    case Reduction::kProduct:
      return {value, std::move(axes), Const(type, 1), MultiplyBy};
    case Reduction::kMax:
      return {value, std::move(axes), Lowest(type), LargerOf};
    case Reduction::kMin:
      return {value, std::move(axes), Highest(type), SmallerOf};
    case Reduction::kMaxNumber:
      return {value, std::move(axes), Lowest(type), LargerNumber};
  }
  return {value};
}

}  // namespace

Buffer ReduceElements(FunctionBuilder& f, const std::string& name, Reduction reduction, const std::vector<Expr>& shape,
                      const std::vector<int>& axes, bool keep, const ElementAt& element) {
  std::vector<Expr> extents;
  std::vector<ReduceAxis> reduced;
  std::vector<bool> is_reduced(shape.size(), false);
  for (int axis : axes) is_reduced[static_cast<size_t>(axis)] = true;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (is_reduced[i]) reduced.emplace_back("k" + std::to_string(i), shape[i]);
    if (!is_reduced[i]) extents.push_back(shape[i]);
    if (is_reduced[i] && keep) extents.emplace_back(1);
  }
  return f.Compute(name, extents, [&](const std::vector<Var>& v) -> ComputeBody {
    Indices at;
    size_t next = 0, next_reduced = 0;
    for (size_t i = 0; i < shape.size(); ++i) {
      if (is_reduced[i]) {
        at.push_back(reduced[next_reduced++]);
        if (keep) ++next;
      } else {
        at.push_back(v[next++]);
      }
    }
    Expr value = element(at);
    if (reduced.empty()) return value;
    // A loop without iterations would not store the identity either.
    for (const ReduceAxis& axis : reduced) {
      if (IsInt(axis.extent(), 0)) return Fold(reduction, value, {}).identity;
    }
    return Fold(reduction, value, reduced);
  });
}

Buffer Reduce(FunctionBuilder& f, const std::string& name, Reduction reduction, const Buffer& x,
              const std::vector<int>& axes, bool keep) {
  return ReduceElements(f, name, reduction, x->shape, axes, keep, [&](const Indices& at) { return x.Load(at); });
}

Expr CountOf(const std::vector<Expr>& shape, const std::vector<int>& axes, DataType dtype) {
  int64_t constant = 1;
  Expr symbolic;
  for (int axis : axes) {
    const Expr& extent = shape[static_cast<size_t>(axis)];
    if (const auto value = AsInt(extent)) {
      constant *= *value;
    } else {
      const Expr factor = CastTo(dtype, extent);
      symbolic = symbolic ? symbolic * factor : factor;
    }
  }
  const Expr count = Const(dtype, constant);
  return symbolic ? symbolic * count : count;
}

Buffer Mean(FunctionBuilder& f, const std::string& name, const Buffer& x, const std::vector<int>& axes, bool keep) {
  const DataType type = x->dtype, wide = SumType(type);
  Buffer sum = ReduceElements(f, name + "_sum", Reduction::kSum, x->shape, axes, keep,
                              [&](const Indices& at) { return CastTo(wide, x.Load(at)); });
  const Expr count = CountOf(x->shape, axes, wide);
  return Map(f, name, {sum}, [&](const std::vector<Expr>& e) {
    return CastTo(type, type.is_float() ? Div(e[0], count) : IntegerQuotient(e[0], count));
  });
}

Buffer ArgExtreme(FunctionBuilder& f, const Buffer& x, int axis, bool keep, bool largest, bool last) {
  Buffer extreme = Reduce(f, "extreme", largest ? Reduction::kMax : Reduction::kMin, x, {axis}, true);
  const DataType i64 = DataType::Int(64);
  const auto position = [&](const Indices& at) {
    Indices one = at;
    Expr& index = one[static_cast<size_t>(axis)];
    const Expr k = CastTo(i64, index);
    index = Const(index.dtype(), 0);
    const Expr value = x.Load(at), best = extreme.Load(one);
    Expr found = value == best;
    // A NaN is not equal to the NaN that was passed on.
    if (x->dtype.is_float()) found = Or(found, Call(DataType::Bool(), "isnan", {value}));
    return Select(found, k, last ? Const(i64, -1) : GreatestValue(i64));
  };
  return ReduceElements(f, "position", last ? Reduction::kMax : Reduction::kMin, x->shape, {axis}, keep, position);
}

Buffer CumulativeSum(FunctionBuilder& f, const Buffer& x, int axis, bool exclusive, bool reverse) {
  // One sum an element: a running sum would be a chain that no loop may cut. Blocks that run in order take its place
  // where extents are large.
  const DataType type = SumType(x->dtype);
  Buffer y = f.Alloc("cumulative", x->shape, type);
  const size_t a = static_cast<size_t>(axis);
  const Expr extent = x->shape[a];
  const std::vector<Expr> before_axis(x->shape.begin(), x->shape.begin() + axis);
  const std::vector<Expr> after_axis(x->shape.begin() + axis + 1, x->shape.end());
  // Neighbours in memory are innermost: each step adds a row of them.
  f.Grid(before_axis, [&](const std::vector<Var>& outer) {
    f.Loop("step", extent, [&](Var step) {
      f.Grid(after_axis, [&](const std::vector<Var>& inner) {
        f.Block("cumulative_sum", [&](BlockBuilder& block) {
          Indices at;
          for (size_t i = 0; i < outer.size(); ++i) at.push_back(block.Spatial(before_axis[i], outer[i]));
          const Expr k = block.Opaque(extent, step);
          const Expr one = Const(k.dtype(), 1), zero = Const(k.dtype(), 0);
          const Expr here = reverse ? extent - one - k : k;
          at.push_back(here);
          for (size_t i = 0; i < inner.size(); ++i) at.push_back(block.Spatial(after_axis[i], inner[i]));
          Indices before = at;
          before[a] = reverse ? here + one : here - one;
          const Expr none = Const(type, 0);
          const auto term = [&](const Indices& place) { return CastTo(type, x.Load(place)); };
          const Expr sum = IfThenElse(k == zero, none, y.Load(before));
          const Expr added = exclusive ? IfThenElse(k == zero, none, term(before)) : term(at);
          f.Store(y, sum + added, at);
        });
      });
    });
  });
  if (type == x->dtype) return y;
  return Map(f, "cumulative_sums", {y}, [&](const std::vector<Expr>& e) { return CastTo(x->dtype, e[0]); });
}

}  // namespace tilewright::ops
