// Operators that compute each element of the output from one element of each input.
#include <cmath>
#include <iterator>

#include "base/status_macros.h"
#include "graph/onnx/node.h"
#include "graph/onnx/operators.h"
#include "ir/ops/scalar_math.h"

namespace tilewright::graph {
namespace {

using tilewright::ops::Convert;
using tilewright::ops::Unary;
namespace ops = tilewright::ops;

constexpr DataType kBool = DataType::Bool();
constexpr DataType kF32 = DataType::Float(32);

Expr Zero(const Expr& like) { return Const(like.dtype(), 0); }
Expr One(const Expr& like) { return Const(like.dtype(), 1); }
Expr Real(const Expr& like, double value) { return ConstFloat(like.dtype(), value); }
Expr Pure(DataType type, const char* name, Exprs args) { return tilewright::Call(type, name, std::move(args)); }

// Functions of one argument by their builtins' names.
#define TW_UNARY(function, builtin)                                             \
  absl::Status function(OnnxNode& n) {                                          \
    TW_RETURN_IF_ERROR(n.RequireFloat());                                       \
    return n.Map(builtin, [](const Exprs& e) { return Unary(builtin, e[0]); }); \
  }
TW_UNARY(ImportAcos, "acos")
TW_UNARY(ImportAcosh, "acosh")
TW_UNARY(ImportAsin, "asin")
TW_UNARY(ImportAsinh, "asinh")
TW_UNARY(ImportAtan, "atan")
TW_UNARY(ImportAtanh, "atanh")
TW_UNARY(ImportCeil, "ceil")
TW_UNARY(ImportCos, "cos")
TW_UNARY(ImportCosh, "cosh")
TW_UNARY(ImportErf, "erf")
TW_UNARY(ImportExp, "exp")
TW_UNARY(ImportFloor, "floor")
TW_UNARY(ImportLog, "log")
TW_UNARY(ImportRound, "nearbyint")
TW_UNARY(ImportSin, "sin")
TW_UNARY(ImportSinh, "sinh")
TW_UNARY(ImportSqrt, "sqrt")
TW_UNARY(ImportTan, "tan")
TW_UNARY(ImportTanh, "tanh")
#undef TW_UNARY

// Before opset 7 the second operand was broadcast by attributes: it lies at `axis` of the first.
absl::StatusOr<Items> BroadcastOperands(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 2));
  Items operands = n.in();
  if (n.opset() >= 7 || n.Int("broadcast", 0) == 0) return operands;
  const size_t rank = operands[0].rank();
  const int64_t given = n.Int("axis", static_cast<int64_t>(rank) - static_cast<int64_t>(operands[1].rank()));
  TW_ASSIGN_OR_RETURN(const int axis, n.Axis(given, rank + 1));
  Exprs shape = operands[1].shape;
  while (shape.size() + static_cast<size_t>(axis) < rank) shape.push_back(Extent(1));
  TW_ASSIGN_OR_RETURN(operands[1], n.emit().View(operands[1], shape));
  return operands;
}

// Arithmetic is of numbers.
absl::Status RequireNumbers(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 1));
  return n.In(0).dtype.is_bool() ? n.Error("its input is bool, not of numbers") : absl::OkStatus();
}

absl::Status MapTwo(OnnxNode& n, const char* name, const std::function<Expr(const Expr&, const Expr&)>& body) {
  TW_ASSIGN_OR_RETURN(const Items operands, BroadcastOperands(n));
  return n.Out(n.MapItems(name, operands, [&](const Exprs& e) { return body(e[0], e[1]); }));
}

