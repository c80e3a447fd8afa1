// Normalizations.
#include <numeric>

#include "base/status_macros.h"
#include "graph/onnx/model_file.h"
#include "graph/onnx/node.h"
#include "graph/onnx/operators.h"
#include "ir/ops/reduction.h"
#include "ir/ops/row_ops.h"
#include "ir/ops/scalar_math.h"

namespace tilewright::graph {
namespace {

namespace ops = tilewright::ops;

DataType Computing(DataType type) { return type.bits() < 32 ? DataType::Float(32) : type; }

// One number for each channel (dimension 1) at the indices of an element.
Expr OfChannel(const Buffer& b, const ops::Indices& at) { return b(at.size() > 1 ? at[1] : Expr(0)); }

absl::Status ImportBatchNormalization(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 5));
  TW_RETURN_IF_ERROR(n.RequireFloat());
  const Item& x = n.In(0);
  for (size_t i = 1; i < 5; ++i) {
    if (x.rank() < 1) return n.Error("its input is a scalar");
    TW_RETURN_IF_ERROR(n.RequireShape(i, {x.rank() > 1 ? x.shape[1] : Extent(1)}));
  }
  if (n.opset() < 9 && n.Int("spatial", 1) == 0) return n.Unsupported("spatial=0");
  const double epsilon = n.Float("epsilon", 1e-5f), momentum = n.Float("momentum", 0.9f);
  // Before opset 14 a node that gives more than y is one of training; it gives what a backward pass reads too.
  const bool old_training = n.opset() < 14 && (n.Wants(1) || n.Wants(2) || n.Wants(3) || n.Wants(4));
  const bool training = n.opset() >= 14 ? n.Int("training_mode", 0) != 0 : old_training;
  const DataType type = x.dtype, wide = Computing(type);
  const auto normalize = [&](ProgramParts& p, const Buffer& mean, const Buffer& variance) {
    const Expr eps = ConstFloat(wide, epsilon);
    return p.f.Compute("batch_norm", p.in[0]->shape, [&](const std::vector<Symbol>& v) {
      const ops::Indices at(v.begin(), v.end());
      const auto value = [&](const Buffer& b) { return CastTo(wide, OfChannel(b, at)); };
      const Expr scale = Div(value(p.in[1]), ops::Unary("sqrt", value(variance) + eps));
      return CastTo(type, (CastTo(wide, p.in[0].Load(at)) - value(mean)) * scale + value(p.in[2]));
    });
  };
  if (!training) {
    return n.Out(
        n.Program("batch_norm", n.in(), [&](ProgramParts& p) { return Buffers{normalize(p, p.in[3], p.in[4])}; }));
  }
  return n.Out(n.Program("batch_norm", n.in(), [&](ProgramParts& p) {
    const Buffer& in = p.in[0];
    std::vector<int> axes = {0};
    for (size_t i = 2; i < in->ndim(); ++i) axes.push_back(static_cast<int>(i));
    const Expr count = ops::CountOf(in->shape, axes, wide);
    Buffer sum = ops::ReduceElements(p.f, "sum", ops::Reduction::kSum, in->shape, axes, false,
                                     [&](const ops::Indices& at) { return CastTo(wide, in.Load(at)); });
    Buffer mean = ops::Map(p.f, "mean", {sum}, [&](const Exprs& e) { return Div(e[0], count); });
    Buffer squares =
        ops::ReduceElements(p.f, "squares", ops::Reduction::kSum, in->shape, axes, false, [&](const ops::Indices& at) {
          const Expr d = CastTo(wide, in.Load(at)) - OfChannel(mean, at);
          return d * d;
        });
    Buffer variance = ops::Map(p.f, "variance", {squares}, [&](const Exprs& e) { return Div(e[0], count); });
    const auto running = [&](const char* name, const Buffer& old, const Buffer& now) {
      return ops::Map(p.f, name, {old, now}, [&](const Exprs& e) {
        const Expr part = CastTo(wide, e[0]) * ConstFloat(wide, momentum) + e[1] * ConstFloat(wide, 1 - momentum);
        return CastTo(old->dtype, part);
      });
    };
    Buffers results = {normalize(p, mean, variance), running("running_mean", p.in[3], mean),
                       running("running_variance", p.in[4], variance)};
    if (!old_training) return results;
    results.push_back(ops::Map(p.f, "saved_mean", {mean}, [&](const Exprs& e) { return CastTo(type, e[0]); }));
    results.push_back(ops::Map(p.f, "saved_inverse_deviation", {variance}, [&](const Exprs& e) {
      return CastTo(type, Div(Const(wide, 1), ops::Unary("sqrt", e[0] + ConstFloat(wide, epsilon))));
    }));
    return results;
  }));
}

