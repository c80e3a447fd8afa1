// Models and encoders of ai.onnx.ml, but for trees.
#include <cmath>

#include "base/status_macros.h"
#include "graph/onnx/graph_importer.h"
#include "graph/onnx/ml_scores.h"
#include "graph/onnx/model_file.h"
#include "graph/onnx/node.h"
#include "graph/onnx/operators.h"
#include "ir/ops/indexing.h"
#include "ir/ops/movement.h"
#include "ir/ops/reduction.h"
#include "ir/ops/scalar_math.h"

namespace tilewright::graph {
namespace {

namespace ops = tilewright::ops;
constexpr DataType kF32 = DataType::Float(32), kI64 = DataType::Int(64);

// One number for each feature, or one for all.
absl::StatusOr<Item> OfFeatures(OnnxNode& n, const std::vector<double>& values, int64_t count) {
  const auto given = static_cast<int64_t>(values.size());
  if (given != 1 && given != count) return n.Error(given, " numbers for ", count, " features");
  return FloatsItem(n, values, {given});
}

absl::Status ImportScaler(OnnxNode& n) {
  TW_ASSIGN_OR_RETURN(const Features features, FeaturesOf(n));
  std::vector<double> offset = n.Floats("offset"), scale = n.Floats("scale");
  if (offset.empty()) offset = {0};
  if (scale.empty()) scale = {1};
  TW_ASSIGN_OR_RETURN(const Item o, OfFeatures(n, offset, features.count));
  TW_ASSIGN_OR_RETURN(const Item s, OfFeatures(n, scale, features.count));
  return n.Out(n.MapMixed("scaler", {features.x, o, s},
                          [](const Exprs& e) { return CastTo(kF32, (CastTo(kF32, e[0]) - e[1]) * e[2]); }));
}

absl::Status ImportNormalizer(OnnxNode& n) {
  TW_ASSIGN_OR_RETURN(const Features features, FeaturesOf(n));
  const std::string norm = n.String("norm", "MAX");
  if (norm != "MAX" && norm != "L1" && norm != "L2") return n.Error("the norm is \"", norm, "\"");
  return n.Out(n.Program("normalizer", {features.x}, [&](ProgramParts& p) {
    const Buffer& x = p.in[0];
    const Expr zero = Const(kF32, 0), one = Const(kF32, 1);
    const auto reduction = norm == "MAX" ? ops::Reduction::kMax : ops::Reduction::kSum;
    Buffer sum = ops::ReduceElements(p.f, "norm", reduction, x->shape, {1}, true, [&](const ops::Indices& at) {
      const Expr value = CastTo(kF32, x.Load(at));
      return norm == "MAX" ? value : norm == "L1" ? ops::Unary("abs", value) : value * value;
    });
    return Buffers{ops::Map(p.f, "normalizer", {x, sum}, [&](const Exprs& e) {
      const Expr by = norm == "L2" ? ops::Unary("sqrt", e[1]) : e[1];
      return Div(CastTo(kF32, e[0]), Select(by == zero, one, by));
    })};
  }));
}

absl::Status ImportImputer(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 1));
  const Item& x = n.In(0);
  const auto count = x.rank() > 0 ? AsInt(x.shape.back()) : std::nullopt;
  if (!count) return n.Unsupported("a symbolic number of features");
  if (x.dtype.is_float()) {
    TW_ASSIGN_OR_RETURN(const Item values, OfFeatures(n, n.Floats("imputed_value_floats"), *count));
    const double replaced = n.Float("replaced_value_float", 0);
    return n.Out(n.MapMixed("imputer", {x, values}, [&](const Exprs& e) {
      const Expr missing = std::isnan(replaced) ? tilewright::Call(DataType::Bool(), "isnan", {e[0]})
                                                : e[0] == ConstFloat(e[0].dtype(), replaced);
      return Select(missing, CastTo(x.dtype, e[1]), e[0]);
    }));
  }
  const Int64s given = n.WideInts("imputed_value_int64s").value_or(Int64s{});
  const auto size = static_cast<int64_t>(given.size());
  if (size != 1 && size != *count) return n.Error(size, " numbers for ", *count, " features");
  const int64_t replaced = n.WideInt("replaced_value_int64", 0);
  return n.Out(n.MapMixed("imputer", {x, Int64sItem(n, given, {size})}, [&](const Exprs& e) {
    return Select(e[0] == Const(e[0].dtype(), replaced), CastTo(x.dtype, e[1]), e[0]);
  }));
}

