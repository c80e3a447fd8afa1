#include "ir/ops/scalar_math.h"

#include <cmath>
#include <limits>

#include "ir/builder.h"

namespace tilewright::ops {
namespace {

Expr IsNan(const Expr& x) { return Call(DataType::Bool(), "isnan", {x}); }

bool HasInfinity(DataType dtype) { return dtype.is_float() && dtype.code() != TypeCode::kE4M3; }

// The type in which functions of a type are computed.
DataType Computing(DataType dtype) { return dtype.bits() < 32 ? DataType::Float(32) : dtype; }

}  // namespace

Expr MaxOrNan(const Expr& a, const Expr& b) {
  // Max gives its second operand where one is NaN, so that only a NaN in the first has to be looked for.
  if (const auto* imm = dyn_cast<FloatImmNode>(a); imm != nullptr && !std::isnan(imm->value)) return Max(a, b);
  if (const auto* imm = dyn_cast<FloatImmNode>(b); imm != nullptr && !std::isnan(imm->value)) return Max(b, a);
  return Select(IsNan(a), a, Max(a, b));
}
Expr MinOrNan(const Expr& a, const Expr& b) {
  if (const auto* imm = dyn_cast<FloatImmNode>(a); imm != nullptr && !std::isnan(imm->value)) return Min(a, b);
  if (const auto* imm = dyn_cast<FloatImmNode>(b); imm != nullptr && !std::isnan(imm->value)) return Min(b, a);
  return Select(IsNan(a), a, Min(a, b));
}
Expr Larger(const Expr& a, const Expr& b) {
  if (a.dtype().is_bool()) return Or(a, b);
  return a.dtype().is_float() ? MaxOrNan(a, b) : Max(a, b);
}
Expr Smaller(const Expr& a, const Expr& b) {
  if (a.dtype().is_bool()) return And(a, b);
  return a.dtype().is_float() ? MinOrNan(a, b) : Min(a, b);
}

Expr Lowest(DataType dtype) {
  if (dtype.is_bool()) return False();
  if (HasInfinity(dtype)) return ConstFloat(dtype, -std::numeric_limits<double>::infinity());
  return dtype == DataType::UInt(64) ? Const(dtype, 0) : LeastValue(dtype);
}
Expr Highest(DataType dtype) {
  if (dtype.is_bool()) return True();
  if (HasInfinity(dtype)) return ConstFloat(dtype, std::numeric_limits<double>::infinity());
  return dtype == DataType::UInt(64) ? Const(dtype, -1) : GreatestValue(dtype);
}

Expr Unary(const char* builtin, const Expr& x) {
  const DataType type = x.dtype(), computing = Computing(type);
  return CastTo(type, Call(computing, builtin, {CastTo(computing, x)}));
}

Expr Sigmoid(const Expr& x) { return Unary("sigmoid", x); }

Expr Softplus(const Expr& x) {
  const DataType type = Computing(x.dtype());
  const Expr wide = CastTo(type, x);
  const Expr rest = Call(type, "log1p", {Call(type, "exp", {-Call(type, "abs", {wide})})});
  return CastTo(x.dtype(), Max(ConstFloat(type, 0), wide) + rest);
}

Expr SignOf(const Expr& x) {
  const DataType type = x.dtype();
  const Expr zero = Const(type, 0);
  const Expr positive = Select(x > zero, Const(type, 1), x);
  return type.is_uint() ? positive : Select(x < zero, Const(type, -1), positive);
}

Expr Power(const Expr& base, const Expr& exponent) {
  const DataType type = base.dtype();
  const DataType wide = type.is_float() && type.bits() <= 32 && !(exponent.dtype().bits() == 64) ? DataType::Float(32)
                                                                                                 : DataType::Float(64);
  if (const auto* imm = dyn_cast<FloatImmNode>(exponent); imm != nullptr && imm->value == 2) return base * base;
  return Convert(type, Call(wide, "pow", {CastTo(wide, base), CastTo(wide, exponent)}));
}

Expr IntegerQuotient(const Expr& a, const Expr& b) {
  const DataType type = a.dtype();
  const Expr zero = Const(type, 0), one = Const(type, 1);
  const auto divisor = AsInt(b);
  if (divisor && *divisor == 0) return zero;
  if (divisor && *divisor > 0) return Div(a, b);
  // Minus the least value is not representable, and the machine stops at that division as at one by zero.
  if (type.is_uint()) return Select(b == zero, zero, Div(a, Select(b == zero, one, b)));
  const Expr minus = Const(type, -1);
  const Expr safe = Select(Or(b == zero, b == minus), one, b);
  return Select(b == zero, zero, Select(b == minus, zero - a, Div(a, safe)));
}

Expr IntegerModulo(const Expr& a, const Expr& b) {
  const DataType type = a.dtype();
  const Expr zero = Const(type, 0), one = Const(type, 1);
  const auto divisor = AsInt(b);
  if (divisor && *divisor == 0) return zero;
  if (divisor && *divisor > 0) return FloorMod(a, b);
  const Expr none = type.is_uint() ? b == zero : Or(b == zero, b == Const(type, -1));
  return Select(none, zero, FloorMod(a, Select(none, one, b)));
}

Expr Convert(DataType to, const Expr& x) {
  const DataType from = x.dtype();
  if (to == from) return x;
  if (to.is_bool()) return x != Const(from, 0);
  if (!from.is_float() || to.is_float()) return CastTo(to, x);
  // Vectors of floats become such of integers of 32 bits by one instruction.
  const DataType whole = to.bits() < 32 || to == DataType::Int(32) ? DataType::Int(32) : DataType::Int(64);
  const DataType wide = from.bits() == 64 ? from : DataType::Float(32);
  const Expr value = CastTo(wide, x);
  const double limit = std::ldexp(1.0, whole.bits() - 1);
  const Expr fits = Call(wide, "abs", {value}) < ConstFloat(wide, limit);
  const Expr cut = CastTo(to, CastTo(whole, Select(fits, value, ConstFloat(wide, -limit))));
  if (to != DataType::UInt(64)) return cut;
  // What int64 does not hold and uint64 does.
  const Expr upper = And(value >= ConstFloat(wide, limit), value < ConstFloat(wide, 2 * limit));
  return Select(upper, CastTo(to, Select(upper, value, ConstFloat(wide, limit))), cut);
}

Expr Limited(DataType to, const Expr& x) {
  const Expr low = CastTo(x.dtype(), LeastValue(to)), high = CastTo(x.dtype(), GreatestValue(to));
  return MinOrNan(MaxOrNan(x, low), high);
}

Expr RoundAndSaturate(DataType to, const Expr& x) {
  const DataType type = x.dtype();
  const Expr low = Const(type, MinValue(to)), high = Const(type, MaxValue(to));
  // A NaN becomes the lower limit.
  return CastTo(to, Max(Min(Call(type, "nearbyint", {x}), high), low));
}

}  // namespace tilewright::ops
