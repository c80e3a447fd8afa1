// Operators about shapes, and those that make tensors of numbers.
#include <cmath>
#include <limits>

#include "base/status_macros.h"
#include "graph/onnx/graph_importer.h"
#include "graph/onnx/node.h"
#include "graph/onnx/operators.h"
#include "ir/ops/movement.h"
#include "ir/ops/scalar_math.h"

namespace tilewright::graph {
namespace {

namespace ops = tilewright::ops;
constexpr DataType kInt64 = DataType::Int(64);

Expr Count(const Exprs& extents, size_t first = 0, size_t last = SIZE_MAX) {
  Expr count = Extent(1);
  for (size_t i = first; i < std::min(last, extents.size()); ++i) count = count * extents[i];
  return count;
}

absl::Status ImportShape(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 1));
  const Exprs& shape = n.In(0).shape;
  const auto rank = static_cast<int64_t>(shape.size());
  const auto place = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const int64_t start = place(n.WideInt("start", 0)), end = std::max(start, place(n.WideInt("end", rank)));
  return n.Out(n.emit().FromValues(kInt64, {Extent(end - start)}, Exprs(shape.begin() + start, shape.begin() + end)));
}

absl::Status ImportSize(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 1));
  return n.Out(n.emit().FromValues(kInt64, {}, {n.emit().Simplify(Count(n.In(0).shape))}));
}

// Elements of a shape that are read when the model runs may be 0, for the extent of the input, or -1, for what is left.
void ResolveRead(OnnxNode& n, const Exprs& in, bool allow_zero, Exprs* wanted) {
  const Expr zero = Extent(0), one = Extent(1);
  // Symbols of extents are not negative.
  const auto may_be_negative = [&](const Expr& e) {
    const std::vector<Symbol> symbols = FreeSymbols(Exprs{e});
    auto& analyzer = n.emit().builder().analyzer();
    return std::any_of(symbols.begin(), symbols.end(),
                       [&](const Symbol& s) { return !analyzer.CanProve(s >= zero); }) &&
           !analyzer.CanProve(e >= zero);
  };
  if (std::none_of(wanted->begin(), wanted->end(), may_be_negative)) return;
  Expr known = one;
  for (size_t i = 0; i < wanted->size(); ++i) {
    Expr& extent = (*wanted)[i];
    if (!allow_zero && i < in.size() && (IsInt(extent, 0) || may_be_negative(extent))) {
      extent = Select(extent == zero, in[i], extent);
    }
    known = known * (AsInt(extent) || may_be_negative(extent) ? Select(extent < zero, one, extent) : extent);
  }
  // No division by the extents that make the whole 0.
  const Expr rest = FloorDiv(Count(in), Max(known, one));
  for (Expr& extent : *wanted) {
    if (IsInt(extent, -1) || may_be_negative(extent)) extent = Select(extent < zero, rest, extent);
    extent = n.emit().Simplify(extent);
  }
}

