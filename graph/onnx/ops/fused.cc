// Operators that ONNX Runtime writes when it saves an optimized model: several of ONNX's in one.
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/status_macros.h"
#include "graph/onnx/node.h"
#include "graph/onnx/operators.h"
#include "ir/ops/reduction.h"
#include "ir/ops/scalar_math.h"

namespace tilewright::graph {
namespace {

namespace ops = tilewright::ops;
constexpr DataType kF32 = DataType::Float(32);

// An operator that may stand behind another one, at an opset at which its parameters are attributes. They are in the
// order in which a list gives them.
struct Activation {
  const char* name;
  int64_t opset;
  std::vector<const char*> parameters = {};
};
const Activation* ActivationOf(absl::string_view name) {
  static const auto* const all = new std::vector<Activation>{{"Celu", 12, {"alpha"}},
                                                             {"Clip", 6, {"min", "max"}},
                                                             {"Elu", 13, {"alpha"}},
                                                             {"Gelu", 20},
                                                             {"HardSigmoid", 13, {"alpha", "beta"}},
                                                             {"HardSwish", 14},
                                                             {"LeakyRelu", 13, {"alpha"}},
                                                             {"Relu", 13},
                                                             {"Selu", 13, {"alpha", "gamma"}},
                                                             {"Sigmoid", 13},
                                                             {"Softplus", 13},
                                                             {"Softsign", 13},
                                                             {"Tanh", 13},
                                                             {"ThresholdedRelu", 13, {"alpha"}}};
  for (const Activation& one : *all) {
    if (name == one.name) return &one;
  }
  return nullptr;
}

// x behind an activation by its ONNX name. `given` is parameter number `i`, called `name`; nothing: as ONNX says.
absl::StatusOr<Item> Activated(OnnxNode& n, const Item& x, const std::string& name,
                               const std::function<std::optional<double>(size_t i, const char* name)>& given) {
  if (name.empty()) return x;
  const Activation* activation = ActivationOf(name);
  if (activation == nullptr) return n.Unsupported("the activation \"", name, "\"");
  std::vector<onnx::AttributeProto> attributes;
  for (size_t i = 0; i < activation->parameters.size(); ++i) {
    const char* parameter = activation->parameters[i];
    if (const auto value = given(i, parameter)) attributes.push_back(FloatAttribute(parameter, *value));
  }
  TW_ASSIGN_OR_RETURN(Items result, n.Call(name, activation->opset, {x}, attributes));
  return result[0];
}

std::vector<onnx::AttributeProto> AttributesOf(OnnxNode& n) {
  return {n.proto().attribute().begin(), n.proto().attribute().end()};
}

// A convolution with bias, plus another tensor, behind an activation.
absl::Status ImportFusedConv(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 2));
  Items operands = {n.In(0), n.In(1)};
  if (n.Has(2)) operands.push_back(n.In(2));
  TW_ASSIGN_OR_RETURN(Items result, n.Call("Conv", 11, operands, AttributesOf(n)));
  if (n.Has(3)) {
    TW_ASSIGN_OR_RETURN(result, n.Call("Add", 14, {result[0], n.In(3)}));
  }
  const std::vector<double> list = n.Floats("activation_params");
  return n.Out(Activated(n, result[0], n.String("activation", ""), [&](size_t i, const char*) {
    return i < list.size() ? std::optional(list[i]) : std::nullopt;
  }));
}

absl::Status ImportFusedGemm(OnnxNode& n) {
  TW_ASSIGN_OR_RETURN(Items result, n.Call("Gemm", 13, n.in(), AttributesOf(n)));
  return n.Out(Activated(n, result[0], n.String("activation", ""), [&](size_t, const char* name) {
    const std::string attribute = absl::StrCat("activation_", name);
    return n.Attr(attribute) != nullptr ? std::optional(n.Float(attribute, 0)) : std::nullopt;
  }));
}