absl::Status ImportAdd(OnnxNode& n) {
  TW_RETURN_IF_ERROR(RequireNumbers(n));
  return MapTwo(n, "add", [](const Expr& a, const Expr& b) { return a + b; });
}
absl::Status ImportSub(OnnxNode& n) {
  TW_RETURN_IF_ERROR(RequireNumbers(n));
  return MapTwo(n, "subtract", [](const Expr& a, const Expr& b) { return a - b; });
}
absl::Status ImportMul(OnnxNode& n) {
  TW_RETURN_IF_ERROR(RequireNumbers(n));
  return MapTwo(n, "multiply", [](const Expr& a, const Expr& b) { return a * b; });
}
absl::Status ImportDiv(OnnxNode& n) {
  TW_RETURN_IF_ERROR(RequireNumbers(n));
  return MapTwo(n, "divide", [](const Expr& a, const Expr& b) {
    return a.dtype().is_float() ? Div(a, b) : ops::IntegerQuotient(a, b);
  });
}
absl::Status ImportPow(OnnxNode& n) {
  TW_RETURN_IF_ERROR(RequireNumbers(n));
  TW_ASSIGN_OR_RETURN(const Items operands, BroadcastOperands(n));
  return n.Out(n.MapMixed("power", operands, [](const Exprs& e) { return ops::Power(e[0], e[1]); }));
}
absl::Status ImportMod(OnnxNode& n) {
  TW_RETURN_IF_ERROR(RequireNumbers(n));
  const bool fmod = n.Int("fmod", 0) != 0;
  return MapTwo(n, "modulo", [&](const Expr& a, const Expr& b) {
    if (a.dtype().is_float()) {
      const DataType wide = a.dtype().bits() < 32 ? kF32 : a.dtype();
      const Expr rest = Pure(wide, "fmod", {CastTo(wide, a), CastTo(wide, b)});
      if (fmod) return CastTo(a.dtype(), rest);
      const Expr other_sign = And(rest != Zero(rest), (rest < Zero(rest)) != (CastTo(wide, b) < Zero(rest)));
      return CastTo(a.dtype(), Select(other_sign, rest + CastTo(wide, b), rest));
    }
    return fmod ? a - ops::IntegerQuotient(a, b) * b : ops::IntegerModulo(a, b);
  });
}
absl::Status ImportBitShift(OnnxNode& n) {
  TW_RETURN_IF_ERROR(RequireNumbers(n));
  if (n.In(0).dtype.is_float()) return n.Error("its input is of floats");
  const bool left = n.String("direction", "") == "LEFT";
  return n.Map("bit_shift", [&](const Exprs& e) {
    // A shift by the width or more leaves nothing.
    const Expr width = Const(e[1].dtype(), e[1].dtype().bits());
    const Expr by = Select(e[1] < width, e[1], Zero(e[1]));
    const Expr shifted = Pure(e[0].dtype(), left ? "shift_left" : "shift_right", {e[0], by});
    return Select(e[1] < width, shifted, Zero(e[0]));
  });
}
template <int kOp>
absl::Status ImportBitwise(OnnxNode& n) {
  constexpr const char* kNames[] = {"bitwise_and", "bitwise_or", "bitwise_xor"};
  return n.Map(kNames[kOp], [](const Exprs& e) { return Pure(e[0].dtype(), kNames[kOp], e); });
}
absl::Status ImportBitwiseNot(OnnxNode& n) {
  TW_RETURN_IF_ERROR(RequireNumbers(n));
  return n.Map("bitwise_not", [](const Exprs& e) { return Pure(e[0].dtype(), "bitwise_not", e); });
}

// Comparisons of booleans compare them as numbers.
absl::Status Compare(OnnxNode& n, const char* name, BinaryOp op) {
  return MapTwo(n, name, [&](const Expr& a, const Expr& b) {
    if (!a.dtype().is_bool()) return MakeBinary(op, a, b);
    return MakeBinary(op, CastTo(DataType::Int(32), a), CastTo(DataType::Int(32), b));
  });
}
absl::Status ImportEqual(OnnxNode& n) { return Compare(n, "equal", BinaryOp::kEQ); }
absl::Status ImportGreater(OnnxNode& n) { return Compare(n, "greater", BinaryOp::kGT); }
absl::Status ImportGreaterOrEqual(OnnxNode& n) { return Compare(n, "greater_equal", BinaryOp::kGE); }
absl::Status ImportLess(OnnxNode& n) { return Compare(n, "less", BinaryOp::kLT); }
absl::Status ImportLessOrEqual(OnnxNode& n) { return Compare(n, "less_equal", BinaryOp::kLE); }
absl::Status ImportAnd(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireBool());
  return MapTwo(n, "and", And);
}
absl::Status ImportOr(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireBool());
  return MapTwo(n, "or", Or);
}
absl::Status ImportXor(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireBool());
  return MapTwo(n, "xor", [](const Expr& a, const Expr& b) { return Or(And(a, Not(b)), And(Not(a), b)); });
}
absl::Status ImportNot(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireBool());
  return n.Map("not", [](const Exprs& e) { return Not(e[0]); });
}
absl::Status ImportWhere(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 3));
  TW_RETURN_IF_ERROR(n.RequireBool());
  TW_RETURN_IF_ERROR(n.RequireSameType(1, 2));
  return n.Out(n.MapMixed("where", n.in(), [](const Exprs& e) { return Select(e[0], e[1], e[2]); }));
}