absl::Status ImportReshape(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 1));
  Exprs wanted;
  if (n.opset() < 5) {
    wanted = Extents(n.Ints("shape").value_or(Int64s{}));
  } else {
    TW_ASSIGN_OR_RETURN(wanted, n.Values(1));
  }
  const Exprs& in = n.In(0).shape;
  const bool allow_zero = n.opset() >= 14 && n.Int("allowzero", 0) != 0;
  ResolveRead(n, in, allow_zero, &wanted);
  Exprs shape;
  std::optional<size_t> open;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const auto number = AsInt(wanted[i]);
    if (number && *number == 0 && !allow_zero) {
      if (i >= in.size()) return n.Error("extent ", i, " is copied from an input of rank ", in.size());
      shape.push_back(in[i]);
    } else if (number && *number == -1) {
      if (open) return n.Error("two extents are -1");
      open = i;
      shape.push_back(Extent(1));
    } else if (number && *number < 0) {
      return n.Error("extent ", i, " is ", *number);
    } else {
      shape.push_back(wanted[i]);
    }
  }
  if (open) {
    // Extents on both sides cancel, so that symbols need no division.
    Exprs left = in, right = shape;
    for (Expr& a : left) {
      for (Expr& b : right) {
        if (!IsInt(a, 1) && ops::SameExtent(a, b)) a = b = Extent(1);
      }
    }
    const Expr divisor = n.emit().Simplify(Count(right));
    const Expr total = n.emit().Simplify(Count(left));
    if (IsInt(divisor, 0)) return n.Error("an extent of -1 next to one of 0");
    const auto a = AsInt(total), b = AsInt(divisor);
    if (a && b && *a % *b != 0) return n.Error("the elements of the input do not fit its shape");
    shape[*open] = n.emit().Simplify(FloorDiv(total, divisor));
  }
  const auto before = AsInt(n.emit().Simplify(Count(in))), after = AsInt(n.emit().Simplify(Count(shape)));
  if (before && after && *before != *after) return n.Error(*before, " elements as a shape of ", *after);
  return n.Out(n.emit().View(n.In(0), shape));
}

absl::Status ImportFlatten(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 1));
  const Exprs& in = n.In(0).shape;
  TW_ASSIGN_OR_RETURN(const int axis, n.Axis(n.Int("axis", 1), in.size() + 1));
  const bool counts_from_end = n.Int("axis", 1) < 0;
  const size_t at = static_cast<size_t>(counts_from_end ? axis - 1 : axis);
  return n.Out(n.emit().View(n.In(0), {Count(in, 0, at), Count(in, at)}));
}

absl::Status ImportSqueeze(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 1));
  const Exprs& in = n.In(0).shape;
  TW_ASSIGN_OR_RETURN(const auto given, n.IntsOrInput("axes", 1, 13));
  std::vector<bool> goes(in.size(), false);
  if (given) {
    TW_ASSIGN_OR_RETURN(const std::vector<int> axes, n.Axes(*given, in.size()));
    for (int axis : axes) goes[static_cast<size_t>(axis)] = true;
  } else {
    for (size_t i = 0; i < in.size(); ++i) {
      if (!AsInt(in[i])) return n.Unsupported("no axes, and extent ", i, " is symbolic: the rank is not known");
      goes[i] = IsInt(in[i], 1);
    }
  }
  Exprs shape;
  for (size_t i = 0; i < in.size(); ++i) {
    if (!goes[i]) {
      shape.push_back(in[i]);
    } else if (AsInt(in[i]) && !IsInt(in[i], 1)) {
      return n.Error("dimension ", i, " has an extent of ", *AsInt(in[i]), " and cannot go");
    } else if (!AsInt(in[i])) {
      n.emit().builder().Assume(in[i] == Extent(1));
    }
  }
  return n.Out(n.emit().View(n.In(0), shape));
}

absl::Status ImportUnsqueeze(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 1));
  TW_ASSIGN_OR_RETURN(const auto given, n.IntsOrInput("axes", 1, 13));
  if (!given) return n.Error("it has no axes");
  const size_t rank = n.In(0).rank() + given->size();
  TW_ASSIGN_OR_RETURN(const std::vector<int> axes, n.Axes(*given, rank));
  Exprs shape = n.In(0).shape;
  for (int axis : axes) shape.insert(shape.begin() + axis, Extent(1));
  return n.Out(n.emit().View(n.In(0), shape));
}

