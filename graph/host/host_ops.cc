#include "graph/host/host_ops.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "graph/host/array.h"
#include "graph/host/selection.h"
#include "graph/ir/infer.h"

namespace tilewright::graph {
namespace {

constexpr DataType kInt64 = DataType::Int(64);

Expr NewExtent(const char* name) { return Symbol(name, kInt64); }

absl::StatusOr<Type> InferNonzero(InferContext& c) {
  TW_ASSIGN_OR_RETURN(const TensorTypeNode* x, c.RankedTensor(0));
  return TensorType(kInt64, {Extent(std::max(x->rank(), 1)), NewExtent("nonzero")});
}

absl::StatusOr<Type> InferTopK(InferContext& c) {
  TW_ASSIGN_OR_RETURN(const TensorTypeNode* x, c.RankedTensor(0));
  TW_ASSIGN_OR_RETURN(const std::vector<Expr> k, c.ShapeArg(1));
  if (k.size() != 1) return c.Error("k is not one number");
  std::vector<Expr> shape = *x->shape;
  shape[static_cast<size_t>(c.Int("axis"))] = k[0];
  return TupleType({TensorType(x->dtype, shape), TensorType(kInt64, shape)});
}

absl::StatusOr<Type> InferUnique(InferContext& c) {
  TW_ASSIGN_OR_RETURN(const TensorTypeNode* x, c.RankedTensor(0));
  std::vector<Expr> shape = *x->shape;
  const auto axis = static_cast<size_t>(c.Int("axis"));
  const Expr count = NewExtent("unique"), all = shape[axis];
  shape[axis] = count;
  const TensorType positions(kInt64, {count});
  return TupleType({TensorType(x->dtype, shape), positions, TensorType(kInt64, {all}), positions});
}

absl::StatusOr<Type> InferCompress(InferContext& c) {
  TW_ASSIGN_OR_RETURN(const TensorTypeNode* x, c.RankedTensor(0));
  std::vector<Expr> shape = *x->shape;
  shape[static_cast<size_t>(c.Int("axis"))] = NewExtent("kept");
  return TensorType(x->dtype, shape);
}

absl::StatusOr<Type> InferNonMaxSuppression(InferContext&) {
  return TensorType(kInt64, {NewExtent("selected"), Extent(3)});
}

absl::StatusOr<Type> InferDeterminant(InferContext& c) {
  TW_ASSIGN_OR_RETURN(const TensorTypeNode* x, c.RankedTensor(0));
  if (x->rank() < 2) return c.Error("it needs a matrix");
  TW_RETURN_IF_ERROR(
      c.RequireEqual((*x->shape)[x->shape->size() - 1], (*x->shape)[x->shape->size() - 2], "the matrix"));
  return TensorType(x->dtype, std::vector<Expr>(x->shape->begin(), x->shape->end() - 2));
}

// By elimination with pivots, in double. `m` is overwritten; kSize is n, or 0 for any n.
template <int kSize>
double Eliminate(double* m, int64_t extent) {
  const int64_t n = kSize > 0 ? kSize : extent;
  double determinant = 1;
  for (int64_t k = 0; k < n; ++k) {
    double* const row = m + k * n;
    int64_t pivot = k;
    for (int64_t i = k + 1; i < n; ++i) {
      if (std::fabs(m[i * n + k]) > std::fabs(m[pivot * n + k])) pivot = i;
    }
    if (pivot != k) {
      determinant = -determinant;
      std::swap_ranges(row + k, row + n, m + pivot * n + k);
    }
    determinant *= row[k];
    if (row[k] == 0) break;
    const double inverse = 1 / row[k];
    for (int64_t i = k + 1; i < n; ++i) {
      const double factor = m[i * n + k] * inverse;
      for (int64_t j = k + 1; j < n; ++j) m[i * n + j] -= factor * row[j];
    }
  }
  return determinant;
}
double DeterminantOf(double* m, int64_t n) {
  switch (n) {
    case 2:
      return Eliminate<2>(m, n);
    case 3:
      return Eliminate<3>(m, n);
    case 4:
      return Eliminate<4>(m, n);
    case 8:
      return Eliminate<8>(m, n);
    default:
      return Eliminate<0>(m, n);
  }
}
absl::StatusOr<Arrays> RunDeterminant(const Attrs&, const Arrays& args, const TwParallelHook* parallel) {
  const NDArray& x = args[0];
  const int64_t n = x.shape().back();
  NDArray result = Unwritten(x.dtype(), {x.shape().begin(), x.shape().end() - 2});
  const bool f32 = x.dtype() == DataType::Float(32);
  ForParts(parallel, result.size(), result.size() * n * n * (n + 8), [&](int64_t begin, int64_t end) {
    std::vector<double> m(static_cast<size_t>(n * n));
    for (int64_t b = begin; b < end; ++b) {
      const auto* floats = static_cast<const float*>(x.data()) + b * n * n;
      for (int64_t i = 0; i < n * n; ++i) m[static_cast<size_t>(i)] = f32 ? floats[i] : x.Get(b * n * n + i);
      result.Set(b, DeterminantOf(m.data(), n));
    }
  });
  return Arrays{result};
}

// The types of a loop's results are told by the caller, who has imported the body: element types, ranks, and what is
// known of extents follows by MatchCast.
absl::StatusOr<Type> InferControl(InferContext& c) {
  std::vector<Type> fields;
  const auto* types = c.call().attrs.at("types").As<StringList>();
  for (const std::string& text : *types) {
    const auto dtype = DataType::Parse(text);
    if (!dtype) return c.Error("the type \"", text, "\"");
    fields.push_back(TensorType::OfUnknownRank(*dtype));
  }
  return TupleType(std::move(fields));
}

// How often (mode TF), whether (IDF) or how often times a weight (TFIDF) each n-gram of a pool occurs in the rows of x.
absl::StatusOr<Type> InferNgrams(InferContext& c) {
  TW_ASSIGN_OR_RETURN(const TensorTypeNode* x, c.RankedTensor(0));
  if (x->rank() != 1 && x->rank() != 2) return c.Error("rows are needed");
  int64_t columns = 0;
  for (int64_t index : c.Ints("indexes")) columns = std::max(columns, index + 1);
  std::vector<Expr> shape(x->shape->begin(), x->shape->end() - 1);
  shape.push_back(Extent(columns));
  return TensorType(DataType::Float(32), shape);
}

// The same tensor; its elements are new symbols, which the executor gives their values.
absl::StatusOr<Type> InferReadValues(InferContext& c) {
  TW_ASSIGN_OR_RETURN(const TensorTypeNode* x, c.RankedTensor(0));
  const auto shape = ConstantExtents(*x->shape);
  int64_t count = 1;
  for (size_t i = 0; shape && i < shape->size(); ++i) count *= (*shape)[i];
  if (!shape || count > kMaxKnownValues || x->dtype.is_float()) return c.Error("a small integer tensor is needed");
  std::vector<Expr> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(NewExtent("v"));
  return TensorType::WithValues(x->dtype, *x->shape, std::move(values));
}
absl::StatusOr<Arrays> RunReadValues(const Attrs&, const Arrays& args, const TwParallelHook*) { return args; }

std::vector<HostOp> MakeHostOps() {
  const AttrSpec axis{.name = "axis", .kind = AttrKind::kInt, .required = true};
  std::vector<HostOp> ops;
  ops.push_back({{.name = "host.nonzero", .params = {"x"}, .infer = InferNonzero, .data_dependent = true}, RunNonzero});
  ops.push_back({{.name = "host.top_k",
                  .params = {"x", "k"},
                  .attrs = {axis, {.name = "largest", .kind = AttrKind::kBool, .required = true}},
                  .infer = InferTopK},
                 RunTopK});
  ops.push_back({{.name = "host.unique",
                  .params = {"x"},
                  .attrs = {axis, {.name = "sorted", .kind = AttrKind::kBool, .required = true}},
                  .infer = InferUnique,
                  .data_dependent = true},
                 RunUnique});
  ops.push_back({{.name = "host.compress",
                  .params = {"x", "condition"},
                  .attrs = {axis},
                  .infer = InferCompress,
                  .data_dependent = true},
                 RunCompress});
  ops.push_back({{.name = "host.non_max_suppression",
                  .params = {"boxes", "scores", "most?", "iou?", "threshold?"},
                  .attrs = {{.name = "center", .kind = AttrKind::kInt, .required = true}},
                  .infer = InferNonMaxSuppression,
                  .data_dependent = true},
                 RunNonMaxSuppression});
  const auto required = [](const char* name, AttrKind kind) {
    return AttrSpec{.name = name, .kind = kind, .required = true};
  };
  ops.push_back({{.name = "host.ngrams",
                  .params = {"x"},
                  .attrs = {required("counts", AttrKind::kInts), required("indexes", AttrKind::kInts),
                            required("pool", AttrKind::kInts), required("weights", AttrKind::kFloats),
                            required("mode", AttrKind::kString), required("least", AttrKind::kInt),
                            required("most", AttrKind::kInt), required("skips", AttrKind::kInt)},
                  .infer = InferNgrams},
                 nullptr,
                 PrepareNgrams});
  ops.push_back(
      {{.name = "host.read_values", .params = {"x"}, .infer = InferReadValues, .data_dependent = true}, RunReadValues});
  ops.push_back({{.name = "host.determinant", .params = {"x"}, .infer = InferDeterminant}, RunDeterminant});
  return ops;
}

}  // namespace

const std::vector<HostOp>& HostOps() {
  static const auto* const ops = new std::vector<HostOp>(MakeHostOps());
  return *ops;
}

void AddHostOps(OpTable* ops) {
  for (const HostOp& op : HostOps()) ops->Add(op.op);
  const AttrSpec body{.name = "body", .kind = AttrKind::kFunction, .required = true};
  const AttrSpec types{.name = "types", .kind = AttrKind::kStrings, .required = true};
  const auto integer = [](const char* name) {
    return AttrSpec{.name = name, .kind = AttrKind::kInt, .required = true};
  };
  const auto integers = [](const char* name) {
    return AttrSpec{.name = name, .kind = AttrKind::kInts, .required = true};
  };
  // Bodies may have effects in later operators; today none has, but results of unknown rank are data-dependent.
  ops->Add({.name = "host.loop",
            .params = {"trips?", "condition?", "values*"},
            .attrs = {body, types, integer("carried"), integer("scanned"),
                      AttrSpec{.name = "counted", .kind = AttrKind::kBool, .required = true}},
            .infer = InferControl,
            .data_dependent = true});
  ops->Add({.name = "host.scan",
            .params = {"values*"},
            .attrs = {body, types, integer("carried"), integer("inputs"), integer("scanned"),
                      integers("reverse_inputs"), integers("reverse_outputs")},
            .infer = InferControl,
            .data_dependent = true});
}

}  // namespace tilewright::graph
