// Quantization, computed as the specification says.
#include "base/status_macros.h"
#include "graph/onnx/model_file.h"
#include "graph/onnx/node.h"
#include "graph/onnx/operators.h"
#include "ir/ops/reduction.h"
#include "ir/ops/scalar_math.h"

namespace tilewright::graph {
namespace {

namespace ops = tilewright::ops;
constexpr DataType kF32 = DataType::Float(32);

// A parameter of quantization at the indices of an element: one number, one for each index of `axis`, or one for each
// block of `block` elements along it.
Expr ParameterAt(const Buffer& b, const ops::Indices& at, int axis, int64_t block) {
  if (b->ndim() == 0) return b.Load({});
  if (b->ndim() == 1 && block == 0) {
    return b(IsInt(b->shape[0], 1) ? Expr(0) : at[static_cast<size_t>(axis)]);
  }
  ops::Indices place = at;
  Expr& index = place[static_cast<size_t>(axis)];
  index = FloorDiv(index, Const(index.dtype(), block));
  return b.Load(place);
}

// Whether an item is one number, of rank 0 or 1.
bool IsOneNumber(const Item& x) { return x.rank() == 0 || (x.rank() == 1 && IsInt(x.shape[0], 1)); }

struct Parameters {
  int axis = 0;
  int64_t block = 0;
};
// An error where scales, or zero points, are not one number, one for each index of the axis, or one for each block.
absl::StatusOr<Parameters> ParametersOf(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 2));
  if (n.Has(2)) TW_RETURN_IF_ERROR(n.RequireTensors(2, 1));
  Parameters result;
  result.block = n.Int("block_size", 0);
  const Item &x = n.In(0), &scale = n.In(1);
  if (result.block < 0) return n.Error("block_size is ", result.block);
  const bool blocked = result.block > 0 && scale.rank() == x.rank() && x.rank() > 0;
  if (!blocked && scale.rank() > 1) return n.Error("scales of rank ", scale.rank());
  if (!blocked && IsOneNumber(scale)) {
    result.block = 0;
    if (n.Has(2) && !IsOneNumber(n.In(2))) return n.Error("several zero points beside one scale");
    return result;
  }
  TW_ASSIGN_OR_RETURN(result.axis, n.Axis(n.Int("axis", 1), x.rank()));
  const auto axis = static_cast<size_t>(result.axis);
  if (!blocked) {
    result.block = 0;
    TW_RETURN_IF_ERROR(n.RequireShape(1, {x.shape[axis]}));
  } else {
    Exprs wanted = x.shape;
    wanted[axis] = n.emit().Simplify(FloorDiv(x.shape[axis] + Extent(result.block - 1), Extent(result.block)));
    TW_RETURN_IF_ERROR(n.RequireShape(1, wanted));
  }
  TW_RETURN_IF_ERROR(n.RequireShape(2, scale.shape));
  return result;
}

// The attribute output_dtype, where a node has it.
absl::StatusOr<std::optional<int32_t>> OutputType(OnnxNode& n) {
  const auto type = static_cast<int32_t>(n.Int("output_dtype", 0));
  if (type == 0) return std::optional<int32_t>();
  TW_RETURN_IF_ERROR(ElementType(type).status());
  return std::optional<int32_t>(type);
}

// A whole float limited to the integers of a type, or of `bits` bits in its bytes.
Expr Saturated(DataType to, int bits, const Expr& x) {
  if (bits == 0) return ops::RoundAndSaturate(to, x);
  const double most = to.is_int() ? (1 << (bits - 1)) - 1 : (1 << bits) - 1;
  const double least = to.is_int() ? -(1 << (bits - 1)) : 0;
  return ops::RoundAndSaturate(to, Max(Min(x, ConstFloat(kF32, most)), ConstFloat(kF32, least)));
}