absl::Status ImportConstant(OnnxNode& n) {
  if (const auto* value = n.Attr("value")) return n.Out(n.importer().ConstantOf(value->t()));
  if (const auto* sparse = n.Attr("sparse_value")) return n.Out(n.importer().ConstantOf(sparse->sparse_tensor()));
  const auto floats = [&](const std::vector<double>& numbers, std::vector<int64_t> shape) {
    NDArray array(DataType::Float(32), std::move(shape));
    for (size_t i = 0; i < numbers.size(); ++i) array.Set(static_cast<int64_t>(i), numbers[i]);
    return n.Out(n.emit().FromArray(array));
  };
  const auto ints = [&](const Int64s& numbers, std::vector<int64_t> shape) {
    NDArray array(kInt64, std::move(shape));
    for (size_t i = 0; i < numbers.size(); ++i) array.SetInt(static_cast<int64_t>(i), numbers[i]);
    return n.Out(n.emit().FromArray(array));
  };
  if (n.Attr("value_float") != nullptr) return floats({n.Float("value_float", 0)}, {});
  if (n.Attr("value_int") != nullptr) return ints({n.WideInt("value_int", 0)}, {});
  if (const auto numbers = n.WideInts("value_ints"); n.Attr("value_ints") != nullptr) {
    return ints(*numbers, {static_cast<int64_t>(numbers->size())});
  }
  if (n.Attr("value_floats") != nullptr) {
    const std::vector<double> numbers = n.Floats("value_floats");
    return floats(numbers, {static_cast<int64_t>(numbers.size())});
  }
  return n.Unsupported("a constant of strings, or a sparse one");
}

// A tensor whose elements are all the same.
absl::StatusOr<Items> Filled(OnnxNode& n, const Exprs& shape, const Expr& value) {
  return n.Program("fill", {}, [&](ProgramParts& p) {
    return Buffers{p.f.Compute("fill", p.local(shape), [&](const std::vector<Symbol>&) { return value; })};
  });
}

absl::Status ImportConstantOfShape(OnnxNode& n) {
  TW_ASSIGN_OR_RETURN(const Exprs shape, n.Values(0));
  Expr value = ConstFloat(DataType::Float(32), 0);
  if (const auto* given = n.Attr("value")) {
    TW_ASSIGN_OR_RETURN(const Item item, n.importer().ConstantOf(given->t()));
    const auto array = ArrayOf(item);
    if (!array || array->size() != 1) return n.Error("its value does not have one element");
    const DataType type = array->dtype();
    value = type.is_float() ? ConstFloat(type, array->Get(0)) : Const(type, array->GetInt(0));
  }
  return n.Out(Filled(n, shape, value));
}

absl::Status ImportExpand(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 2));
  TW_ASSIGN_OR_RETURN(const Exprs wanted, n.Values(1));
  const auto shape = ops::BroadcastShape({n.In(0).shape, wanted});
  if (!shape) return n.Error("its input does not broadcast to the shape");
  TW_RETURN_IF_ERROR(n.RequireBroadcast({n.In(0).shape, wanted}));
  return n.Out(n.Program("expand", {n.In(0)}, [&](ProgramParts& p) {
    return Buffers{ops::MapTo(p.f, "expand", p.local(*shape), p.in, [](const Exprs& e) { return e[0]; })};
  }));
}

absl::Status ImportTile(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 2));
  Exprs times;
  if (n.opset() < 6) {
    TW_ASSIGN_OR_RETURN(const int64_t tiles, n.Number(1));
    TW_ASSIGN_OR_RETURN(const int64_t given, n.Number(2));
    TW_ASSIGN_OR_RETURN(const int axis, n.Axis(given, n.In(0).rank()));
    times.assign(n.In(0).rank(), Extent(1));
    times[static_cast<size_t>(axis)] = Extent(tiles);
  } else {
    TW_ASSIGN_OR_RETURN(times, n.Values(1));
  }
  if (times.size() != n.In(0).rank()) return n.Error("repeats for another rank");
  return n.Out(
      n.Program("tile", {n.In(0)}, [&](ProgramParts& p) { return Buffers{ops::Tile(p.f, p.in[0], p.local(times))}; }));
}