absl::Status ImportInstanceNormalization(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 3));
  TW_RETURN_IF_ERROR(n.RequireFloat());
  if (n.In(0).rank() < 3) return n.Error("its input has rank ", n.In(0).rank());
  for (size_t i = 1; i < 3; ++i) TW_RETURN_IF_ERROR(n.RequireShape(i, {n.In(0).shape[1]}));
  const double epsilon = n.Float("epsilon", 1e-5f);
  const DataType type = n.In(0).dtype;
  return n.Out(n.Program("instance_norm", n.in(), [&](ProgramParts& p) {
    std::vector<int> axes(p.in[0]->ndim() - 2);
    std::iota(axes.begin(), axes.end(), 2);
    Buffer value = ops::Normalize(p.f, p.in[0], axes, epsilon, Computing(type)).value;
    return Buffers{p.f.Compute("instance_norm", value->shape, [&](const std::vector<Symbol>& v) {
      const ops::Indices at(v.begin(), v.end());
      const auto wide = [&](const Buffer& b) { return CastTo(value->dtype, OfChannel(b, at)); };
      return CastTo(type, value.Load(at) * wide(p.in[1]) + wide(p.in[2]));
    })};
  }));
}

// Scale and bias for each group (opset 18) or for each channel (21).
absl::Status ImportGroupNormalization(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 3));
  TW_RETURN_IF_ERROR(n.RequireFloat());
  const Item& x = n.In(0);
  const int64_t groups = n.Int("num_groups", 0);
  if (x.rank() < 2 || groups < 1) return n.Error("it needs channels and a positive num_groups");
  const double epsilon = n.Float("epsilon", 1e-5f);
  const DataType type = x.dtype;
  for (size_t i = 1; i < 3; ++i) {
    TW_RETURN_IF_ERROR(n.RequireShape(i, {n.opset() < 21 ? Extent(groups) : x.shape[1]}));
  }
  const Expr channels = x.shape[1], per_group = n.emit().Simplify(FloorDiv(channels, Extent(groups)));
  Exprs grouped = {x.shape[0], Extent(groups), per_group};
  grouped.insert(grouped.end(), x.shape.begin() + 2, x.shape.end());
  TW_ASSIGN_OR_RETURN(const Item view, n.emit().View(x, grouped));
  TW_ASSIGN_OR_RETURN(Items result, n.Program("group_norm", {view, n.In(1), n.In(2)}, [&](ProgramParts& p) {
    std::vector<int> axes(p.in[0]->ndim() - 2);
    std::iota(axes.begin(), axes.end(), 2);
    Buffer value = ops::Normalize(p.f, p.in[0], axes, epsilon, Computing(type)).value;
    return Buffers{p.f.Compute("group_norm", value->shape, [&](const std::vector<Symbol>& v) {
      const ops::Indices at(v.begin(), v.end());
      const Expr channel = n.opset() < 21 ? at[1] : at[1] * p.in[0]->shape[2] + at[2];
      const auto wide = [&](const Buffer& b) { return CastTo(value->dtype, b(channel)); };
      return CastTo(type, value.Load(at) * wide(p.in[1]) + wide(p.in[2]));
    })};
  }));
  return n.Out(n.emit().View(result[0], x.shape));
}