absl::Status ImportBinarizer(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 1));
  const double threshold = n.Float("threshold", 0);
  return n.Map("binarizer", [&](const Exprs& e) {
    const DataType type = e[0].dtype();
    if (type.is_float()) return Select(e[0] > ConstFloat(type, threshold), Const(type, 1), Const(type, 0));
    // An integer is above a number where it is above the integer below it; none is above NaN.
    const double below = std::floor(threshold);
    if (below < static_cast<double>(MinValue(type))) return Const(type, 1);
    if (!(below < static_cast<double>(MaxValue(type)))) return Const(type, 0);
    return Select(e[0] > Const(type, static_cast<int64_t>(below)), Const(type, 1), Const(type, 0));
  });
}

// Columns of the last dimension.
absl::Status ImportArrayFeatureExtractor(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 2));
  Item x = n.In(0);
  if (x.rank() == 0) return n.Error("its input is a scalar");
  if (x.rank() == 1) {
    TW_ASSIGN_OR_RETURN(x, n.emit().View(x, {Extent(1), x.shape[0]}));
  }
  TW_ASSIGN_OR_RETURN(const Item indices, n.emit().View(n.In(1), {NumElements(n.In(1).shape)}));
  const int axis = static_cast<int>(x.rank()) - 1;
  return n.Out(n.Program("gather", {x, indices},
                         [&](ProgramParts& p) { return Buffers{ops::Gather(p.f, p.in[0], p.in[1], axis)}; }));
}

// Inputs side by side, as f32.
absl::Status ImportFeatureVectorizer(OnnxNode& n) {
  Items parts;
  for (size_t i = 0; i < n.in().size(); ++i) {
    TW_RETURN_IF_ERROR(n.RequireTensors(i, 1));
    Item x = n.In(i);
    if (x.rank() == 1) {
      TW_ASSIGN_OR_RETURN(x, n.emit().View(x, {Extent(1), x.shape[0]}));
    }
    if (x.dtype != kF32) {
      TW_ASSIGN_OR_RETURN(const Items wide,
                          n.MapItems("features", {x}, [](const Exprs& e) { return ops::Convert(kF32, e[0]); }));
      x = wide[0];
    }
    parts.push_back(std::move(x));
  }
  return n.Out(n.Call("Concat", 13, parts, {IntAttribute("axis", 1)}));
}

// x times the transpose of [targets, features] coefficients, plus intercepts.
absl::StatusOr<Item> LinearScores(OnnxNode& n, int64_t targets) {
  TW_ASSIGN_OR_RETURN(const Features features, FeaturesOf(n));
  const std::vector<double> coefficients = n.Floats("coefficients"), intercepts = n.Floats("intercepts");
  if (static_cast<int64_t>(coefficients.size()) != targets * features.count) {
    return n.Error(coefficients.size(), " coefficients for ", targets, " targets of ", features.count, " features");
  }
  if (!intercepts.empty() && static_cast<int64_t>(intercepts.size()) != targets) {
    return n.Error(intercepts.size(), " intercepts for ", targets, " targets");
  }
  Items operands = {features.x, FloatsItem(n, coefficients, {targets, features.count})};
  if (!intercepts.empty()) operands.push_back(FloatsItem(n, intercepts, {targets}));
  TW_ASSIGN_OR_RETURN(const Items scores, n.Program("linear", operands, [&](ProgramParts& p) {
    tilewright::ReduceAxis k("k", Expr(features.count));
    const std::vector<Expr> shape = {p.in[0]->shape[0], Expr(targets)};
    Buffer sums = p.f.Compute("linear", shape, [&](Symbol i, Symbol j) {
      return tilewright::Sum(CastTo(kF32, p.in[0](i, k)) * p.in[1](j, k), k);
    });
    if (p.in.size() < 3) return Buffers{sums};
    return Buffers{p.f.Compute("intercepts", shape, [&](Symbol i, Symbol j) { return sums(i, j) + p.in[2](j); })};
  }));
  return scores[0];
}

absl::Status ImportLinearRegressor(OnnxNode& n) {
  const int64_t targets = n.Int("targets", 1);
  if (targets < 1 || targets > 1 << 24) return n.Error("targets is ", targets);
  TW_ASSIGN_OR_RETURN(const Item scores, LinearScores(n, targets));
  return n.Out(PostTransformed(n, scores));
}