// An operator of images whose channels come last: operands and the result are moved.
absl::Status ChannelsLast(OnnxNode& n, const std::string& op, int64_t opset) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 1));
  const int rank = static_cast<int>(n.In(0).rank());
  if (rank < 3) return n.Error("its input has rank ", rank);
  Items operands = n.in();
  TW_ASSIGN_OR_RETURN(operands[0], n.emit().MoveAxis(operands[0], rank - 1, 1));
  TW_ASSIGN_OR_RETURN(Items result, n.Call(op, opset, operands, AttributesOf(n)));
  return n.Out(n.emit().MoveAxis(result[0], 1, rank - 1));
}
absl::Status ImportNhwcMaxPool(OnnxNode& n) { return ChannelsLast(n, "MaxPool", 12); }
absl::Status ImportMicrosoftQLinearConv(OnnxNode& n) {
  if (n.Int("channels_last", 0) != 0) return ChannelsLast(n, "QLinearConv", 10);
  TW_ASSIGN_OR_RETURN(Items result, n.Call("QLinearConv", 10, n.in(), AttributesOf(n)));
  return n.Out(result[0]);
}

// alpha * a_scale * b_scale * ((op(a) - a_zero) (op(b) - b_zero) + c), as floats or quantized again. Inputs are a,
// a_scale, a_zero, b, b_scale, b_zero, c, y_scale, y_zero.
absl::Status ImportQGemm(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 2));
  TW_RETURN_IF_ERROR(n.RequireTensors(3, 2));
  Item a = n.In(0), b = n.In(3);
  if (a.rank() != 2 || b.rank() != 2) return n.Error("its operands are not matrices");
  if (n.Int("transA", 0) != 0) {
    TW_ASSIGN_OR_RETURN(a, n.emit().MoveAxis(a, 0, 1));
  }
  if (n.Int("transB", 0) != 0) {
    TW_ASSIGN_OR_RETURN(b, n.emit().MoveAxis(b, 0, 1));
  }
  TW_ASSIGN_OR_RETURN(const Items sums, n.Call("MatMulInteger", 10, {a, b, n.In(2), n.In(5)}));
  const double alpha = n.Float("alpha", 1);
  Items inputs = {sums[0], n.In(1), n.In(4)};
  for (size_t i : {6, 7, 8}) {
    if (n.Has(i)) inputs.push_back(n.In(i));
  }
  const bool has_c = n.Has(6), quantized = n.Has(7), has_zero = n.Has(8);
  const DataType to = has_zero ? n.In(8).dtype : DataType::UInt(8);
  return n.Out(n.MapMixed("qgemm", inputs, [&](const Exprs& e) {
    size_t next = 3;
    const Expr sum = has_c ? e[0] + e[next++] : e[0];
    const Expr scale = e[1] * e[2] * ConstFloat(kF32, alpha);
    if (!quantized) return CastTo(kF32, sum) * scale;
    const Expr scaled = ops::Unary("nearbyint", CastTo(kF32, sum) * Div(scale, e[next]));
    return ops::RoundAndSaturate(to, has_zero ? scaled + CastTo(kF32, e[next + 1]) : scaled);
  }));
}

// Floats times weights of eight bits, the floats quantized as a whole. Inputs are x, weights, their scale and zero
// point, a bias.
absl::Status ImportDynamicQuantizeMatMul(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 3));
  TW_ASSIGN_OR_RETURN(const Items x, n.Call("DynamicQuantizeLinear", 11, {n.In(0)}, {}, 3));
  const Items operands = {x[0], n.In(1), x[1], n.In(2), x[2], n.In(3), n.In(4)};
  return n.Out(n.Call("MatMulIntegerToFloat", 1, operands, {}, 1, kMicrosoft));
}