absl::Status Fold(OnnxNode& n, const char* name, Expr (*combine)(const Expr&, const Expr&)) {
  return n.Map(name, [&](const Exprs& e) {
    Expr value = e[0];
    for (size_t i = 1; i < e.size(); ++i) value = combine(value, e[i]);
    return value;
  });
}
// Narrow floats are summed in f32.
absl::Status SumOfInputs(OnnxNode& n, const char* name, bool mean) {
  return n.Map(name, [&](const Exprs& e) {
    const DataType type = e[0].dtype();
    const DataType wide = type.is_float() && type.bits() < 32 ? DataType::Float(32) : type;
    Expr value = CastTo(wide, e[0]);
    for (size_t i = 1; i < e.size(); ++i) value = value + CastTo(wide, e[i]);
    return CastTo(type, mean ? Div(value, Real(value, static_cast<double>(e.size()))) : value);
  });
}
absl::Status ImportMax(OnnxNode& n) { return Fold(n, "maximum", ops::Larger); }
absl::Status ImportMin(OnnxNode& n) { return Fold(n, "minimum", ops::Smaller); }
absl::Status ImportSum(OnnxNode& n) {
  TW_RETURN_IF_ERROR(RequireNumbers(n));
  return SumOfInputs(n, "sum", false);
}
absl::Status ImportMean(OnnxNode& n) {
  TW_RETURN_IF_ERROR(RequireNumbers(n));
  return SumOfInputs(n, "mean", true);
}

absl::Status ImportRelu(OnnxNode& n) {
  TW_RETURN_IF_ERROR(RequireNumbers(n));
  return n.Map("relu", [](const Exprs& e) { return ops::Larger(Zero(e[0]), e[0]); });
}
absl::Status ImportSigmoid(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireFloat());
  return n.Map("sigmoid", [](const Exprs& e) { return ops::Sigmoid(e[0]); });
}
absl::Status ImportAbs(OnnxNode& n) {
  TW_RETURN_IF_ERROR(RequireNumbers(n));
  return n.Map("abs", [](const Exprs& e) { return e[0].dtype().is_uint() ? e[0] : Pure(e[0].dtype(), "abs", e); });
}
absl::Status ImportNeg(OnnxNode& n) {
  TW_RETURN_IF_ERROR(RequireNumbers(n));
  // Minus a zero is another zero.
  return n.Map("negate", [](const Exprs& e) {
    return e[0].dtype().is_float() ? e[0] * Const(e[0].dtype(), -1) : Zero(e[0]) - e[0];
  });
}
absl::Status ImportReciprocal(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireFloat());
  return n.Map("reciprocal", [](const Exprs& e) { return Div(One(e[0]), e[0]); });
}
absl::Status ImportSign(OnnxNode& n) {
  TW_RETURN_IF_ERROR(RequireNumbers(n));
  return n.Map("sign", [](const Exprs& e) { return ops::SignOf(e[0]); });
}
absl::Status ImportSoftplus(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireFloat());
  return n.Map("softplus", [](const Exprs& e) { return ops::Softplus(e[0]); });
}
absl::Status ImportSoftsign(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireFloat());
  return n.Map("softsign", [](const Exprs& e) { return Div(e[0], One(e[0]) + Unary("abs", e[0])); });
}
absl::Status ImportMish(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireFloat());
  return n.Map("mish", [](const Exprs& e) { return e[0] * Unary("tanh", ops::Softplus(e[0])); });
}
absl::Status ImportHardSwish(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireFloat());
  return n.Map("hard_swish", [](const Exprs& e) {
    const Expr& x = e[0];
    return x * Max(Zero(x), Min(One(x), x * Real(x, 1.0f / 6) + Real(x, 0.5)));
  });
}
absl::Status ImportIsNaN(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireFloat());
  return n.Map("isnan", [](const Exprs& e) { return Pure(kBool, "isnan", e); });
}
absl::Status ImportIsInf(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireFloat());
  const bool positive = n.Int("detect_positive", 1) != 0, negative = n.Int("detect_negative", 1) != 0;
  return n.Map("isinf", [&](const Exprs& e) {
    Expr found = False();
    if (positive) found = Or(found, e[0] == ops::Highest(e[0].dtype()));
    if (negative) found = Or(found, e[0] == ops::Lowest(e[0].dtype()));
    return positive || negative ? found : And(e[0] != e[0], False());
  });
}