absl::Status ImportQuantizeLinear(OnnxNode& n) {
  TW_ASSIGN_OR_RETURN(const Parameters how, ParametersOf(n));
  DataType to = n.Has(2) ? n.In(2).dtype : DataType::UInt(8);
  int bits = n.Has(2) ? n.In(2).bits : 0;
  TW_ASSIGN_OR_RETURN(const auto given, OutputType(n));
  if (given) {
    TW_ASSIGN_OR_RETURN(const DataType type, ElementType(*given));
    if (n.Has(2) && (type != to || NarrowBits(*given) != bits)) return n.Error("output_dtype is not the zero point's");
    to = type;
    bits = NarrowBits(*given);
  }
  const bool saturates = n.Int("saturate", 1) != 0;
  // From opset 23 on the scale's type is the default.
  DataType precision = n.opset() >= 23 && n.In(1).dtype.is_float() ? n.In(1).dtype : kF32;
  if (const int64_t type = n.Int("precision", 0); type != 0) {
    TW_ASSIGN_OR_RETURN(precision, ElementType(static_cast<int32_t>(type)));
    if (!precision.is_float()) return n.Error("precision is ", precision.ToString(), ", not of floats");
  }
  TW_ASSIGN_OR_RETURN(Items result, n.Program("quantize", n.in(), [&](ProgramParts& p) {
    return Buffers{p.f.Compute("quantize", p.in[0]->shape, [&](const std::vector<Symbol>& v) {
      const ops::Indices at(v.begin(), v.end());
      const Expr scale = CastTo(precision, ParameterAt(p.in[1], at, how.axis, how.block));
      const Expr scaled = CastTo(kF32, Div(CastTo(precision, p.in[0].Load(at)), scale));
      if (to.is_float()) return CastTo(to, saturates ? ops::Limited(to, scaled) : scaled);
      const Expr rounded = ops::Unary("nearbyint", scaled);
      if (p.in.size() < 3) return Saturated(to, bits, rounded);
      return Saturated(to, bits, rounded + CastTo(kF32, ParameterAt(p.in[2], at, how.axis, how.block)));
    })};
  }));
  result[0].bits = bits;
  return n.Out(result[0]);
}

// Two neighbours along a dimension in a byte, the first one in its low bits, from the least number of the type on.
NDArray PackedNibbles(const Item& x, size_t axis) {
  const ConstantNode& constant = *x.constant();
  std::vector<int64_t> shape = constant.shape;
  const std::string bytes = constant.bytes.ToString();
  int64_t inner = 1;
  for (size_t d = axis + 1; d < shape.size(); ++d) inner *= shape[d];
  shape[axis] /= 2;
  NDArray packed(DataType::UInt(8), shape);
  const unsigned least = x.dtype.is_int() ? 8 : 0;
  auto* to = static_cast<uint8_t*>(packed.data());
  for (int64_t i = 0; i < packed.size(); ++i) {
    const int64_t low = i / inner * 2 * inner + i % inner;
    const auto nibble = [&](int64_t at) {
      return (static_cast<unsigned char>(bytes[static_cast<size_t>(at)]) + least) & 15u;
    };
    to[i] = static_cast<uint8_t>(nibble(low) | nibble(low + inner) << 4);
  }
  return packed;
}

// Constants of four bits that have a scale for each block are kept two in a byte, along the blocks: what multiplies by
// them reads half of the memory.
bool IsKeptPacked(const Item& x, const Parameters& how) {
  if (x.bits != 4 || how.block < 2 || x.constant() == nullptr) return false;
  const auto extent = AsInt(x.shape[static_cast<size_t>(how.axis)]);
  return extent && *extent % 2 == 0 && how.block % 2 == 0;
}

