#include "graph/ir/basic_ops.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/infer.h"
#include "ir/script/printer.h"

namespace tilewright::graph {
namespace {

absl::StatusOr<Type> InferSame(InferContext& c) {
  TW_ASSIGN_OR_RETURN(const TensorTypeNode* const x, c.Tensor(0));
  if (!x->shape) return TensorType::OfUnknownRank(x->dtype);
  return TensorType(x->dtype, *x->shape);
}

absl::StatusOr<Type> InferFloat(InferContext& c) {
  TW_ASSIGN_OR_RETURN(const TensorTypeNode* const x, c.Tensor(0));
  if (!x->dtype.is_float()) return c.Error("expects floats, got ", x->dtype.ToString());
  return InferSame(c);
}

// The value of an arithmetic operator on known elements; null where it is not known or overflows.
Expr Arithmetic(std::string_view op, const Expr& a, const Expr& b) {
  if (AsInt(a) && AsInt(b)) {
    int64_t result = 0;
    const bool overflows = (op == "add" && __builtin_add_overflow(*AsInt(a), *AsInt(b), &result)) ||
                           (op == "subtract" && __builtin_sub_overflow(*AsInt(a), *AsInt(b), &result)) ||
                           (op == "multiply" && __builtin_mul_overflow(*AsInt(a), *AsInt(b), &result));
    if (overflows) return Expr();
  }
  if (op == "add") return a + b;
  if (op == "subtract") return a - b;
  if (op == "multiply") return a * b;
  if (op == "maximum") return Max(a, b);
  return op == "minimum" ? Min(a, b) : Expr();
}

// Elementwise on known values of equal count, or one of them a single value. int64 only: narrower types wrap.
std::optional<std::vector<Expr>> KnownArithmetic(const InferContext& c, const TensorTypeNode& a,
                                                 const TensorTypeNode& b) {
  if (!a.values || !b.values || a.dtype != DataType::Int(64)) return std::nullopt;
  const size_t count = std::max(a.values->size(), b.values->size());
  if (std::min(a.values->size(), b.values->size()) != count && a.values->size() != 1 && b.values->size() != 1) {
    return std::nullopt;
  }
  std::vector<Expr> values;
  for (size_t i = 0; i < count; ++i) {
    const Expr value = Arithmetic(c.call().op->name, (*a.values)[a.values->size() == 1 ? 0 : i],
                                  (*b.values)[b.values->size() == 1 ? 0 : i]);
    if (!value) return std::nullopt;
    values.push_back(c.Simplify(value));
  }
  return values;
}

absl::StatusOr<Type> InferBroadcast(InferContext& c) {
  TW_ASSIGN_OR_RETURN(const TensorTypeNode* const first, c.Tensor(0));
  std::optional<std::vector<Expr>> shape = std::vector<Expr>();
  for (size_t i = 0; i < c.num_args(); ++i) {
    TW_ASSIGN_OR_RETURN(const TensorTypeNode* const x, c.Tensor(i));
    if (x->dtype != first->dtype) {
      return c.Error("operands have types ", first->dtype.ToString(), " and ", x->dtype.ToString());
    }
    if (!x->shape) shape = std::nullopt;
    if (!shape) continue;
    TW_ASSIGN_OR_RETURN(shape, c.Broadcast(*shape, *x->shape));
  }
  if (!shape) return TensorType::OfUnknownRank(first->dtype);
  if (c.num_args() == 2) {
    TW_ASSIGN_OR_RETURN(const TensorTypeNode* const second, c.Tensor(1));
    std::optional<std::vector<Expr>> values = KnownArithmetic(c, *first, *second);
    if (values) return TensorType::WithValues(first->dtype, *std::move(shape), *std::move(values));
  }
  return TensorType(first->dtype, *std::move(shape));
}

absl::StatusOr<Type> InferCast(InferContext& c) {
  TW_ASSIGN_OR_RETURN(const TensorTypeNode* const x, c.Tensor(0));
  if (!x->shape) return TensorType::OfUnknownRank(c.Dtype("dtype"));
  return TensorType(c.Dtype("dtype"), *x->shape);
}

absl::StatusOr<Type> InferMatmul(InferContext& c) {
  TW_ASSIGN_OR_RETURN(const TensorTypeNode* const a, c.RankedTensor(0));
  TW_ASSIGN_OR_RETURN(const TensorTypeNode* const b, c.RankedTensor(1));
  if (a->dtype != b->dtype) return c.Error("operands have types ", a->dtype.ToString(), " and ", b->dtype.ToString());
  if (a->rank() == 0 || b->rank() == 0) return c.Error("operands must not be scalars");
  std::vector<Expr> left = *a->shape, right = *b->shape;
  if (a->rank() == 1) left.insert(left.begin(), Extent(1));
  if (b->rank() == 1) right.push_back(Extent(1));
  TW_RETURN_IF_ERROR(c.RequireEqual(left.back(), right[right.size() - 2], "the reduced extent"));
  TW_ASSIGN_OR_RETURN(std::vector<Expr> shape, c.Broadcast(std::vector<Expr>(left.begin(), left.end() - 2),
                                                           std::vector<Expr>(right.begin(), right.end() - 2)));
  if (a->rank() > 1) shape.push_back(left[left.size() - 2]);
  if (b->rank() > 1) shape.push_back(right.back());
  const DataType out = c.Dtype("out_dtype");
  return TensorType(out.is_void() ? a->dtype : out, std::move(shape));
}

absl::StatusOr<Type> InferPermute(InferContext& c) {
  TW_ASSIGN_OR_RETURN(const TensorTypeNode* const x, c.RankedTensor(0));
  const size_t rank = x->shape->size();
  std::vector<Expr> shape;
  if (!c.HasAttr("axes")) {
    shape.assign(x->shape->rbegin(), x->shape->rend());
    return TensorType(x->dtype, std::move(shape));
  }
  const IntList& axes = c.Ints("axes");
  if (axes.size() != rank) return c.Error(axes.size(), " axes for rank ", rank);
  std::vector<bool> seen(rank);
  for (int64_t axis : axes) {
    TW_ASSIGN_OR_RETURN(const int64_t at, c.Axis(axis, static_cast<int64_t>(rank)));
    if (seen[static_cast<size_t>(at)]) return c.Error("axis ", axis, " is given twice");
    seen[static_cast<size_t>(at)] = true;
    shape.push_back((*x->shape)[static_cast<size_t>(at)]);
  }
  return TensorType(x->dtype, std::move(shape));
}

absl::StatusOr<Type> InferReshape(InferContext& c) {
  TW_ASSIGN_OR_RETURN(const TensorTypeNode* const x, c.RankedTensor(0));
  TW_ASSIGN_OR_RETURN(std::vector<Expr> shape, c.ShapeArg(1));
  const Expr elements = NumElements(*x->shape);
  std::optional<size_t> open;
  std::vector<Expr> others;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (AsInt(shape[i]).value_or(0) < -1) return c.Error("extent ", PrintExtent(shape[i]), " is negative");
    if (!IsInt(shape[i], -1)) {
      others.push_back(shape[i]);
    } else if (open) {
      return c.Error("more than one extent is -1");
    } else {
      open = i;
    }
  }
  const Expr known = NumElements(others);
  if (open) {
    if (IsInt(known, 0)) return c.Error("an extent beside a zero cannot be -1");
    shape[*open] = c.Simplify(FloorDiv(elements, known));
    if (AsInt(known) && AsInt(elements) && *AsInt(elements) % *AsInt(known) != 0) {
      return c.Error(PrintExtent(elements), " elements cannot be split into parts of ", PrintExtent(known));
    }
    c.Assume(FloorMod(elements, known) == Extent(0));
  } else {
    TW_RETURN_IF_ERROR(c.RequireEqual(elements, known, "the number of elements"));
  }
  if (x->values) return TensorType::WithValues(x->dtype, std::move(shape), *x->values);
  return TensorType(x->dtype, std::move(shape));
}

absl::StatusOr<Type> InferConcat(InferContext& c) {
  if (c.num_args() == 0) return c.Error("needs at least one tensor");
  TW_ASSIGN_OR_RETURN(const TensorTypeNode* const first, c.RankedTensor(0));
  TW_ASSIGN_OR_RETURN(const int64_t axis, c.Axis(c.Int("axis"), first->rank()));
  std::vector<Expr> shape = *first->shape;
  std::optional<std::vector<Expr>> values = first->values;
  for (size_t i = 1; i < c.num_args(); ++i) {
    TW_ASSIGN_OR_RETURN(const TensorTypeNode* const x, c.RankedTensor(i));
    if (x->dtype != first->dtype || x->rank() != first->rank()) {
      return c.Error("operands have types ", ToString(c.TypeOfArg(0)), " and ", ToString(c.TypeOfArg(i)));
    }
    for (size_t d = 0; d < shape.size(); ++d) {
      if (static_cast<int64_t>(d) == axis) {
        shape[d] = c.Simplify(shape[d] + (*x->shape)[d]);
      } else {
        TW_RETURN_IF_ERROR(c.RequireEqual(shape[d], (*x->shape)[d], "an extent"));
      }
    }
    if (!x->values) values = std::nullopt;
    if (values) values->insert(values->end(), x->values->begin(), x->values->end());
  }
  if (values && shape.size() == 1) {
    return TensorType::WithValues(first->dtype, std::move(shape), *std::move(values));
  }
  return TensorType(first->dtype, std::move(shape));
}

absl::StatusOr<Type> InferSplit(InferContext& c) {
  TW_ASSIGN_OR_RETURN(const TensorTypeNode* const x, c.RankedTensor(0));
  TW_ASSIGN_OR_RETURN(const int64_t axis, c.Axis(c.Int("axis"), x->rank()));
  const size_t at = static_cast<size_t>(axis);
  const Expr extent = (*x->shape)[at];
  std::vector<Type> parts;
  Expr begin = Extent(0);
  for (int64_t index : c.Ints("indices_or_sections")) {
    const int64_t start = *AsInt(begin);
    if (index < start || (AsInt(extent) && index > *AsInt(extent))) {
      return c.Error("index ", index, " does not lie between ", start, " and ", PrintExtent(extent));
    }
    c.Assume(Extent(index) <= extent);
    std::vector<Expr> shape = *x->shape;
    shape[at] = Extent(index - start);
    parts.push_back(TensorType(x->dtype, std::move(shape)));
    begin = Extent(index);
  }
  std::vector<Expr> shape = *x->shape;
  shape[at] = c.Simplify(extent - begin);
  parts.push_back(TensorType(x->dtype, std::move(shape)));
  return TupleType(std::move(parts));
}

absl::StatusOr<Type> InferReduce(InferContext& c) {
  TW_ASSIGN_OR_RETURN(const TensorTypeNode* const x, c.RankedTensor(0));
  std::vector<bool> reduced(x->shape->size(), !c.HasAttr("axis"));
  if (c.HasAttr("axis")) {
    for (int64_t axis : c.Ints("axis")) {
      TW_ASSIGN_OR_RETURN(const int64_t at, c.Axis(axis, x->rank()));
      reduced[static_cast<size_t>(at)] = true;
    }
  }
  std::vector<Expr> shape;
  for (size_t i = 0; i < reduced.size(); ++i) {
    if (!reduced[i]) {
      shape.push_back((*x->shape)[i]);
    } else if (c.Bool("keepdims")) {
      shape.push_back(Extent(1));
    }
  }
  return TensorType(x->dtype, std::move(shape));
}

absl::StatusOr<Type> InferBroadcastTo(InferContext& c) {
  TW_ASSIGN_OR_RETURN(const TensorTypeNode* const x, c.RankedTensor(0));
  TW_ASSIGN_OR_RETURN(std::vector<Expr> shape, c.ShapeArg(1));
  for (const Expr& extent : shape) {
    if (AsInt(extent).value_or(0) < 0) return c.Error("extent ", PrintExtent(extent), " is negative");
  }
  if (shape.size() < x->shape->size()) return c.Error("rank ", x->rank(), " is above that of the shape");
  for (size_t i = 0; i < x->shape->size(); ++i) {
    const Expr& extent = (*x->shape)[i];
    if (IsInt(extent, 1)) continue;
    TW_RETURN_IF_ERROR(c.RequireEqual(extent, shape[shape.size() - x->shape->size() + i], "an extent"));
  }
  return TensorType(x->dtype, std::move(shape));
}

absl::StatusOr<Type> InferShapeToTensor(InferContext& c) {
  TW_ASSIGN_OR_RETURN(std::vector<Expr> values, c.ShapeArg(0));
  const std::vector<Expr> shape = {Extent(static_cast<int64_t>(values.size()))};
  return TensorType::WithValues(DataType::Int(64), shape, std::move(values));
}

}  // namespace