// condition, x, its scale and zero point, y, its scale and zero point, the result's.
absl::Status ImportQLinearWhere(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 9));
  const DataType to = n.In(1).dtype, i32 = DataType::Int(32);
  return n.Out(n.MapMixed("qlinear_where", n.in(), [&](const Exprs& e) {
    const auto requantized = [&](size_t first) {
      const Expr value = CastTo(kF32, CastTo(i32, e[first]) - CastTo(i32, e[first + 2])) * e[first + 1];
      return ops::RoundAndSaturate(to, ops::Unary("nearbyint", Div(value, e[7])) + CastTo(kF32, e[8]));
    };
    return Select(e[0], requantized(1), requantized(4));
  }));
}

// Distances of the rows of two matrices.
absl::Status ImportCDist(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 2));
  TW_RETURN_IF_ERROR(n.RequireFloat());
  TW_RETURN_IF_ERROR(n.RequireSameType(0, 2));
  if (n.In(0).rank() != 2 || n.In(1).rank() != 2) return n.Error("its operands are not matrices");
  TW_RETURN_IF_ERROR(n.RequireShape(1, {n.In(1).shape[0], n.In(0).shape[1]}));
  const std::string metric = n.String("metric", "sqeuclidean");
  if (metric != "euclidean" && metric != "sqeuclidean") return n.Unsupported("the metric \"", metric, "\"");
  const DataType type = n.In(0).dtype, wide = type.bits() < 32 ? kF32 : type;
  return n.Out(n.Program("cdist", n.in(), [&](ProgramParts& p) {
    const Buffer &a = p.in[0], &b = p.in[1];
    tilewright::ReduceAxis k("k", a->shape[1]);
    Buffer squares = p.f.Compute("distances", {a->shape[0], b->shape[0]}, [&](Symbol i, Symbol j) {
      const Expr difference = CastTo(wide, a(i, k)) - CastTo(wide, b(j, k));
      return tilewright::Sum(difference * difference, k);
    });
    const bool root = metric == "euclidean";
    if (!root && wide == type) return Buffers{squares};
    return Buffers{ops::Map(p.f, "cdist", {squares},
                            [&](const Exprs& e) { return CastTo(type, root ? ops::Unary("sqrt", e[0]) : e[0]); })};
  }));
}

// The first half of the last dimension times the GELU of the second, both with their bias.
absl::Status ImportBiasSplitGelu(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 2));
  TW_RETURN_IF_ERROR(n.RequireFloat());
  const Item& x = n.In(0);
  const auto width = x.rank() > 0 ? AsInt(x.shape.back()) : std::nullopt;
  if (!width || *width % 2 != 0) return n.Error("its last extent is not an even number");
  TW_RETURN_IF_ERROR(n.RequireShape(1, {x.shape.back()}));
  const int64_t half = *width / 2;
  return n.Out(n.Program("bias_split_gelu", {x, n.In(1)}, [&](ProgramParts& p) {
    std::vector<Expr> shape = p.in[0]->shape;
    shape.back() = Expr(half);
    return Buffers{p.f.Compute("bias_split_gelu", shape, [&](const std::vector<Symbol>& v) {
      ops::Indices at(v.begin(), v.end());
      const Expr left = p.in[0].Load(at) + p.in[1](at.back());
      at.back() = at.back() + Expr(half);
      const Expr right = p.in[0].Load(at) + p.in[1](at.back());
      const Expr one = Const(right.dtype(), 1), root = ConstFloat(right.dtype(), std::sqrt(0.5));
      const Expr gelu = ConstFloat(right.dtype(), 0.5) * right * (one + ops::Unary("erf", right * root));
      return left * gelu;
    })};
  }));
}