absl::Status ImportPackedDequantization(OnnxNode& n, const Parameters& how, DataType to) {
  const Item& x = n.In(0);
  const auto axis = static_cast<size_t>(how.axis);
  const DataType i32 = DataType::Int(32);
  const std::vector<Expr> shape = x.shape;
  const int least = x.dtype.is_int() ? 8 : 0;
  Items inputs = n.in();
  inputs[0] = n.emit().FromArray(PackedNibbles(x, axis));
  return n.Out(n.Program("dequantize", inputs, [&](ProgramParts& p) {
    return Buffers{p.f.Compute("dequantize", shape, [&](const std::vector<Symbol>& v) {
      const ops::Indices at(v.begin(), v.end());
      ops::Indices byte = at;
      const Expr two = Const(at[axis].dtype(), 2);
      byte[axis] = FloorDiv(at[axis], two);
      const Expr shift = CastTo(i32, FloorMod(at[axis], two)) * Const(i32, 4);
      Expr value = tilewright::Call(i32, "shift_right", {CastTo(i32, p.in[0].Load(byte)), shift});
      value = tilewright::Call(i32, "bitwise_and", {value, Const(i32, 15)});
      if (least != 0) value = value - Const(i32, least);
      if (p.in.size() > 2) value = value - CastTo(i32, ParameterAt(p.in[2], at, how.axis, how.block));
      return CastTo(to, CastTo(kF32, value) * CastTo(kF32, ParameterAt(p.in[1], at, how.axis, how.block)));
    })};
  }));
}

absl::Status ImportDequantizeLinear(OnnxNode& n) {
  TW_ASSIGN_OR_RETURN(const Parameters how, ParametersOf(n));
  if (n.Has(2) && n.In(2).dtype != n.In(0).dtype) return n.Error("zero points of another type");
  DataType to = n.In(1).dtype;
  TW_ASSIGN_OR_RETURN(const auto given, OutputType(n));
  if (given) {
    TW_ASSIGN_OR_RETURN(to, ElementType(*given));
    if (!to.is_float()) return n.Error("output_dtype is ", to.ToString(), ", not of floats");
  }
  if (IsKeptPacked(n.In(0), how)) return ImportPackedDequantization(n, how, to);
  return n.Out(n.Program("dequantize", n.in(), [&](ProgramParts& p) {
    return Buffers{p.f.Compute("dequantize", p.in[0]->shape, [&](const std::vector<Symbol>& v) {
      const ops::Indices at(v.begin(), v.end());
      const DataType type = p.in[0]->dtype, i32 = DataType::Int(32);
      Expr value = p.in[0].Load(at);
      if (!type.is_float() && type.bits() < 32) {
        // The difference does not fit the narrow type.
        value = CastTo(i32, value);
        if (p.in.size() > 2) value = value - CastTo(i32, ParameterAt(p.in[2], at, how.axis, how.block));
      } else if (p.in.size() > 2) {
        value = value - ParameterAt(p.in[2], at, how.axis, how.block);
      }
      return CastTo(to, CastTo(kF32, value) * CastTo(kF32, ParameterAt(p.in[1], at, how.axis, how.block)));
    })};
  }));
}

// To u8 with a range that contains 0.
absl::Status ImportDynamicQuantizeLinear(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 1));
  const DataType u8 = DataType::UInt(8);
  return n.Out(n.Program("dynamic_quantize", n.in(), [&](ProgramParts& p) {
    const Buffer& x = p.in[0];
    std::vector<int> axes;
    for (size_t i = 0; i < x->ndim(); ++i) axes.push_back(static_cast<int>(i));
    const Expr zero = Const(kF32, 0), steps = Const(kF32, 255);
    Buffer high = ops::Reduce(p.f, "high", ops::Reduction::kMax, x, axes, false);
    Buffer low = ops::Reduce(p.f, "low", ops::Reduction::kMin, x, axes, false);
    // The scale of a tensor of zeros is 1.
    Buffer scale = ops::Map(p.f, "scale", {high, low}, [&](const Exprs& e) {
      const Expr range = Max(e[0], zero) - Min(e[1], zero);
      return Select(range == zero, Const(kF32, 1), Div(range, steps));
    });
    Buffer zero_point = ops::Map(p.f, "zero_point", {low, scale}, [&](const Exprs& e) {
      return ops::RoundAndSaturate(u8, zero - Div(Min(e[0], zero), e[1]));
    });
    Buffer y = ops::Map(p.f, "quantized", {x, scale, zero_point}, [&](const Exprs& e) {
      return ops::RoundAndSaturate(u8, ops::Unary("nearbyint", Div(e[0], e[1])) + CastTo(kF32, e[2]));
    });
    return Buffers{y, scale, zero_point};
  }));
}

