#include "graph/onnx/ml_scores.h"

#include <cmath>

#include "base/status_macros.h"
#include "ir/ops/reduction.h"
#include "ir/ops/row_ops.h"
#include "ir/ops/scalar_math.h"

namespace tilewright::graph {
namespace {

namespace ops = tilewright::ops;
constexpr DataType kF32 = DataType::Float(32), kI64 = DataType::Int(64);

// sqrt(2) times the inverse of erf at 2 s - 1, by the approximation that runtimes use.
Expr Probit(const Expr& s) {
  const auto number = [](double value) { return ConstFloat(kF32, value); };
  const Expr x = number(2) * s - number(1);
  const Expr log = ops::Unary("log", (number(1) - x) * (number(1) + x));
  const Expr a = number(2 / (M_PI * 0.147)) + number(0.5) * log;
  const Expr b = number(1 / 0.147) * log;
  const Expr root = ops::Unary("sqrt", ops::Unary("sqrt", a * a - b) - a);
  return number(std::sqrt(2)) * Select(x < number(0), number(0) - root, root);
}

// A score of 0 stays 0 and takes no part.
absl::StatusOr<Items> SoftmaxOfOthers(OnnxNode& n, const Item& scores) {
  return n.Program("softmax_zero", {scores}, [](ProgramParts& p) {
    const Buffer& x = p.in[0];
    const Expr zero = Const(kF32, 0);
    Buffer largest = ops::Reduce(p.f, "largest", ops::Reduction::kMax, x, {1}, true);
    Buffer powers = ops::Map(p.f, "powers", {x, largest}, [&](const Exprs& e) {
      const Expr tiny = ops::Unary("abs", e[0]) <= ConstFloat(kF32, 1e-7);
      return Select(tiny, zero, ops::Unary("exp", e[0] - e[1]));
    });
    Buffer sums = ops::Reduce(p.f, "sums", ops::Reduction::kSum, powers, {1}, true);
    return Buffers{ops::Map(p.f, "softmax_zero", {powers, sums},
                            [&](const Exprs& e) { return Select(e[1] == zero, zero, Div(e[0], e[1])); })};
  });
}

}  // namespace

absl::StatusOr<Item> PostTransformed(OnnxNode& n, const Item& scores) {
  return Transformed(n, scores, n.String("post_transform", "NONE"));
}

absl::StatusOr<Item> Transformed(OnnxNode& n, const Item& scores, const std::string& how) {
  if (how == "NONE") return scores;
  absl::StatusOr<Items> result;
  if (how == "LOGISTIC") {
    result = n.MapItems("logistic", {scores}, [](const Exprs& e) { return ops::Sigmoid(e[0]); });
  } else if (how == "SOFTMAX") {
    result =
        n.Program("softmax", {scores}, [](ProgramParts& p) { return Buffers{ops::SoftmaxOver(p.f, p.in[0], {1})}; });
  } else if (how == "SOFTMAX_ZERO") {
    result = SoftmaxOfOthers(n, scores);
  } else if (how == "PROBIT") {
    result = n.MapItems("probit", {scores}, [](const Exprs& e) { return Probit(e[0]); });
  } else {
    return n.Error("the post_transform is \"", how, "\"");
  }
  if (!result.ok()) return result.status();
  return (*result)[0];
}

absl::StatusOr<Int64s> LabelsOf(OnnxNode& n, const std::string& ints, const std::string& strings) {
  if (!n.Strings(strings).empty()) return n.Unsupported("labels that are strings");
  const auto labels = n.WideInts(ints);
  if (!labels || labels->empty()) return n.Error("it has no labels");
  return *labels;
}

absl::StatusOr<Item> BestLabel(OnnxNode& n, const Item& scores, const Int64s& labels) {
  const Item table = Int64sItem(n, labels, {static_cast<int64_t>(labels.size())});
  TW_ASSIGN_OR_RETURN(Items result, n.Program("label", {scores, table}, [](ProgramParts& p) {
    Buffer best = ops::ArgExtreme(p.f, p.in[0], 1, false, true, false);
    return Buffers{p.f.Compute("label", best->shape, [&](Symbol i) {
      const Expr last = CastTo(kI64, p.in[1]->shape[0]) - Const(kI64, 1);
      return p.in[1](Max(Min(best(i), last), Const(kI64, 0)));
    })};
  }));
  return result[0];
}

absl::StatusOr<Item> BinaryLabel(OnnxNode& n, const Item& score, const Int64s& labels, double above) {
  const int64_t negative = labels.size() > 1 ? labels[0] : 0, positive = labels.size() > 1 ? labels[1] : labels[0];
  TW_ASSIGN_OR_RETURN(Items result, n.Program("label", {score}, [&](ProgramParts& p) {
    return Buffers{p.f.Compute("label", {p.in[0]->shape[0]}, [&](Symbol i) {
      const Expr value = p.in[0](i, Expr(0));
      return Select(value > ConstFloat(value.dtype(), above), Const(kI64, positive), Const(kI64, negative));
    })};
  }));
  return result[0];
}

absl::StatusOr<Item> BothScores(OnnxNode& n, const Item& score, bool is_probability) {
  TW_ASSIGN_OR_RETURN(Items result, n.Program("both_scores", {score}, [&](ProgramParts& p) {
    return Buffers{p.f.Compute("both_scores", {p.in[0]->shape[0], Expr(2)}, [&](Symbol i, Symbol which) {
      const Expr value = p.in[0](i, Expr(0)), zero = Const(kF32, 0);
      const Expr other = is_probability ? Const(kF32, 1) - value : zero - value;
      return Select(which == Const(which.dtype(), 0), other, value);
    })};
  }));
  return result[0];
}

Item FloatsItem(OnnxNode& n, const std::vector<double>& values, std::vector<int64_t> shape) {
  NDArray array(kF32, std::move(shape));
  for (size_t i = 0; i < values.size(); ++i) array.Set(static_cast<int64_t>(i), values[i]);
  return n.emit().FromArray(array);
}
Item Int64sItem(OnnxNode& n, const Int64s& values, std::vector<int64_t> shape) {
  NDArray array(kI64, std::move(shape));
  for (size_t i = 0; i < values.size(); ++i) array.SetInt(static_cast<int64_t>(i), values[i]);
  return n.emit().FromArray(array);
}

absl::StatusOr<Features> FeaturesOf(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 1));
  Item x = n.In(0);
  if (x.rank() == 1) {
    TW_ASSIGN_OR_RETURN(x, n.emit().View(x, {Extent(1), x.shape[0]}));
  }
  if (x.rank() != 2) return n.Error("its input has rank ", x.rank());
  const auto count = AsInt(x.shape[1]);
  if (!count) return n.Unsupported("a symbolic number of features");
  if (!x.dtype.is_float()) {
    TW_ASSIGN_OR_RETURN(const Items wide,
                        n.MapItems("features", {x}, [](const Exprs& e) { return ops::Convert(kF32, e[0]); }));
    x = wide[0];
  }
  return Features{std::move(x), *count};
}

}  // namespace tilewright::graph