absl::Status ImportLinearClassifier(OnnxNode& n) {
  TW_ASSIGN_OR_RETURN(const Int64s labels, LabelsOf(n, "classlabels_ints", "classlabels_strings"));
  const auto rows = static_cast<int64_t>(n.Floats("intercepts").size());
  TW_ASSIGN_OR_RETURN(const Item scores, LinearScores(n, rows > 0 ? rows : static_cast<int64_t>(labels.size())));
  if (rows == 1 && labels.size() == 2) {
    TW_ASSIGN_OR_RETURN(const Item label, BinaryLabel(n, scores, labels, 0.5));
    TW_ASSIGN_OR_RETURN(const Item transformed, PostTransformed(n, scores));
    TW_ASSIGN_OR_RETURN(Item both, BothScores(n, transformed, true));
    return n.Out(Items{label, both});
  }
  TW_ASSIGN_OR_RETURN(const Item label, BestLabel(n, scores, labels));
  TW_ASSIGN_OR_RETURN(Item transformed, PostTransformed(n, scores));
  return n.Out(Items{label, transformed});
}

// Numbers of an attribute of a LabelEncoder, as an array; nothing where there is none of these.
absl::StatusOr<std::optional<NDArray>> TableOf(OnnxNode& n, const std::string& prefix) {
  if (const auto ints = n.WideInts(prefix + "_int64s"); ints && !ints->empty()) {
    return ArrayOf(Int64sItem(n, *ints, {static_cast<int64_t>(ints->size())}));
  }
  if (const auto floats = n.Floats(prefix + "_floats"); !floats.empty()) {
    return ArrayOf(FloatsItem(n, floats, {static_cast<int64_t>(floats.size())}));
  }
  if (const auto* tensor = n.Attr(prefix + "_tensor"); tensor != nullptr) {
    TW_ASSIGN_OR_RETURN(const Item item, n.importer().ConstantOf(tensor->t()));
    return ArrayOf(item);
  }
  if (!n.Strings(prefix + "_strings").empty()) return n.Unsupported("strings among its ", prefix);
  return std::optional<NDArray>();
}

// Values of integer keys that are close together, as a table from the least key on; `fallback` between them. The first
// of equal keys counts.
struct DenseTable {
  int64_t least = 0;
  NDArray values;
};
std::optional<DenseTable> DenseTableOf(const NDArray& keys, const NDArray& values, const NDArray& fallback) {
  constexpr int64_t kRoom = 64;
  if (keys.dtype() != DataType::Int(64)) return std::nullopt;
  const auto* key = static_cast<const int64_t*>(keys.data());
  const auto [least, most] = std::minmax_element(key, key + keys.size());
  const uint64_t span = static_cast<uint64_t>(*most) - static_cast<uint64_t>(*least);
  if (span >= static_cast<uint64_t>(4 * keys.size() + kRoom)) return std::nullopt;
  DenseTable table{*least, NDArray(values.dtype(), {static_cast<int64_t>(span) + 1})};
  const auto copy = [&](int64_t to, const NDArray& from, int64_t at) {
    values.dtype().is_float() ? table.values.Set(to, from.Get(at)) : table.values.SetInt(to, from.GetInt(at));
  };
  for (int64_t i = 0; i < table.values.size(); ++i) copy(i, fallback, 0);
  for (int64_t i = keys.size(); i-- > 0;) copy(key[i] - *least, values, i);
  return table;
}

absl::Status EncodeByTable(OnnxNode& n, const DenseTable& table, const NDArray& fallback) {
  const Items operands = {n.In(0), n.emit().FromArray(table.values), n.emit().FromArray(fallback)};
  return n.Out(n.Program("label_encoder", operands, [&](ProgramParts& p) {
    return Buffers{ops::Map(p.f, "label_encoder", {p.in[0]}, [&](const Exprs& e) {
      const Expr first = Const(kI64, table.least), last = Const(kI64, table.least + table.values.size() - 1);
      const Expr inside = Max(Min(e[0], last), first);
      return Select(e[0] == inside, p.in[1](inside - first), p.in[2](Expr(0)));
    })};
  }));
}

