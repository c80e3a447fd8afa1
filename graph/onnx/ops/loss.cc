// Losses.
#include <numeric>

#include "base/status_macros.h"
#include "graph/onnx/node.h"
#include "graph/onnx/operators.h"
#include "ir/ops/indexing.h"
#include "ir/ops/reduction.h"
#include "ir/ops/row_ops.h"
#include "ir/ops/scalar_math.h"

namespace tilewright::graph {
namespace {

namespace ops = tilewright::ops;

struct LossForm {
  std::string reduction;
  std::optional<int64_t> ignored;  // a class that counts for nothing
};

absl::StatusOr<LossForm> LossOf(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 2));
  if (n.In(0).rank() < 2 || n.In(1).rank() + 1 != n.In(0).rank()) return n.Error("scores and labels of other ranks");
  TW_RETURN_IF_ERROR(n.RequireFloat());
  if (n.Has(2) && n.In(2).dtype != n.In(0).dtype) return n.Error("weights of another type");
  Exprs labels = n.In(0).shape;
  labels.erase(labels.begin() + 1);
  TW_RETURN_IF_ERROR(n.RequireShape(1, labels));
  TW_RETURN_IF_ERROR(n.RequireShape(2, {n.In(0).shape[1]}));
  LossForm form{.reduction = n.String("reduction", "mean"), .ignored = {}};
  if (form.reduction != "none" && form.reduction != "sum" && form.reduction != "mean") {
    return n.Error("the reduction is \"", form.reduction, "\"");
  }
  if (n.Attr("ignore_index") != nullptr) form.ignored = n.WideInt("ignore_index", 0);
  return form;
}

// -log_probabilities[n, label, ...] * weight[label], reduced. `weights` may be null: every class weighs one.
Buffer LabelLoss(ProgramParts& p, const Buffer& log_probabilities, const Buffer& labels, const Buffer& weights,
                 const LossForm& form) {
  const DataType type = log_probabilities->dtype, i64 = DataType::Int(64);
  const Expr classes = log_probabilities->shape[1];
  const DataType wide = type.bits() < 32 ? DataType::Float(32) : type;
  // What counts for an element with a label of a class that counts, else 0: a product with 0 would be NaN where the
  // score is infinite.
  const auto counted = [&](const ops::Indices& at, const Expr& value) {
    if (!form.ignored) return value;
    return Select(CastTo(i64, labels.Load(at)) == Const(i64, *form.ignored), Const(wide, 0), value);
  };
  const auto class_weight = [&](const ops::Indices& at) {
    return weights ? CastTo(wide, weights(ops::WrapIndex(labels.Load(at), classes))) : Const(wide, 1);
  };
  const auto weight = [&](const ops::Indices& at) { return counted(at, class_weight(at)); };
  const auto loss = [&](const ops::Indices& at) {
    ops::Indices place = at;
    place.insert(place.begin() + 1, ops::WrapIndex(labels.Load(at), classes));
    return counted(at, (Const(wide, 0) - CastTo(wide, log_probabilities.Load(place))) * class_weight(at));
  };
  if (form.reduction == "none") {
    return p.f.Compute("loss", labels->shape, [&](const std::vector<Symbol>& v) {
      return CastTo(type, loss(ops::Indices(v.begin(), v.end())));
    });
  }
  std::vector<int> axes(labels->ndim());
  std::iota(axes.begin(), axes.end(), 0);
  Buffer sum = ops::ReduceElements(p.f, "loss_sum", ops::Reduction::kSum, labels->shape, axes, false, loss);
  if (form.reduction == "sum") {
    return wide == type ? sum : ops::Map(p.f, "loss", {sum}, [&](const Exprs& e) { return CastTo(type, e[0]); });
  }
  Buffer total = ops::ReduceElements(p.f, "weight_sum", ops::Reduction::kSum, labels->shape, axes, false, weight);
  return ops::Map(p.f, "loss", {sum, total}, [&](const Exprs& e) { return CastTo(type, Div(e[0], e[1])); });
}

absl::Status ImportNegativeLogLikelihood(OnnxNode& n) {
  TW_ASSIGN_OR_RETURN(const LossForm form, LossOf(n));
  return n.Out(n.Program("nll_loss", n.in(), [&](ProgramParts& p) {
    return Buffers{LabelLoss(p, p.in[0], p.in[1], p.in.size() > 2 ? p.in[2] : Buffer(), form)};
  }));
}

absl::Status ImportSoftmaxCrossEntropy(OnnxNode& n) {
  TW_ASSIGN_OR_RETURN(const LossForm form, LossOf(n));
  return n.Out(n.Program("softmax_cross_entropy", n.in(), [&](ProgramParts& p) {
    Buffer log_probabilities = ops::SoftmaxOver(p.f, p.in[0], {1}, /*logarithm=*/true);
    Buffer loss = LabelLoss(p, log_probabilities, p.in[1], p.in.size() > 2 ? p.in[2] : Buffer(), form);
    return n.Wants(1) ? Buffers{loss, log_probabilities} : Buffers{loss};
  }));
}

}  // namespace

OnnxOperators LossOperators() {
  return {
      {"NegativeLogLikelihoodLoss", 12, ImportNegativeLogLikelihood},
      {"SoftmaxCrossEntropyLoss", 12, ImportSoftmaxCrossEntropy, {.elements = Elements::kFloats}},
  };
}

}  // namespace tilewright::graph