absl::Status ImportRange(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 2));
  TW_RETURN_IF_ERROR(n.RequireSameType(0, 3));
  const DataType type = n.In(0).dtype;
  // The step may be absent in com.microsoft, and is one then.
  const bool has_step = n.Has(2);
  if (type.is_bool()) return n.Error("a range of booleans");
  Expr count;
  if (type.is_float()) {
    TW_ASSIGN_OR_RETURN(const auto start, n.Reals(0));
    TW_ASSIGN_OR_RETURN(const auto limit, n.Reals(1));
    std::vector<double> delta = {1};
    if (has_step) {
      TW_ASSIGN_OR_RETURN(delta, n.Reals(2));
    }
    if (start.size() != 1 || limit.size() != 1 || delta.size() != 1 || delta[0] == 0) return n.Error("a step of zero");
    const double number = std::ceil((limit[0] - start[0]) / delta[0]);
    if (!(number < 1e12)) return n.Error("more than 1e12 elements");
    count = Extent(number > 0 ? static_cast<int64_t>(number) : 0);
  } else {
    TW_ASSIGN_OR_RETURN(const Exprs start, n.Values(0));
    TW_ASSIGN_OR_RETURN(const Exprs limit, n.Values(1));
    int64_t delta = 1;
    if (has_step) {
      TW_ASSIGN_OR_RETURN(delta, n.Number(2));
    }
    if (delta == 0 || start.size() != 1 || limit.size() != 1) return n.Error("a step of zero");
    if (delta == std::numeric_limits<int64_t>::min()) return n.Error("a step of ", delta);
    const Expr span = delta > 0 ? limit[0] - start[0] : start[0] - limit[0];
    const int64_t step = delta > 0 ? delta : -delta;
    count = n.emit().Simplify(Max(FloorDiv(span + Extent(step - 1), Extent(step)), Extent(0)));
  }
  return n.Out(n.Program("range", has_step ? Items{n.In(0), n.In(2)} : Items{n.In(0)}, [&](ProgramParts& p) {
    return Buffers{p.f.Compute("range", {p.local(count)}, [&](Symbol i) {
      const auto first = [&](const Buffer& b) { return b.Load(ops::Indices(b->ndim(), Expr(0))); };
      const Expr far = has_step ? CastTo(type, i) * first(p.in[1]) : CastTo(type, i);
      return first(p.in[0]) + far;
    })};
  }));
}

absl::Status ImportEyeLike(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 1));
  if (n.In(0).rank() != 2) return n.Error("its input is not a matrix");
  DataType type = n.In(0).dtype;
  if (n.Attr("dtype") != nullptr) {
    TW_ASSIGN_OR_RETURN(type, ElementType(static_cast<int32_t>(n.Int("dtype", 1))));
  }
  const int64_t k = n.Int("k", 0);
  return n.Out(n.Program("eye", {}, [&](ProgramParts& p) {
    return Buffers{p.f.Compute("eye", p.local(n.In(0).shape), [&](Symbol i, Symbol j) {
      return Select(CastTo(kInt64, j) - CastTo(kInt64, i) == Const(kInt64, k), Const(type, 1), Const(type, 0));
    })};
  }));
}

}  // namespace

OnnxOperators ShapeOperators() {
  return {
      {"Constant", 1, ImportConstant},
      {"ConstantOfShape", 9, ImportConstantOfShape, {.elements = Elements::kIntegers}},
      {"Expand", 8, ImportExpand, {.integers = Inputs({1})}},
      {"EyeLike", 9, ImportEyeLike},
      {"Flatten", 1, ImportFlatten},
      {"Range", 11, ImportRange, {.elements = Elements::kNumbers}},
      {"Range", 1, ImportRange, {.elements = Elements::kNumbers}, kMicrosoft},
      {"Reshape", 1, ImportReshape, {.integers = Inputs({1})}},
      {"Shape", 1, ImportShape, {.reads_shape_only = true}},
      {"Size", 1, ImportSize, {.reads_shape_only = true}},
      {"Squeeze", 1, ImportSqueeze, {.integers = Inputs({1})}},
      {"Tile", 1, ImportTile, {.integers = Inputs({1})}},
      {"Unsqueeze", 1, ImportUnsqueeze, {.integers = Inputs({1})}},
  };
}

}  // namespace tilewright::graph