// The dimensions from `axis` on are normalized; scale and bias broadcast to them.
absl::StatusOr<std::vector<int>> TailAxes(OnnxNode& n, int64_t otherwise) {
  const size_t rank = n.In(0).rank();
  TW_ASSIGN_OR_RETURN(const int axis, n.Axis(n.Int("axis", otherwise), rank));
  std::vector<int> axes(rank - static_cast<size_t>(axis));
  std::iota(axes.begin(), axes.end(), axis);
  return axes;
}

// Whether an operand broadcasts into a shape without making it larger.
absl::Status CheckInto(OnnxNode& n, const Exprs& shape, const Item& operand) {
  if (!operand.present()) return absl::OkStatus();
  const auto joined = ops::BroadcastShape({shape, operand.shape});
  if (!operand.is_tensor() || !joined || joined->size() != shape.size())
    return n.Error("its scale or bias does not fit");
  for (size_t i = 0; i < shape.size(); ++i) {
    const auto a = AsInt(shape[i]), b = AsInt((*joined)[i]);
    if (a && b && *a != *b) return n.Error("its scale or bias does not fit");
  }
  return n.RequireBroadcast({shape, operand.shape});
}

// Mean and inverse deviation have the type that stash_type names, float32 where it is absent.
absl::Status ImportLayerNormalization(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 2));
  TW_RETURN_IF_ERROR(n.RequireFloat());
  const int64_t stash_number = n.Int("stash_type", onnx::TensorProto::FLOAT);
  const auto stash = ElementType(static_cast<int32_t>(stash_number));
  if (!stash.ok() || !stash->is_float()) return n.Error("stash_type ", stash_number, " is not a type of floats");
  TW_ASSIGN_OR_RETURN(const std::vector<int> axes, TailAxes(n, -1));
  for (size_t i = 1; i < n.in().size(); ++i) TW_RETURN_IF_ERROR(CheckInto(n, n.In(0).shape, n.In(i)));
  const double epsilon = n.Float("epsilon", 1e-5f);
  const DataType type = n.In(0).dtype;
  const DataType wide = stash->bits() > 32 ? *stash : Computing(type);
  return n.Out(n.Program("layer_norm", n.in(), [&](ProgramParts& p) {
    const ops::Normalized norm = ops::Normalize(p.f, p.in[0], axes, epsilon, wide);
    Buffer value = ops::ScaleAndShift(p.f, "layer_norm", norm.value, {p.in.begin() + 1, p.in.end()}, type);
    Buffers results = {value};
    const auto stashed = [&](const char* name, const Buffer& b) {
      return ops::KeepAxes(p.f, name, b, p.in[0]->shape, axes, *stash);
    };
    if (n.num_outputs() > 1) results.push_back(stashed("mean", norm.mean));
    if (n.num_outputs() > 2) results.push_back(stashed("inverse_deviation", norm.inverse_deviation));
    return results;
  }));
}

// x / sqrt(mean of squares + epsilon) * scale, over dimensions of x.
absl::StatusOr<Items> RmsNorm(OnnxNode& n, const Item& x, const Item& scale, const std::vector<int>& axes,
                              double epsilon) {
  TW_RETURN_IF_ERROR(CheckInto(n, x.shape, scale));
  const DataType type = x.dtype, wide = Computing(type);
  return n.Program("rms_norm", {x, scale}, [&](ProgramParts& p) {
    const Buffer& in = p.in[0];
    const Expr count = ops::CountOf(in->shape, axes, wide);
    Buffer squares =
        ops::ReduceElements(p.f, "squares", ops::Reduction::kSum, in->shape, axes, true, [&](const ops::Indices& at) {
          const Expr value = CastTo(wide, in.Load(at));
          return value * value;
        });
    Buffer scales = ops::Map(p.f, "inverse_root", {squares}, [&](const Exprs& e) {
      return Div(Const(wide, 1), ops::Unary("sqrt", Div(e[0], count) + ConstFloat(wide, epsilon)));
    });
    return Buffers{ops::MapTo(p.f, "rms_norm", in->shape, {in, scales, p.in[1]}, [&](const Exprs& e) {
      return CastTo(type, CastTo(wide, e[0]) * e[1] * CastTo(wide, e[2]));
    })};
  });
}
absl::Status ImportRmsNormalization(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 2));
  TW_RETURN_IF_ERROR(n.RequireFloat());
  TW_ASSIGN_OR_RETURN(const std::vector<int> axes, TailAxes(n, -1));
  return n.Out(RmsNorm(n, n.In(0), n.In(1), axes, n.Float("epsilon", 1e-5f)));
}

