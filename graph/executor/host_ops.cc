#include "graph/executor/host_ops.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/infer.h"

namespace tilewright::graph {
namespace {

constexpr DataType kInt64 = DataType::Int(64);

Expr NewExtent(const char* name) { return Symbol(name, kInt64); }

template <class T>
T Get(const Attrs& attrs, const char* name) {
  return *attrs.at(name).As<T>();
}

NDArray Int64Array(const std::vector<int64_t>& values, std::vector<int64_t> shape) {
  NDArray array(kInt64, std::move(shape));
  for (size_t i = 0; i < values.size(); ++i) array.SetInt(static_cast<int64_t>(i), values[i]);
  return array;
}

// Elements before `axis`, along it, and after it.
struct Sides {
  int64_t outer = 1, extent = 1, inner = 1;
};
Sides SidesOf(const std::vector<int64_t>& shape, int64_t axis) {
  Sides sides;
  for (size_t i = 0; i < shape.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    (at < axis ? sides.outer : at == axis ? sides.extent : sides.inner) *= shape[i];
  }
  return sides;
}

// Slices of `x` along `axis`, in the order of `positions`.
NDArray TakeSlices(const NDArray& x, int64_t axis, const std::vector<int64_t>& positions) {
  std::vector<int64_t> shape = x.shape();
  shape[static_cast<size_t>(axis)] = static_cast<int64_t>(positions.size());
  NDArray result(x.dtype(), shape);
  const Sides sides = SidesOf(x.shape(), axis);
  const int64_t bytes = sides.inner * x.dtype().bytes();
  const auto* from = static_cast<const std::byte*>(x.data());
  auto* to = static_cast<std::byte*>(result.data());
  for (int64_t o = 0; o < sides.outer; ++o) {
    for (int64_t position : positions) {
      std::copy_n(from + (o * sides.extent + position) * bytes, bytes, to);
      to += bytes;
    }
  }
  return result;
}

absl::StatusOr<Type> InferNonzero(InferContext& c) {
  TW_ASSIGN_OR_RETURN(const TensorTypeNode* x, c.RankedTensor(0));
  return TensorType(kInt64, {Extent(std::max(x->rank(), 1)), NewExtent("nonzero")});
}
absl::StatusOr<Arrays> RunNonzero(const Attrs&, const Arrays& args) {
  const NDArray& x = args[0];
  std::vector<int64_t> found;
  for (int64_t i = 0; i < x.size(); ++i) {
    if (x.dtype().is_float() ? x.Get(i) != 0 : x.GetInt(i) != 0) found.push_back(i);
  }
  const std::vector<int64_t> shape = x.shape().empty() ? std::vector<int64_t>{1} : x.shape();
  const auto rank = static_cast<int64_t>(shape.size()), count = static_cast<int64_t>(found.size());
  NDArray result(kInt64, {rank, count});
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = found[static_cast<size_t>(i)];
    for (int64_t d = rank; d-- > 0;) {
      result.SetInt(d * count + i, rest % shape[static_cast<size_t>(d)]);
      rest /= shape[static_cast<size_t>(d)];
    }
  }
  return Arrays{result};
}

// A number that is ordered as the element is: NaN as the largest number, both zeros alike.
int64_t OrderOf(const NDArray& x, int64_t position) {
  if (!x.dtype().is_float()) {
    const int64_t value = x.GetInt(position);
    return x.dtype() == DataType::UInt(64) ? value ^ INT64_MIN : value;
  }
  const bool is_f32 = x.dtype() == DataType::Float(32);
  const double value = is_f32 ? static_cast<const float*>(x.data())[position] : x.Get(position);
  if (std::isnan(value)) return INT64_MAX;
  const auto bits = std::bit_cast<int64_t>(value + 0.0);  // -0 becomes 0.
  return bits < 0 ? bits ^ INT64_MAX : bits;
}

absl::StatusOr<Type> InferTopK(InferContext& c) {
  TW_ASSIGN_OR_RETURN(const TensorTypeNode* x, c.RankedTensor(0));
  TW_ASSIGN_OR_RETURN(const std::vector<Expr> k, c.ShapeArg(1));
  if (k.size() != 1) return c.Error("k is not one number");
  std::vector<Expr> shape = *x->shape;
  shape[static_cast<size_t>(c.Int("axis"))] = k[0];
  return TupleType({TensorType(x->dtype, shape), TensorType(kInt64, shape)});
}
absl::StatusOr<Arrays> RunTopK(const Attrs& attrs, const Arrays& args) {
  const NDArray& x = args[0];
  const auto axis = Get<int64_t>(attrs, "axis");
  const bool largest = Get<bool>(attrs, "largest");
  const int64_t k = args[1].GetInt(0);
  const Sides sides = SidesOf(x.shape(), axis);
  if (k < 0 || k > sides.extent) {
    return absl::InvalidArgumentError(absl::StrCat("the largest ", k, " of ", sides.extent, " elements"));
  }
  std::vector<int64_t> shape = x.shape();
  shape[static_cast<size_t>(axis)] = k;
  NDArray values(x.dtype(), shape), positions(kInt64, shape);
  const int64_t width = x.dtype().bytes();
  // What comes first has the smallest number; the first of equal elements comes first.
  std::vector<std::pair<int64_t, int64_t>> line(static_cast<size_t>(sides.extent));
  for (int64_t o = 0; o < sides.outer; ++o) {
    for (int64_t i = 0; i < sides.inner; ++i) {
      const auto at = [&](int64_t p, int64_t extent) { return (o * extent + p) * sides.inner + i; };
      for (int64_t p = 0; p < sides.extent; ++p) {
        const int64_t order = OrderOf(x, at(p, sides.extent));
        line[static_cast<size_t>(p)] = {largest ? ~order : order, p};
      }
      std::partial_sort(line.begin(), line.begin() + k, line.end());
      for (int64_t r = 0; r < k; ++r) {
        const int64_t position = line[static_cast<size_t>(r)].second;
        std::memcpy(static_cast<std::byte*>(values.data()) + at(r, k) * width,
                    static_cast<const std::byte*>(x.data()) + at(position, sides.extent) * width,
                    static_cast<size_t>(width));
        positions.SetInt(at(r, k), position);
      }
    }
  }
  return Arrays{values, positions};
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
absl::StatusOr<Arrays> RunUnique(const Attrs& attrs, const Arrays& args) {
  const NDArray& x = args[0];
  const auto axis = Get<int64_t>(attrs, "axis");
  const Sides sides = SidesOf(x.shape(), axis);
  // Slices compare element by element.
  const auto less = [&](int64_t a, int64_t b) {
    for (int64_t o = 0; o < sides.outer; ++o) {
      for (int64_t i = 0; i < sides.inner; ++i) {
        const int64_t u = (o * sides.extent + a) * sides.inner + i, v = (o * sides.extent + b) * sides.inner + i;
        if (OrderOf(x, u) != OrderOf(x, v)) return OrderOf(x, u) < OrderOf(x, v);
      }
    }
    return false;
  };
  std::vector<int64_t> order(static_cast<size_t>(sides.extent));
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return less(a, b) || (!less(b, a) && a < b); });
  std::vector<std::vector<int64_t>> groups;
  for (int64_t slice : order) {
    if (groups.empty() || less(groups.back()[0], slice)) groups.emplace_back();
    groups.back().push_back(slice);
  }
  if (!Get<bool>(attrs, "sorted")) std::sort(groups.begin(), groups.end());
  std::vector<int64_t> first, counts, inverse(static_cast<size_t>(sides.extent));
  for (size_t g = 0; g < groups.size(); ++g) {
    first.push_back(groups[g][0]);
    counts.push_back(static_cast<int64_t>(groups[g].size()));
    for (int64_t slice : groups[g]) inverse[static_cast<size_t>(slice)] = static_cast<int64_t>(g);
  }
  const auto count = static_cast<int64_t>(groups.size());
  return Arrays{TakeSlices(x, axis, first), Int64Array(first, {count}), Int64Array(inverse, {sides.extent}),
                Int64Array(counts, {count})};
}