void AddBasicOps(OpTable* ops) {
  for (const char* name : {"add", "subtract", "multiply", "divide", "maximum", "minimum"}) {
    ops->Add({.name = name, .params = {"a", "b"}, .infer = InferBroadcast});
  }
  ops->Add({.name = "ewise_fma", .params = {"a", "b", "c"}, .infer = InferBroadcast});
  for (const char* name : {"negative", "abs", "nn.relu"}) {
    ops->Add({.name = name, .params = {"x"}, .infer = InferSame});
  }
  for (const char* name : {"exp", "sqrt", "tanh", "sigmoid"}) {
    ops->Add({.name = name, .params = {"x"}, .infer = InferFloat});
  }
  ops->Add({.name = "astype",
            .params = {"x"},
            .attrs = {{.name = "dtype", .kind = AttrKind::kDataType, .required = true}},
            .infer = InferCast});
  ops->Add({.name = "matmul",
            .params = {"a", "b"},
            .attrs = {{.name = "out_dtype", .kind = AttrKind::kDataType, .default_value = DataType::Void()}},
            .infer = InferMatmul});
  ops->Add({.name = "permute_dims",
            .params = {"x"},
            .attrs = {{.name = "axes", .kind = AttrKind::kInts}},
            .infer = InferPermute});
  ops->Add({.name = "reshape", .params = {"x", "shape"}, .infer = InferReshape});
  ops->Add(
      {.name = "concat", .params = {"xs*"}, .attrs = {{.name = "axis", .default_value = 0}}, .infer = InferConcat});
  ops->Add({.name = "split",
            .params = {"x"},
            .attrs = {{.name = "indices_or_sections", .kind = AttrKind::kInts, .required = true},
                      {.name = "axis", .default_value = 0}},
            .infer = InferSplit});
  for (const char* name : {"sum", "max", "min", "mean"}) {
    ops->Add({.name = name,
              .params = {"x"},
              .attrs = {{.name = "axis", .kind = AttrKind::kInts},
                        {.name = "keepdims", .kind = AttrKind::kBool, .default_value = false}},
              .infer = InferReduce});
  }
  ops->Add({.name = "broadcast_to", .params = {"x", "shape"}, .infer = InferBroadcastTo});
  ops->Add({.name = "shape_to_tensor", .params = {"shape"}, .infer = InferShapeToTensor});
}

}  // namespace tilewright::graph