// input + skip + bias, of which the bias may be absent.
absl::StatusOr<Items> SkipSum(OnnxNode& n, size_t bias) {
  Items terms = {n.In(0), n.In(1)};
  if (n.Has(bias)) terms.push_back(n.In(bias));
  return n.MapItems("skip_sum", terms, [](const Exprs& e) { return e.size() > 2 ? e[0] + e[1] + e[2] : e[0] + e[1]; });
}
// com.microsoft: inputs are input, skip, gamma, bias; results the norm, nothing, nothing, the sum.
absl::Status ImportSkipRmsNormalization(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 3));
  TW_RETURN_IF_ERROR(n.RequireFloat());
  TW_ASSIGN_OR_RETURN(Items sums, SkipSum(n, 3));
  const int last = static_cast<int>(sums[0].rank()) - 1;
  if (last < 0) return n.Error("its input is a scalar");
  TW_ASSIGN_OR_RETURN(Items norm, RmsNorm(n, sums[0], n.In(2), {last}, n.Float("epsilon", 1e-12f)));
  return n.Out(Items{norm[0], Item(), Item(), sums[0]});
}

// com.microsoft: layer norm of input + skip + bias; inputs are input, skip, gamma, beta, bias.
absl::Status ImportSkipLayerNormalization(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 3));
  TW_RETURN_IF_ERROR(n.RequireFloat());
  const double epsilon = n.Float("epsilon", 1e-12f);
  const DataType type = n.In(0).dtype, wide = Computing(type);
  TW_ASSIGN_OR_RETURN(Items sums, SkipSum(n, 4));
  Items inputs = {sums[0], n.In(2)};
  if (n.Has(3)) inputs.push_back(n.In(3));
  const int last = static_cast<int>(sums[0].rank()) - 1;
  if (last < 0) return n.Error("its input is a scalar");
  for (size_t i = 1; i < inputs.size(); ++i) TW_RETURN_IF_ERROR(CheckInto(n, sums[0].shape, inputs[i]));
  TW_ASSIGN_OR_RETURN(Items results, n.Program("skip_layer_norm", inputs, [&](ProgramParts& p) {
    const ops::Normalized norm = ops::Normalize(p.f, p.in[0], {last}, epsilon, wide);
    Buffer value = ops::ScaleAndShift(p.f, "skip_layer_norm", norm.value, {p.in.begin() + 1, p.in.end()}, type);
    const auto kept = [&](const char* name, const Buffer& b) {
      return ops::KeepAxes(p.f, name, b, p.in[0]->shape, {last}, wide);
    };
    return Buffers{value, kept("mean", norm.mean), kept("inverse_deviation", norm.inverse_deviation)};
  }));
  results.push_back(sums[0]);
  return n.Out(std::move(results));
}