absl::StatusOr<Type> InferCompress(InferContext& c) {
  TW_ASSIGN_OR_RETURN(const TensorTypeNode* x, c.RankedTensor(0));
  std::vector<Expr> shape = *x->shape;
  shape[static_cast<size_t>(c.Int("axis"))] = NewExtent("kept");
  return TensorType(x->dtype, shape);
}
absl::StatusOr<Arrays> RunCompress(const Attrs& attrs, const Arrays& args) {
  const auto axis = Get<int64_t>(attrs, "axis");
  const int64_t extent = args[0].shape()[static_cast<size_t>(axis)];
  std::vector<int64_t> kept;
  for (int64_t i = 0; i < std::min(extent, args[1].size()); ++i) {
    if (args[1].GetInt(i) != 0) kept.push_back(i);
  }
  return Arrays{TakeSlices(args[0], axis, kept)};
}

struct Box {
  double y1, x1, y2, x2;
  double area() const { return (y2 - y1) * (x2 - x1); }
};
Box BoxAt(const NDArray& boxes, int64_t at, bool center) {
  double v[4];
  for (int64_t i = 0; i < 4; ++i) v[i] = boxes.Get(at * 4 + i);
  if (center) return {v[1] - v[3] / 2, v[0] - v[2] / 2, v[1] + v[3] / 2, v[0] + v[2] / 2};
  return {std::min(v[0], v[2]), std::min(v[1], v[3]), std::max(v[0], v[2]), std::max(v[1], v[3])};
}
double Overlap(const Box& a, const Box& b) {
  const double height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  const double width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  if (height <= 0 || width <= 0) return 0;
  const double both = height * width, all = a.area() + b.area() - both;
  return all <= 0 ? 0 : both / all;
}