absl::Status ImportLeakyRelu(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireFloat());
  const double alpha = n.Float("alpha", 0.01f);
  return n.Map("leaky_relu", [&](const Exprs& e) { return Select(e[0] < Zero(e[0]), e[0] * Real(e[0], alpha), e[0]); });
}
absl::Status ImportElu(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireFloat());
  const double alpha = n.Float("alpha", 1);
  return n.Map("elu", [&](const Exprs& e) {
    return Select(e[0] < Zero(e[0]), Real(e[0], alpha) * (Unary("exp", e[0]) - One(e[0])), e[0]);
  });
}
absl::Status ImportCelu(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireFloat());
  const double alpha = n.Float("alpha", 1);
  return n.Map("celu", [&](const Exprs& e) {
    const Expr a = Real(e[0], alpha);
    return Select(e[0] < Zero(e[0]), a * (Unary("exp", Div(e[0], a)) - One(e[0])), e[0]);
  });
}
absl::Status ImportSelu(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireFloat());
  const double alpha = n.Float("alpha", n.opset() < 6 ? 1.6732f : 1.67326319217681884765625f);
  const double gamma = n.Float("gamma", n.opset() < 6 ? 1.0507f : 1.05070102214813232421875f);
  return n.Map("selu", [&](const Exprs& e) {
    const Expr a = Real(e[0], alpha);
    return Real(e[0], gamma) * Select(e[0] > Zero(e[0]), e[0], a * Unary("exp", e[0]) - a);
  });
}
absl::Status ImportHardSigmoid(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireFloat());
  const double alpha = n.Float("alpha", 0.2f), beta = n.Float("beta", 0.5f);
  return n.Map("hard_sigmoid", [&](const Exprs& e) {
    return ops::MaxOrNan(Zero(e[0]), ops::MinOrNan(One(e[0]), e[0] * Real(e[0], alpha) + Real(e[0], beta)));
  });
}
absl::Status ImportThresholdedRelu(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireFloat());
  const double alpha = n.Float("alpha", 1);
  return n.Map("thresholded_relu", [&](const Exprs& e) { return Select(e[0] > Real(e[0], alpha), e[0], Zero(e[0])); });
}
absl::Status ImportShrink(OnnxNode& n) {
  TW_RETURN_IF_ERROR(RequireNumbers(n));
  const double bias = n.Float("bias", 0), lambd = n.Float("lambd", 0.5f);
  return n.Map("shrink", [&](const Exprs& e) {
    const DataType wide = e[0].dtype().is_float() ? e[0].dtype() : kF32;
    const Expr x = CastTo(wide, e[0]);
    const Expr shrunk = Select(x > Real(x, lambd), x - Real(x, bias), Zero(x));
    return Convert(e[0].dtype(), Select(x < Real(x, -lambd), x + Real(x, bias), shrunk));
  });
}
absl::Status ImportPRelu(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 2));
  Items operands = n.in();
  // Before opset 7 the slope is one number or one for each channel; since then it broadcasts into x.
  if (n.opset() < 7 && operands[1].rank() == 1 && operands[0].rank() > 1 && !IsInt(operands[1].shape[0], 1)) {
    Exprs shape(operands[0].rank() - 1, Extent(1));
    shape[0] = operands[1].shape[0];
    TW_ASSIGN_OR_RETURN(operands[1], n.emit().View(operands[1], shape));
  }
  return n.MapOf("prelu", operands, [](const Exprs& e) { return Select(e[0] < Zero(e[0]), e[0] * e[1], e[0]); });
}
Expr ExactGelu(const Expr& x) { return Real(x, 0.5) * x * (One(x) + Unary("erf", x * Real(x, std::sqrt(0.5)))); }
absl::Status ImportGelu(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireFloat());
  const bool tanh = n.String("approximate", "none") == "tanh";
  return n.Map("gelu", [&](const Exprs& e) {
    const Expr& x = e[0];
    if (!tanh) return ExactGelu(x);
    const Expr inner = Real(x, std::sqrt(2 / M_PI)) * (x + Real(x, 0.044715) * x * x * x);
    return Real(x, 0.5) * x * (One(x) + Unary("tanh", inner));
  });
}
// com.microsoft: the exact form, of x + bias.
absl::Status ImportBiasGelu(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 2));
  TW_RETURN_IF_ERROR(n.RequireFloat());
  return n.Map("bias_gelu", [&](const Exprs& e) { return ExactGelu(e[0] + e[1]); });
}
// com.microsoft: x sigmoid(alpha x).
absl::Status ImportQuickGelu(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireFloat());
  const double alpha = n.Float("alpha", 1.702f);
  return n.Map("quick_gelu", [&](const Exprs& e) { return e[0] * ops::Sigmoid(Real(e[0], alpha) * e[0]); });
}
// x sigmoid(alpha x).
absl::Status ImportSwish(OnnxNode& n) {
  const double alpha = n.Float("alpha", 1);
  return n.Map("swish", [&](const Exprs& e) { return e[0] * ops::Sigmoid(Real(e[0], alpha) * e[0]); });
}
// com.microsoft: the tanh form, with an optional bias.
absl::Status ImportFastGelu(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireFloat());
  return n.Map("fast_gelu", [&](const Exprs& e) {
    const Expr x = e.size() > 1 ? e[0] + e[1] : e[0];
    const Expr inner = Real(x, std::sqrt(2 / M_PI)) * (x + Real(x, 0.044715) * x * x * x);
    return Real(x, 0.5) * x * (One(x) + Unary("tanh", inner));
  });
}