// The value beside the key that equals the element, or a default. The first of equal keys counts.
absl::Status ImportLabelEncoder(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 1));
  TW_ASSIGN_OR_RETURN(const auto keys, TableOf(n, "keys"));
  TW_ASSIGN_OR_RETURN(const auto values, TableOf(n, "values"));
  if (!keys || !values || keys->size() != values->size() || keys->size() == 0) {
    return n.Error("its keys and values have different numbers");
  }
  const int64_t count = keys->size();
  if (keys->dtype().is_float() != n.In(0).dtype.is_float()) return n.Error("keys of another type than its input");
  const DataType to = values->dtype();
  NDArray fallback(to, {1});
  if (const auto* tensor = n.Attr("default_tensor"); tensor != nullptr) {
    TW_ASSIGN_OR_RETURN(const Item item, n.importer().ConstantOf(tensor->t()));
    const auto array = ArrayOf(item);
    if (array->size() != 1) return n.Error("its default is not one number");
    fallback.Set(0, array->Get(0));
  } else if (to.is_float()) {
    fallback.Set(0, n.Float("default_float", -0.0));
  } else {
    fallback.SetInt(0, n.WideInt("default_int64", -1));
  }
  if (n.In(0).dtype == kI64) {
    if (const auto table = DenseTableOf(*keys, *values, fallback)) return EncodeByTable(n, *table, fallback);
  }
  const Items operands = {n.In(0), n.emit().FromArray(keys->WithShape({count})),
                          n.emit().FromArray(values->WithShape({count})), n.emit().FromArray(fallback)};
  return n.Out(n.Program("label_encoder", operands, [&](ProgramParts& p) {
    // The number of the key that an element equals; behind the last where there is none.
    std::vector<Expr> domain = p.in[0]->shape;
    domain.push_back(Expr(count));
    const auto axis = static_cast<int>(domain.size()) - 1;
    Buffer place =
        ops::ReduceElements(p.f, "place", ops::Reduction::kMin, domain, {axis}, false, [&](const ops::Indices& at) {
          const ops::Indices element(at.begin(), at.end() - 1);
          const Expr x = p.in[0].Load(element), key = CastTo(x.dtype(), p.in[1](at.back()));
          Expr equal = x == key;
          // Keys are compared as bits from opset 4 on.
          if (x.dtype().is_float() && n.opset() >= 4) {
            const auto is_nan = [](const Expr& e) { return tilewright::Call(DataType::Bool(), "isnan", {e}); };
            equal = Or(equal, And(is_nan(x), is_nan(key)));
          }
          return Select(equal, CastTo(kI64, at.back()), Const(kI64, count));
        });
    return Buffers{ops::Map(p.f, "label_encoder", {place}, [&](const Exprs& e) {
      const Expr last = Const(kI64, count - 1);
      return Select(e[0] <= last, p.in[2](Max(Min(e[0], last), Const(kI64, 0))), p.in[3](Expr(0)));
    })};
  }));
}

// A new last dimension with 1 where the element is the category, else 0.
absl::Status ImportOneHotEncoder(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 1));
  if (!n.Strings("cats_strings").empty()) return n.Unsupported("categories that are strings");
  const Int64s categories = n.WideInts("cats_int64s").value_or(Int64s{});
  if (categories.empty()) return n.Error("it has no categories");
  if (n.Int("zeros", 1) == 0) return n.Unsupported("zeros=0, which asks for an error when the model runs");
  const auto count = static_cast<int64_t>(categories.size());
  return n.Out(n.Program("one_hot_encoder", {n.In(0), Int64sItem(n, categories, {count})}, [&](ProgramParts& p) {
    std::vector<Expr> shape = p.in[0]->shape;
    shape.push_back(Expr(count));
    return Buffers{p.f.Compute("one_hot_encoder", shape, [&](const std::vector<Symbol>& v) {
      const Expr x = ops::Convert(kI64, p.in[0].Load({v.begin(), v.end() - 1}));
      return Select(x == p.in[1](v.back()), Const(kF32, 1), Const(kF32, 0));
    })};
  }));
}

// A sequence of maps from labels to scores: the scores, [rows, classes], whose columns are the labels in their order.
absl::Status ImportZipMap(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 1));
  return n.Out(n.In(0));
}