absl::StatusOr<Type> InferNonMaxSuppression(InferContext&) {
  return TensorType(kInt64, {NewExtent("selected"), Extent(3)});
}
absl::StatusOr<Arrays> RunNonMaxSuppression(const Attrs& attrs, const Arrays& args) {
  const NDArray &boxes = args[0], &scores = args[1];
  const auto number = [&](size_t i, double otherwise) {
    return i < args.size() && args[i].data() != nullptr && args[i].size() > 0 ? args[i].Get(0) : otherwise;
  };
  const auto most = static_cast<int64_t>(number(2, 0));
  const double iou = number(3, 0), threshold = number(4, -INFINITY);
  const bool center = Get<int64_t>(attrs, "center") != 0;
  const int64_t batches = scores.shape()[0], classes = scores.shape()[1], count = scores.shape()[2];
  if (boxes.shape()[0] != batches || boxes.shape()[1] != count || boxes.shape()[2] != 4) {
    return absl::InvalidArgumentError("boxes and scores do not fit each other");
  }
  std::vector<int64_t> selected;
  for (int64_t n = 0; n < batches; ++n) {
    for (int64_t c = 0; c < classes; ++c) {
      std::vector<int64_t> order;
      const auto score = [&](int64_t i) { return scores.Get((n * classes + c) * count + i); };
      for (int64_t i = 0; i < count; ++i) {
        if (score(i) > threshold) order.push_back(i);
      }
      std::sort(order.begin(), order.end(),
                [&](int64_t a, int64_t b) { return score(a) > score(b) || (!(score(b) > score(a)) && a < b); });
      std::vector<Box> kept;
      for (int64_t i : order) {
        if (static_cast<int64_t>(kept.size()) >= most) break;
        const Box box = BoxAt(boxes, n * count + i, center);
        if (std::any_of(kept.begin(), kept.end(), [&](const Box& other) { return Overlap(box, other) > iou; }))
          continue;
        kept.push_back(box);
        selected.insert(selected.end(), {n, c, i});
      }
    }
  }
  return Arrays{Int64Array(selected, {static_cast<int64_t>(selected.size()) / 3, 3})};
}