// Bounds are attributes to opset 10, inputs since 11, each of them optional.
absl::Status ImportClip(OnnxNode& n) {
  TW_RETURN_IF_ERROR(RequireNumbers(n));
  if (n.opset() < 11) {
    TW_RETURN_IF_ERROR(n.RequireFloat());
    const double low = n.Float("min", -INFINITY), high = n.Float("max", INFINITY);
    return n.Map("clip",
                 [&](const Exprs& e) { return ops::MinOrNan(Real(e[0], high), ops::MaxOrNan(Real(e[0], low), e[0])); });
  }
  Items inputs = {n.In(0)};
  const bool has_low = n.Has(1), has_high = n.Has(2);
  if (has_low) inputs.push_back(n.In(1));
  if (has_high) inputs.push_back(n.In(2));
  return n.MapOf("clip", inputs, [&](const Exprs& e) {
    Expr x = e[0];
    if (has_low) x = Select(x < e[1], e[1], x);
    if (has_high) x = Select(x > e.back(), e.back(), x);
    return x;
  });
}

constexpr OnnxOperator kRows[] = {
    {"Abs", 1, ImportAbs, {.elements = Elements::kNumbers}},
    {"Acos", 7, ImportAcos, {.elements = Elements::kFloats}},
    {"Acosh", 9, ImportAcosh, {.elements = Elements::kFloats}},
    {"Add", 1, ImportAdd, {.elements = Elements::kNumbers}},
    {"And", 1, ImportAnd, {.elements = Elements::kBooleans}},
    {"Asin", 7, ImportAsin, {.elements = Elements::kFloats}},
    {"Asinh", 9, ImportAsinh, {.elements = Elements::kFloats}},
    {"Atan", 7, ImportAtan, {.elements = Elements::kFloats}},
    {"Atanh", 9, ImportAtanh, {.elements = Elements::kFloats}},
    {"BiasGelu", 1, ImportBiasGelu, {}, kMicrosoft},
    {"BitShift", 11, ImportBitShift, {.elements = Elements::kIntegers, .required = "direction"}},
    {"BitwiseAnd", 18, ImportBitwise<0>, {.elements = Elements::kIntegers}},
    {"BitwiseNot", 18, ImportBitwiseNot, {.elements = Elements::kIntegers}},
    {"BitwiseOr", 18, ImportBitwise<1>, {.elements = Elements::kIntegers}},
    {"BitwiseXor", 18, ImportBitwise<2>, {.elements = Elements::kIntegers}},
    {"Ceil", 1, ImportCeil, {.elements = Elements::kFloats}},
    {"Celu", 12, ImportCelu, {.elements = Elements::kFloats}},
    {"Clip", 1, ImportClip, {.elements = Elements::kNumbers}},
    {"Cos", 7, ImportCos, {.elements = Elements::kFloats}},
    {"Cosh", 9, ImportCosh, {.elements = Elements::kFloats}},
    {"Div", 1, ImportDiv, {.elements = Elements::kNumbers}},
    {"Elu", 1, ImportElu, {.elements = Elements::kFloats}},
    {"Equal", 1, ImportEqual},
    {"Erf", 9, ImportErf, {.elements = Elements::kFloats}},
    {"Exp", 1, ImportExp, {.elements = Elements::kFloats}},
    {"FastGelu", 1, ImportFastGelu, {}, kMicrosoft},
    {"Floor", 1, ImportFloor, {.elements = Elements::kFloats}},
    {"Gelu", 20, ImportGelu, {.elements = Elements::kFloats}},
    {"Gelu", 1, ImportGelu, {}, kMicrosoft},
    {"Greater", 1, ImportGreater, {.elements = Elements::kNumbers}},
    {"GreaterOrEqual", 12, ImportGreaterOrEqual, {.elements = Elements::kNumbers}},
    {"HardSigmoid", 1, ImportHardSigmoid, {.elements = Elements::kFloats}},
    {"HardSwish", 14, ImportHardSwish, {.elements = Elements::kFloats}},
    {"IsInf", 10, ImportIsInf, {.elements = Elements::kFloats}},
    {"IsNaN", 9, ImportIsNaN, {.elements = Elements::kFloats}},
    {"LeakyRelu", 1, ImportLeakyRelu, {.elements = Elements::kFloats}},
    {"Less", 1, ImportLess, {.elements = Elements::kNumbers}},
    {"LessOrEqual", 12, ImportLessOrEqual, {.elements = Elements::kNumbers}},
    {"Log", 1, ImportLog, {.elements = Elements::kFloats}},
    {"Max", 1, ImportMax, {.elements = Elements::kNumbers}},
    {"Mean", 1, ImportMean, {.elements = Elements::kFloats}},
    {"Min", 1, ImportMin, {.elements = Elements::kNumbers}},
    {"Mish", 18, ImportMish, {.elements = Elements::kFloats}},
    {"Mod", 10, ImportMod, {.elements = Elements::kNumbers}},
    {"Mul", 1, ImportMul, {.elements = Elements::kNumbers}},
    {"Neg", 1, ImportNeg, {.elements = Elements::kNumbers}},
    {"Not", 1, ImportNot, {.elements = Elements::kBooleans}},
    {"Or", 1, ImportOr, {.elements = Elements::kBooleans}},
    {"PRelu", 1, ImportPRelu, {.elements = Elements::kNumbers}},
    {"Pow", 1, ImportPow, {.elements = Elements::kNumbers}},
    {"QuickGelu", 1, ImportQuickGelu, {}, kMicrosoft},
    {"Reciprocal", 1, ImportReciprocal, {.elements = Elements::kFloats}},
    {"Relu", 1, ImportRelu, {.elements = Elements::kNumbers}},
    {"Round", 11, ImportRound, {.elements = Elements::kFloats}},
    {"Selu", 1, ImportSelu, {.elements = Elements::kFloats}},
    {"Shrink", 9, ImportShrink, {.elements = Elements::kNumbers}},
    {"Sigmoid", 1, ImportSigmoid, {.elements = Elements::kFloats}},
    {"Sign", 9, ImportSign, {.elements = Elements::kNumbers}},
    {"Sin", 7, ImportSin, {.elements = Elements::kFloats}},
    {"Sinh", 9, ImportSinh, {.elements = Elements::kFloats}},
    {"Softplus", 1, ImportSoftplus, {.elements = Elements::kFloats}},
    {"Softsign", 1, ImportSoftsign, {.elements = Elements::kFloats}},
    {"Sqrt", 1, ImportSqrt, {.elements = Elements::kFloats}},
    {"Sub", 1, ImportSub, {.elements = Elements::kNumbers}},
    {"Sum", 1, ImportSum, {.elements = Elements::kNumbers}},
    {"Swish", 24, ImportSwish, {.elements = Elements::kFloats}},
    {"Tan", 7, ImportTan, {.elements = Elements::kFloats}},
    {"Tanh", 1, ImportTanh, {.elements = Elements::kFloats}},
    {"ThresholdedRelu", 1, ImportThresholdedRelu, {.elements = Elements::kFloats}},
    {"Where", 9, ImportWhere, {.elements = Elements::kBooleans}},
    {"Xor", 1, ImportXor, {.elements = Elements::kBooleans}},
};

}  // namespace

OnnxOperators ElementwiseOperators() { return {std::begin(kRows), std::end(kRows)}; }

}  // namespace tilewright::graph