absl::Status ImportMeanVarianceNormalization(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireFloat());
  TW_ASSIGN_OR_RETURN(const std::vector<int> axes, n.Axes(n.Ints("axes").value_or(Int64s{0, 2, 3}), n.In(0).rank()));
  const DataType type = n.In(0).dtype, wide = Computing(type);
  return n.Out(n.Program("mean_variance_norm", n.in(), [&](ProgramParts& p) {
    // The deviation is raised by 1e-9, not the variance.
    const Buffer& x = p.in[0];
    const Expr count = ops::CountOf(x->shape, axes, wide);
    const ops::Normalized norm = ops::Normalize(p.f, x, axes, 0, wide);
    const auto difference = [&](const ops::Indices& at) {
      return CastTo(wide, x.Load(at)) - norm.mean.Load(ops::RowOf(at, axes));
    };
    Buffer squares =
        ops::ReduceElements(p.f, "squares", ops::Reduction::kSum, x->shape, axes, false, [&](const ops::Indices& at) {
          const Expr d = difference(at);
          return d * d;
        });
    return Buffers{p.f.Compute("normalized", x->shape, [&](const std::vector<Symbol>& v) {
      const ops::Indices at(v.begin(), v.end());
      const Expr variance = Div(squares.Load(ops::RowOf(at, axes)), count);
      return CastTo(type, Div(difference(at), ops::Unary("sqrt", variance) + ConstFloat(wide, 1e-9)));
    })};
  }));
}

absl::Status ImportLrn(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireFloat());
  const int64_t size = n.Int("size", 0);
  if (n.In(0).rank() < 2 || size < 1 || size > 1 << 20) return n.Error("it needs channels and a positive size");
  return n.Out(n.Program("lrn", n.in(), [&](ProgramParts& p) {
    return Buffers{ops::LocalResponseNorm(p.f, p.in[0], size, n.Float("alpha", 1e-4f), n.Float("beta", 0.75f),
                                          n.Float("bias", 1))};
  }));
}

absl::Status ImportLpNormalization(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireFloat());
  TW_ASSIGN_OR_RETURN(const int axis, n.Axis(n.Int("axis", -1), n.In(0).rank()));
  const bool first = n.Int("p", 2) == 1;
  return n.Out(n.Program("lp_norm", n.in(), [&](ProgramParts& p) {
    const Buffer& x = p.in[0];
    const DataType type = x->dtype, wide = Computing(type);
    Buffer sum =
        ops::ReduceElements(p.f, "sum", ops::Reduction::kSum, x->shape, {axis}, true, [&](const ops::Indices& at) {
          const Expr value = CastTo(wide, x.Load(at));
          return first ? ops::Unary("abs", value) : value * value;
        });
    return Buffers{ops::Map(p.f, "lp_norm", {x, sum}, [&](const Exprs& e) {
      const Expr norm = first ? e[1] : ops::Unary("sqrt", e[1]);
      return CastTo(type, Select(norm == Const(wide, 0), Const(wide, 0), Div(CastTo(wide, e[0]), norm)));
    })};
  }));
}

}  // namespace

OnnxOperators NormalizationOperators() {
  return {
      {"BatchNormalization", 1, ImportBatchNormalization, {.elements = Elements::kFloats}},
      {"GroupNormalization", 18, ImportGroupNormalization, {.elements = Elements::kFloats, .required = "num_groups"}},
      {"InstanceNormalization", 1, ImportInstanceNormalization, {.elements = Elements::kFloats}},
      {"LRN", 1, ImportLrn, {.elements = Elements::kFloats, .required = "size"}},
      // ONNX has it from opset 17 on, and ONNX Runtime writes it into models of every opset.
      {"LayerNormalization", 1, ImportLayerNormalization, {.elements = Elements::kFloats}},
      {"LayerNormalization", 1, ImportLayerNormalization, {}, kMicrosoft},
      {"LpNormalization", 1, ImportLpNormalization, {.elements = Elements::kFloats}},
      {"MeanVarianceNormalization", 9, ImportMeanVarianceNormalization, {.elements = Elements::kFloats}},
      {"RMSNormalization", 23, ImportRmsNormalization},
      {"SimplifiedLayerNormalization", 1, ImportRmsNormalization},
      {"SkipLayerNormalization", 1, ImportSkipLayerNormalization, {}, kMicrosoft},
      {"SkipSimplifiedLayerNormalization", 1, ImportSkipRmsNormalization, {}, kMicrosoft},
  };
}

}  // namespace tilewright::graph