// Kernels of support vectors, at a sum of products or of squares.
absl::StatusOr<std::function<Expr(const Expr&)>> KernelOf(OnnxNode& n, bool* of_distance) {
  const std::string kind = n.String("kernel_type", "LINEAR");
  const std::vector<double> given = n.Floats("kernel_params");
  const double gamma = given.size() == 3 ? given[0] : 0, coef = given.size() == 3 ? given[1] : 0,
               degree = given.size() == 3 ? given[2] : 0;
  const auto number = [](double value) { return ConstFloat(kF32, value); };
  *of_distance = kind == "RBF";
  using Kernel = std::function<Expr(const Expr&)>;
  if (kind == "LINEAR") return Kernel([](const Expr& e) { return e; });
  if (kind == "RBF") return Kernel([=](const Expr& e) { return ops::Unary("exp", e * number(-gamma)); });
  if (kind == "POLY") {
    return Kernel([=](const Expr& e) { return ops::Power(e * number(gamma) + number(coef), number(degree)); });
  }
  if (kind == "SIGMOID")
    return Kernel([=](const Expr& e) { return ops::Unary("tanh", e * number(gamma) + number(coef)); });
  return n.Error("the kernel_type is \"", kind, "\"");
}

absl::Status ImportSvmRegressor(OnnxNode& n) {
  const int64_t supports = n.Int("n_supports", 0);
  TW_ASSIGN_OR_RETURN(const Features features, FeaturesOf(n));
  const std::vector<double> vectors = n.Floats("support_vectors"), coefficients = n.Floats("coefficients");
  const std::vector<double> rho = n.Floats("rho");
  const int64_t rows = supports > 0 ? supports : 1;
  const std::vector<double>& matrix = supports > 0 ? vectors : coefficients;
  if (rho.size() != 1 || static_cast<int64_t>(matrix.size()) != rows * features.count ||
      (supports > 0 && static_cast<int64_t>(coefficients.size()) != supports)) {
    return n.Error("its support vectors, coefficients and rho do not fit");
  }
  bool of_distance = false;
  TW_ASSIGN_OR_RETURN(const auto kernel, KernelOf(n, &of_distance));
  const bool one_class = n.Int("one_class", 0) != 0;
  Items operands = {features.x, FloatsItem(n, matrix, {rows, features.count})};
  if (supports > 0) operands.push_back(FloatsItem(n, coefficients, {supports}));
  TW_ASSIGN_OR_RETURN(const Items scores, n.Program("svm", operands, [&](ProgramParts& p) {
    tilewright::ReduceAxis k("k", Expr(features.count));
    Buffer products = p.f.Compute("svm_products", {p.in[0]->shape[0], Expr(rows)}, [&](Symbol i, Symbol j) {
      const Expr x = CastTo(kF32, p.in[0](i, k)), y = p.in[1](j, k);
      return tilewright::Sum(of_distance ? (x - y) * (x - y) : x * y, k);
    });
    Buffer sums = ops::ReduceElements(p.f, "svm_sum", ops::Reduction::kSum, products->shape, {1}, true,
                                      [&](const ops::Indices& at) {
                                        const Expr value = kernel(products.Load(at));
                                        return supports > 0 ? value * p.in[2](at[1]) : value;
                                      });
    return Buffers{ops::Map(p.f, "svm", {sums}, [&](const Exprs& e) {
      const Expr score = e[0] + ConstFloat(kF32, rho[0]);
      return one_class ? Select(score > Const(kF32, 0), Const(kF32, 1), Const(kF32, -1)) : score;
    })};
  }));
  return n.Out(PostTransformed(n, scores[0]));
}

}  // namespace

OnnxOperators MachineLearningOperators() {
  constexpr const char* kDomain = kMachineLearning;
  return {
      {"ArrayFeatureExtractor", 1, ImportArrayFeatureExtractor, {.integers = Inputs({1})}, kDomain},
      {"Binarizer", 1, ImportBinarizer, {.elements = Elements::kNumbers}, kDomain},
      {"FeatureVectorizer", 1, ImportFeatureVectorizer, {}, kDomain},
      {"Imputer", 1, ImportImputer, {.elements = Elements::kNumbers}, kDomain},
      {"LabelEncoder", 2, ImportLabelEncoder, {}, kDomain},
      {"LinearClassifier", 1, ImportLinearClassifier, {.required = "coefficients"}, kDomain},
      {"LinearRegressor", 1, ImportLinearRegressor, {}, kDomain},
      {"Normalizer", 1, ImportNormalizer, {}, kDomain},
      {"OneHotEncoder", 1, ImportOneHotEncoder, {.elements = Elements::kNumbers}, kDomain},
      {"SVMRegressor", 1, ImportSvmRegressor, {}, kDomain},
      {"Scaler", 1, ImportScaler, {}, kDomain},
      {"ZipMap", 1, ImportZipMap, {}, kDomain},
  };
}

}  // namespace tilewright::graph