absl::StatusOr<Type> InferDeterminant(InferContext& c) {
  TW_ASSIGN_OR_RETURN(const TensorTypeNode* x, c.RankedTensor(0));
  if (x->rank() < 2) return c.Error("it needs a matrix");
  TW_RETURN_IF_ERROR(
      c.RequireEqual((*x->shape)[x->shape->size() - 1], (*x->shape)[x->shape->size() - 2], "the matrix"));
  return TensorType(x->dtype, std::vector<Expr>(x->shape->begin(), x->shape->end() - 2));
}
// By elimination with pivots, in double.
absl::StatusOr<Arrays> RunDeterminant(const Attrs&, const Arrays& args) {
  const NDArray& x = args[0];
  const int64_t n = x.shape().back();
  NDArray result(x.dtype(), {x.shape().begin(), x.shape().end() - 2});
  std::vector<double> m(static_cast<size_t>(n * n));
  for (int64_t b = 0; b < result.size(); ++b) {
    for (int64_t i = 0; i < n * n; ++i) m[static_cast<size_t>(i)] = x.Get(b * n * n + i);
    const auto at = [&](int64_t i, int64_t j) -> double& { return m[static_cast<size_t>(i * n + j)]; };
    double determinant = 1;
    for (int64_t k = 0; k < n; ++k) {
      int64_t pivot = k;
      for (int64_t i = k + 1; i < n; ++i) {
        if (std::fabs(at(i, k)) > std::fabs(at(pivot, k))) pivot = i;
      }
      if (pivot != k) determinant = -determinant;
      for (int64_t j = 0; pivot != k && j < n; ++j) std::swap(at(pivot, j), at(k, j));
      determinant *= at(k, k);
      if (at(k, k) == 0) break;
      for (int64_t i = k + 1; i < n; ++i) {
        const double factor = at(i, k) / at(k, k);
        for (int64_t j = k; j < n; ++j) at(i, j) -= factor * at(k, j);
      }
    }
    result.Set(b, determinant);
  }
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
absl::StatusOr<Arrays> RunNgrams(const Attrs& attrs, const Arrays& args) {
  const NDArray& x = args[0];
  const auto &counts = *attrs.at("counts").As<IntList>(), &indexes = *attrs.at("indexes").As<IntList>();
  const auto& pool = *attrs.at("pool").As<IntList>();
  const auto& weights = *attrs.at("weights").As<FloatList>();
  const auto mode = Get<std::string>(attrs, "mode");
  const auto least = Get<int64_t>(attrs, "least"), most = Get<int64_t>(attrs, "most");
  const auto skips = Get<int64_t>(attrs, "skips");
  // Each n-gram of the pool with its number.
  std::map<std::vector<int64_t>, size_t> grams;
  for (size_t n = 1; n <= counts.size(); ++n) {
    const int64_t end = n < counts.size() ? counts[n] : static_cast<int64_t>(pool.size());
    for (int64_t at = counts[n - 1]; at + static_cast<int64_t>(n) <= end; at += static_cast<int64_t>(n)) {
      grams.emplace(std::vector<int64_t>(pool.begin() + at, pool.begin() + at + static_cast<std::ptrdiff_t>(n)),
                    grams.size());
    }
  }
  int64_t columns = 0;
  for (int64_t index : indexes) columns = std::max(columns, index + 1);
  std::vector<int64_t> shape(x.shape().begin(), x.shape().end() - 1);
  shape.push_back(columns);
  NDArray result(DataType::Float(32), shape);
  const int64_t length = x.shape().back(), rows = length == 0 ? 0 : x.size() / length;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t n = least; n <= most; ++n) {
      for (int64_t skip = 0; skip <= (n == 1 ? 0 : skips); ++skip) {
        for (int64_t first = 0; first + (skip + 1) * (n - 1) < length; ++first) {
          std::vector<int64_t> gram;
          for (int64_t i = 0; i < n; ++i) gram.push_back(x.GetInt(row * length + first + i * (skip + 1)));
          const auto found = grams.find(gram);
          if (found == grams.end() || found->second >= indexes.size()) continue;
          const int64_t at = row * columns + indexes[found->second];
          const double weight = found->second < weights.size() ? weights[found->second] : 1;
          if (mode == "IDF") {
            result.Set(at, weight);
          } else {
            result.Set(at, result.Get(at) + (mode == "TFIDF" ? weight : 1));
          }
        }
      }
    }
  }
  return Arrays{result};
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
absl::StatusOr<Arrays> RunReadValues(const Attrs&, const Arrays& args) { return args; }

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
                 RunNgrams});
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
            .attrs = {body, types, integer("carried"), integer("scanned")},
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