// The norm of the sum of the rows of two or three tables. Inputs are words, segments, the tables of words, positions
// and segments, gamma, beta, a mask, positions; results the norm, how many words of each batch are shown, the sum.
absl::Status ImportEmbedLayerNormalization(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 1));
  TW_RETURN_IF_ERROR(n.RequireTensors(2, 2));
  TW_RETURN_IF_ERROR(n.RequireTensors(5, 2));
  const Item& words = n.In(0);
  if (words.rank() != 2) return n.Error("its words have rank ", words.rank());
  if (n.In(2).rank() != 2 || n.In(3).rank() != 2) return n.Error("a table of another rank than 2");
  if (IsInt(n.In(3).shape[0], 0)) return n.Error("a table of positions without rows");
  TW_RETURN_IF_ERROR(n.RequireSameType(2, 3));
  TW_RETURN_IF_ERROR(n.RequireShape(3, {n.In(3).shape[0], n.In(2).shape[1]}));
  TW_ASSIGN_OR_RETURN(Items sum, n.Call("Gather", 13, {n.In(2), words}));
  if (n.Has(8)) {
    TW_ASSIGN_OR_RETURN(const Items rows, n.Call("Gather", 13, {n.In(3), n.In(8)}));
    TW_ASSIGN_OR_RETURN(sum, n.Call("Add", 14, {sum[0], rows[0]}));
  } else {
    TW_ASSIGN_OR_RETURN(sum, n.Program("add_positions", {sum[0], n.In(3)}, [](ProgramParts& p) {
      return Buffers{p.f.Compute("add_positions", p.in[0]->shape, [&](Symbol b, Symbol i, Symbol d) {
        const Expr last = p.in[1]->shape[0] - Const(p.in[1]->shape[0].dtype(), 1);
        return p.in[0](b, i, d) + p.in[1](Min(i, last), d);
      })};
    }));
  }
  if (n.Has(1)) {
    TW_RETURN_IF_ERROR(n.RequireTensors(4, 1));
    TW_ASSIGN_OR_RETURN(const Items rows, n.Call("Gather", 13, {n.In(4), n.In(1)}));
    TW_ASSIGN_OR_RETURN(sum, n.Call("Add", 14, {sum[0], rows[0]}));
  }
  TW_ASSIGN_OR_RETURN(const Items norm, n.Call("LayerNormalization", 17, {sum[0], n.In(5), n.In(6)},
                                               {FloatAttribute("epsilon", n.Float("epsilon", 1e-12f))}));
  Item shown;
  if (n.Wants(1)) {
    const DataType i32 = DataType::Int(32);
    const Item& mask = n.Has(7) ? n.In(7) : words;
    TW_RETURN_IF_ERROR(n.RequireShape(7, words.shape));
    TW_ASSIGN_OR_RETURN(const Items counts, n.Program("mask_index", {mask}, [&](ProgramParts& p) {
      return Buffers{ops::ReduceElements(
          p.f, "mask_index", ops::Reduction::kSum, p.in[0]->shape, {1}, false,
          [&](const ops::Indices& at) { return n.Has(7) ? CastTo(i32, p.in[0].Load(at)) : Const(i32, 0); })};
    }));
    shown = counts[0];
  }
  return n.Out(Items{norm[0], shown, sum[0]});
}

}  // namespace

OnnxOperators FusedOperators() {
  return {
      {"BiasSplitGelu", 1, ImportBiasSplitGelu, {}, kMicrosoft},
      {"CDist", 1, ImportCDist, {.required = "metric"}, kMicrosoft},
      {"DynamicQuantizeMatMul", 1, ImportDynamicQuantizeMatMul, {}, kMicrosoft},
      {"EmbedLayerNormalization", 1, ImportEmbedLayerNormalization, {.integers = Inputs({1, 7, 8})}, kMicrosoft},
      {"FusedConv", 1, ImportFusedConv, {}, kMicrosoft},
      {"FusedGemm", 1, ImportFusedGemm, {}, kMicrosoft},
      {"NhwcMaxPool", 1, ImportNhwcMaxPool, {}, kMicrosoft},
      {"QGemm", 1, ImportQGemm, {}, kMicrosoft},
      {"QLinearConv", 1, ImportMicrosoftQLinearConv, {}, kMicrosoft},
      {"QLinearWhere", 1, ImportQLinearWhere, {.elements = Elements::kBooleans}, kMicrosoft},
  };
}

}  // namespace tilewright::graph