// com.microsoft: an operator on dequantized operands, quantized again. Each operand is followed by its scale and zero
// point, which may be absent; the result's come last.
absl::Status QLinear(OnnxNode& n, const char* name, size_t operands, const std::function<Expr(const Exprs&)>& body) {
  const size_t result = 3 * operands;
  TW_RETURN_IF_ERROR(n.RequireTensors(result, 1));
  Items inputs;
  std::vector<int> zero_at;
  for (size_t i = 0; i <= operands; ++i) {
    // The result has a scale and a zero point only.
    const size_t first = i < operands ? 3 * i : result;
    const size_t scale = i < operands ? first + 1 : first;
    if (i < operands) {
      TW_RETURN_IF_ERROR(n.RequireTensors(first, 1));
      inputs.push_back(n.In(first));
    }
    TW_RETURN_IF_ERROR(n.RequireTensors(scale, 1));
    inputs.push_back(n.In(scale));
    zero_at.push_back(n.Has(scale + 1) ? static_cast<int>(inputs.size()) : -1);
    if (n.Has(scale + 1)) inputs.push_back(n.In(scale + 1));
  }
  const DataType to = n.In(0).dtype;
  return n.Out(n.MapMixed(name, inputs, [&](const Exprs& e) {
    Exprs values;
    size_t next = 0;
    for (size_t i = 0; i < operands; ++i) {
      Expr value = CastTo(DataType::Int(32), e[next]);
      const Expr scale = e[next + 1];
      next += 2;
      if (zero_at[i] >= 0) value = value - CastTo(DataType::Int(32), e[next++]);
      values.push_back(CastTo(kF32, value) * scale);
    }
    const Expr scaled = ops::Unary("nearbyint", Div(body(values), e[next]));
    return ops::RoundAndSaturate(to, zero_at[operands] >= 0 ? scaled + CastTo(kF32, e.back()) : scaled);
  }));
}
absl::Status ImportQLinearAdd(OnnxNode& n) {
  return QLinear(n, "qlinear_add", 2, [](const Exprs& e) { return e[0] + e[1]; });
}
absl::Status ImportQLinearMul(OnnxNode& n) {
  return QLinear(n, "qlinear_mul", 2, [](const Exprs& e) { return e[0] * e[1]; });
}
absl::Status ImportQLinearSigmoid(OnnxNode& n) {
  return QLinear(n, "qlinear_sigmoid", 1, [](const Exprs& e) { return ops::Sigmoid(e[0]); });
}
absl::Status ImportQLinearLeakyRelu(OnnxNode& n) {
  const double alpha = n.Float("alpha", 0.01f);
  return QLinear(n, "qlinear_leaky_relu", 1,
                 [&](const Exprs& e) { return Select(e[0] < Const(kF32, 0), e[0] * ConstFloat(kF32, alpha), e[0]); });
}

// The floats that a tensor, the scale and the zero point behind it stand for.
absl::StatusOr<Item> Dequantized(OnnxNode& n, size_t tensor) {
  TW_RETURN_IF_ERROR(n.RequireTensors(tensor, 2));
  Items inputs = {n.In(tensor), n.In(tensor + 1)};
  if (n.Has(tensor + 2)) inputs.push_back(n.In(tensor + 2));
  TW_ASSIGN_OR_RETURN(Items result, n.MapMixed("dequantize", inputs, [](const Exprs& e) {
    const DataType i32 = DataType::Int(32);
    const Expr value = CastTo(i32, e[0]);
    return CastTo(kF32, e.size() > 2 ? value - CastTo(i32, e[2]) : value) * e[1];
  }));
  return result[0];
}

// com.microsoft: an operator of ONNX's own domain on dequantized operands, quantized again by the scale and zero point
// at `result`. `tensors`: where operands are; each is followed by its scale and zero point.
absl::Status QuantizedForm(OnnxNode& n, const char* op, int64_t opset, const std::vector<size_t>& tensors,
                           size_t result) {
  const bool channels_last = n.Int("channels_last", 0) != 0;
  TW_RETURN_IF_ERROR(n.RequireTensors(result, 1));
  Items operands;
  for (const size_t tensor : tensors) {
    TW_ASSIGN_OR_RETURN(Item operand, Dequantized(n, tensor));
    if (channels_last) {
      if (operand.rank() < 3) return n.Error("its input has rank ", operand.rank());
      TW_ASSIGN_OR_RETURN(operand, n.emit().MoveAxis(operand, static_cast<int>(operand.rank()) - 1, 1));
    }
    operands.push_back(std::move(operand));
  }
  if (operands.empty()) return n.Error("it has no operands");
  OnnxNode inner(n.proto(), opset, operands, &n.importer(), &n.emit());
  TW_RETURN_IF_ERROR(FindOperator("", op, opset)->import(inner));
  Item value = inner.results()[0];
  if (channels_last) {
    TW_ASSIGN_OR_RETURN(value, n.emit().MoveAxis(value, 1, static_cast<int>(value.rank()) - 1));
  }
  Items inputs = {value, n.In(result)};
  if (n.Has(result + 1)) inputs.push_back(n.In(result + 1));
  const DataType to = n.In(tensors[0]).dtype;
  return n.Out(n.MapMixed("quantize", inputs, [&](const Exprs& e) {
    const Expr scaled = ops::Unary("nearbyint", Div(e[0], e[1]));
    return ops::RoundAndSaturate(to, e.size() > 2 ? scaled + CastTo(kF32, e[2]) : scaled);
  }));
}
absl::Status ImportQLinearAveragePool(OnnxNode& n) { return QuantizedForm(n, "AveragePool", 19, {0}, 3); }
absl::Status ImportQLinearGlobalAveragePool(OnnxNode& n) { return QuantizedForm(n, "GlobalAveragePool", 1, {0}, 3); }
absl::Status ImportQLinearReduceMean(OnnxNode& n) { return QuantizedForm(n, "ReduceMean", 13, {0}, 3); }
absl::Status ImportQLinearSoftmax(OnnxNode& n) { return QuantizedForm(n, "Softmax", n.Int("opset", 13), {0}, 3); }
// The result's scale and zero point come first.
absl::Status ImportQLinearConcat(OnnxNode& n) {
  std::vector<size_t> tensors;
  for (size_t i = 2; i + 1 < n.in().size(); i += 3) tensors.push_back(i);
  return QuantizedForm(n, "Concat", 13, tensors, 0);
}

}  // namespace

OnnxOperators QuantizationOperators() {
  return {
      {"DequantizeLinear", 10, ImportDequantizeLinear},
      {"DequantizeLinear", 1, ImportDequantizeLinear, {}, kMicrosoft},
      {"DynamicQuantizeLinear", 11, ImportDynamicQuantizeLinear, {.elements = Elements::kFloats}},
      {"QLinearAdd", 1, ImportQLinearAdd, {}, kMicrosoft},
      {"QLinearAveragePool", 1, ImportQLinearAveragePool, {}, kMicrosoft},
      {"QLinearConcat", 1, ImportQLinearConcat, {}, kMicrosoft},
      {"QLinearGlobalAveragePool", 1, ImportQLinearGlobalAveragePool, {}, kMicrosoft},
      {"QLinearLeakyRelu", 1, ImportQLinearLeakyRelu, {}, kMicrosoft},
      {"QLinearMul", 1, ImportQLinearMul, {}, kMicrosoft},
      {"QLinearReduceMean", 1, ImportQLinearReduceMean, {}, kMicrosoft},
      {"QLinearSigmoid", 1, ImportQLinearSigmoid, {}, kMicrosoft},
      {"QLinearSoftmax", 1, ImportQLinearSoftmax, {}, kMicrosoft},
      {"QuantizeLinear", 10, ImportQuantizeLinear},
      {"QuantizeLinear", 1, ImportQuantizeLinear, {}, kMicrosoft},
  };
}

}  // namespace tilewright::graph
